// Every run under the folder, live: a list to tick, and curves of what is ticked.

import { live } from "./api.js";
import { chart, dashed, dotted, smooth } from "./chart.js";
import { series } from "./colour.js";
import { element, panel, setText } from "./dom.js";

const list = document.getElementById("run-list");
const charts = document.getElementById("charts");
const smoothing = document.getElementById("smoothing");
const logAxis = document.getElementById("log-axis");

// What is known of the runs: rows by id, and how much of each file that is.
const known = new Map();
// Colours of the ticked runs by id.
const ticked = new Map();
let runs = [];
let stop;
let onRuns = () => {};
let lost = false;

const panels = [
  ["bits", "Bits per byte", "Loss of training batches (solid) and of the validation split (dashed); lower is better. Dotted: the least that is possible, where the corpus tells.", "bits per byte"],
  ["speed", "Speed", "Bytes read in a second while training.", "bytes / s"],
  ["utilisation", "Utilisation", "Share of the machine's multiply-add peak.", "share"],
  ["gradient", "Gradient norm", "Global norm of the gradient before clipping.", "norm"],
  ["tau", "Score scale tau", "How sharply tokens choose whom to couple with, at each validation.", "tau"],
  ["radii", "Radii r1 and r2", "Largest steps of the two bounded increments, by layer, at each validation (r2 dashed).", "radians"],
  ["rates", "Mean drift |omega|", "Mean size of each layer's drift rates, at each validation.", "radians / byte"],
].map(([id, title, says, y]) => ({ id, y, ...panel(title, says) }));
charts.append(...panels.map((one) => one.node));

export function start(listener, notice) {
  smoothing.addEventListener("input", draw);
  logAxis.addEventListener("change", draw);
  onRuns = listener;
  watch(notice);
}

// One stream for all: it is opened anew when other runs are ticked.
async function watch(notice) {
  stop?.abort();
  const own = new AbortController();
  stop = own;
  while (!own.signal.aborted) {
    const watched = Object.fromEntries([...ticked.keys()].map((id) => [id, known.get(id)?.read ?? 0]));
    try {
      await live(watched, (event) => {
        for (const [id, rows] of Object.entries(event.rows)) add(id, rows);
        if (event.runs) setRuns(event.runs, notice);
        draw();
        if (lost) notice("");
        lost = false;
      }, own.signal);
    } catch (error) {
      if (own.signal.aborted) return;
      lost = true;
      notice(`No connection: ${error.message}`);
    }
    await new Promise((done) => setTimeout(done, 1000));
  }
}

function add(id, rows) {
  // A resumed run writes again what came after its checkpoint: what is new replaces what was there.
  const first = rows.steps[0]?.step ?? Infinity;
  const old = known.get(id) ?? { steps: [], validations: [] };
  known.set(id, {
    read: rows.read,
    steps: [...old.steps.filter((s) => s.step < first), ...rows.steps],
    validations: [...old.validations.filter((row) => row.step < first), ...rows.validations],
  });
}

function setRuns(found, notice) {
  const first = runs.length === 0;
  runs = found;
  if (first && runs.length && !ticked.size) {
    const newest = runs.find((run) => run.status === "training") ?? runs[0];
    tick(newest.id);
    watch(notice);
  }
  table(notice);
  onRuns(runs);
}

// The first colour that is free, so that few runs are never drawn alike.
function tick(id) {
  const taken = [...ticked.values()];
  ticked.set(id, series.find((colour) => !taken.includes(colour)) ?? series[ticked.size % series.length]);
}

const bits = (x) => (x == null ? "-" : x.toFixed(4));

const head = ["run", "model", "corpus", "parameters", "steps", "validation", "floor", "test", "status", "started", "changes"];
const kind = (i) => (i > 2 && i < 8 ? "number" : i === head.length - 1 ? "changes" : "");
const nothing = element("p", { class: "empty" }, "No runs in this folder yet. Train one: kuramoto train");
const body = element("tbody");
const whole = element("div", { class: "wide" }, element("table", {},
  element("thead", {}, element("tr", {}, ...head.map((title, i) => element("th", { class: kind(i), scope: "col" }, title)))), body));
list.append(nothing, whole);
// Rows of the table by id; they stay as long as their run, so that no click or focus is lost while it trains.
const lines = new Map();

function line(id, notice) {
  const box = element("input", { type: "checkbox", "data-run": id, onchange: () => {
    if (box.checked) tick(id); else { ticked.delete(id); known.delete(id); }
    watch(notice);
    table(notice);
    draw();
  } });
  const swatch = element("span");
  const cells = head.map((_, i) => element("td", { class: kind(i) }));
  cells[0].append(element("label", {}, box, " ", swatch, id));
  return { box, swatch, cells, row: element("tr", {}, ...cells) };
}

function table(notice) {
  nothing.hidden = runs.length > 0;
  whole.hidden = !runs.length;
  const rows = runs.map((run) => {
    if (!lines.has(run.id)) lines.set(run.id, line(run.id, notice));
    const { box, swatch, cells, row } = lines.get(run.id);
    box.checked = ticked.has(run.id);
    swatch.className = box.checked ? `swatch ${ticked.get(run.id)}` : "";
    const texts = [run.model, run.corpus, run.parameters.toLocaleString("en"), run.steps.toLocaleString("en"),
      bits(run.validation_bits_per_byte), bits(run.floor_bits_per_byte), bits(run.test_bits_per_byte), run.status,
      (run.started ?? "").slice(0, 16).replace("T", " "), [run.changes_in_words, ...run.tags, run.note].filter(Boolean).join("; ")];
    texts.forEach((text, i) => setText(cells[i + 1], text));
    return row;
  });
  if (rows.length === body.children.length && rows.every((row, i) => row === body.children[i])) return;
  const focused = document.activeElement;
  body.replaceChildren(...rows);
  if (body.contains(focused)) focused.focus();
}

function draw() {
  const amount = smoothing.value / 101;
  const each = (of) => runs.filter((run) => ticked.has(run.id)).flatMap((run) => of(run, known.get(run.id) ?? { steps: [], validations: [] }, ticked.get(run.id)));
  const curve = (key) => each((run, rows, colour) => [{ name: run.id, colour, points: smooth(rows.steps.map((s) => [s.step, s[key]]), amount) }]);
  const parameters = (pattern, dash, as = (x) => x) => {
    // Colours go on from run to run, so that the layers of two runs can be distinguished.
    let place = 0;
    return each((run, rows, colour) => {
      const names = new Set(rows.validations.flatMap((row) => Object.keys(row.parameters ?? {})).filter((name) => pattern.test(name)));
      return [...names].map((name) => ({ name: `${run.id} ${name.replace("log_", "")}`, dash,
        colour: names.size > 1 ? series[place++ % series.length] : colour, points: rows.validations.map((row) => [row.step, as(row.parameters?.[name])]) }));
    });
  };
  const curves = {
    bits: [
      ...curve("train"),
      ...each((run, rows, colour) => [{ name: `${run.id} validation`, colour, dash: dashed, points: rows.validations.map((row) => [row.step, row.validation_bits_per_byte]) }]),
      ...each((run, rows) => run.floor_bits_per_byte == null || !rows.steps.length ? [] : [{ name: `${run.id} floor`, colour: "floor", dash: dotted, level: true,
        points: [[rows.steps[0].step, run.floor_bits_per_byte], [rows.steps.at(-1).step, run.floor_bits_per_byte]] }]),
    ],
    speed: curve("speed"),
    utilisation: curve("utilisation"),
    gradient: curve("gradient_norm"),
    tau: parameters(/^tau$/),
    // Stored as logarithms.
    radii: [...parameters(/log_r1$/, undefined, Math.exp), ...parameters(/log_r2$/, dashed, Math.exp)],
    rates: parameters(/omega/),
  };
  for (const one of panels) chart(one, { name: one.id, x: "step", y: one.y, lines: curves[one.id], log: logAxis.checked });
}
