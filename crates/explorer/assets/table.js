// The table of runs: sorted, filtered, with a column for everything in which the runs differ.

import { element, setText } from "./dom.js";

const bits = (x) => (x == null ? "" : x.toFixed(4));
const count = (x) => (x == null ? "" : x.toLocaleString("en"));
// What a run is known by: always there. `value` sorts, `show` is what is seen.
const always = [
  { title: "run", value: (run) => run.id },
  { title: "status", value: (run) => run.status },
  { title: "steps", number: true, value: (run) => run.steps, show: count },
  { title: "validation", number: true, value: (run) => run.validation_bits_per_byte, show: bits },
  { title: "test", number: true, value: (run) => run.test_bits_per_byte, show: bits },
  { title: "floor", number: true, value: (run) => run.floor_bits_per_byte, show: bits },
];
// What a run is made of: a column where runs differ, else said once for all.
const maybe = [
  { title: "started", value: (run) => run.started ?? "", show: (text) => text.slice(0, 16).replace("T", " ") },
  { title: "model", value: (run) => run.model },
  { title: "corpus", value: (run) => run.corpus },
  { title: "parameters", number: true, value: (run) => run.parameters, show: count },
  { title: "seed", number: true, value: (run) => run.seed },
  { title: "preset", value: (run) => run.preset },
  { title: "protocol", value: (run) => run.protocol },
  { title: "ablations", value: (run) => run.ablations.join(", ") },
  { title: "notes", value: (run) => [...run.tags, run.note].filter(Boolean).join("; ") },
];
const plainly = (value) => (value === undefined || value === "" ? "–" : typeof value === "object" ? JSON.stringify(value) : `${value}`);
const changed = (key) => ({ title: key, value: (run) => run.changes[key] });

const all = (run) => [run.id, run.status, run.model, run.corpus, run.changes_in_words, run.note, ...run.tags, ...run.ablations].join(" ").toLowerCase();

// `line(id)` makes the first cell of a run's row: { node, draw(run) }.
export function table(line) {
  const filter = element("input", { type: "search", id: "filter", placeholder: "Filter: name, corpus, status, change", "aria-label": "Filter runs" });
  const shown = element("span", { class: "count", id: "shown" });
  const same = element("p", { class: "count", id: "same" });
  const nothing = element("p", { class: "empty" }, "No runs in this folder yet. Train one: kuramoto train");
  const head = element("tr");
  const body = element("tbody");
  const whole = element("div", { class: "wide" }, element("table", {}, element("thead", {}, head), body));
  const bar = element("div", { class: "controls" }, filter, shown);
  const node = element("div", {}, nothing, bar, whole, same);
  // Rows by id; they stay as long as their run, so that no click or focus is lost while it trains.
  const rows = new Map();
  let order = { title: "started", down: true };
  let runs = [];
  let columns = [];
  filter.addEventListener("input", () => draw());

  const compare = (a, b) => {
    const by = [...always, ...maybe].find((column) => column.title === order.title) ?? changed(order.title);
    const [x, y] = [by.value(a), by.value(b)];
    // What is not known comes last, whichever way.
    const absent = (value) => value === undefined || value === null || value === "";
    if (absent(x) || absent(y)) return absent(x) - absent(y) || a.id.localeCompare(b.id);
    const found = typeof x === "number" && typeof y === "number" ? x - y : plainly(x).localeCompare(plainly(y), "en", { numeric: true });
    return (order.down ? -found : found) || a.id.localeCompare(b.id);
  };

  function headings(next) {
    const titles = (list) => list.map((column) => column.title).join("\n");
    if (titles(next) !== titles(columns) || !head.children.length) {
      columns = next;
      head.replaceChildren(...columns.map(({ title, number }) => element("th", { class: number ? "number" : "", scope: "col" },
        element("button", { type: "button", class: "sort", onclick: () => {
          order = { title, down: order.title === title ? !order.down : !!number };
          draw();
        } }, title))));
    }
    columns.forEach(({ title }, i) => {
      if (order.title === title) head.children[i].setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else head.children[i].removeAttribute("aria-sort");
    });
  }

  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const seen = runs.filter((run) => words.every((word) => all(run).includes(word))).sort(compare);
    const keys = [...new Set(seen.flatMap((run) => Object.keys(run.changes)))].sort().map(changed);
    const optional = [...maybe, ...keys];
    const differs = (column) => new Set(seen.map((run) => plainly(column.value(run)))).size > 1;
    headings([...always, ...optional.filter(differs)]);
    nothing.hidden = runs.length > 0;
    bar.hidden = whole.hidden = !runs.length;
    setText(shown, seen.length === runs.length ? `${runs.length} runs` : `${seen.length} of ${runs.length} runs`);
    const equal = optional.filter((column) => !differs(column) && seen.length && plainly(column.value(seen[0])) !== "–");
    same.hidden = seen.length < 2 || !equal.length;
    setText(same, `The same in all of them: ${equal.map((column) => `${column.title} ${(column.show ?? plainly)(column.value(seen[0]))}`).join(", ")}`);
    const nodes = seen.map((run) => {
      if (!rows.has(run.id)) rows.set(run.id, { first: line(run.id), row: element("tr") });
      const { first, row } = rows.get(run.id);
      first.draw(run);
      while (row.children.length > columns.length) row.lastChild.remove();
      while (row.children.length < columns.length) row.append(element("td"));
      columns.forEach(({ number, value, show }, i) => {
        const cell = row.children[i];
        cell.className = number ? "number" : "";
        if (i === 0) {
          if (cell.firstChild !== first.node) cell.replaceChildren(first.node);
        } else setText(cell, (show ?? plainly)(value(run)) || "–");
      });
      return row;
    });
    if (nodes.length === body.children.length && nodes.every((row, i) => row === body.children[i])) return;
    const focused = document.activeElement;
    body.replaceChildren(...nodes);
    if (body.contains(focused)) focused.focus();
  }
  return { node, show: (next) => { runs = next; draw(); } };
}
