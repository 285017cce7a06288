// Heat maps: cells with axes, the value under the pointer (or the arrow keys), and a mark at the chosen row or column.

import { word } from "./colour.js";
import { element, setText } from "./dom.js";
import { plain, prose } from "./math.js";

const fractions = [0, 0.25, 0.5, 0.75, 1];

// Numbers at the middle of their cells; of few cells, each once.
function number(ticks, count, side) {
  const cells = [...new Set(fractions.map((fraction) => Math.round(fraction * (count - 1))))];
  [...ticks.children].forEach((node, i) => {
    node.hidden = i >= cells.length;
    if (node.hidden) return;
    setText(node, `${cells[i]}`);
    node.style[side] = `${(100 * (cells[i] + 0.5)) / count}%`;
  });
}

// `label` is read out; `x` and `y` name the axes. `pick(row, column)` is called at a click or Enter.
export function heatmap({ label, x, y, pick }) {
  const canvas = element("canvas", { role: "img", "aria-label": `${plain(label)}; the arrow keys read values`, tabindex: 0 });
  const mark = element("div", { class: "mark", hidden: true });
  const cursor = element("div", { class: "cursor", hidden: true });
  const ticks = (kind) => element("div", { class: `ticks ${kind}`, "aria-hidden": "true" }, ...fractions.map(() => element("span")));
  const [across, down] = [ticks("across"), ticks("down")];
  const reading = element("p", { class: "count reading", "aria-live": "polite" });
  const node = element("div", { class: "heat" },
    element("div", { class: "axis-name down" }, ...prose(y)), down, element("div", { class: "plot" }, canvas, mark, cursor), across,
    element("div", { class: "axis-name across" }, ...prose(x)), reading);
  let what;
  let at = null;

  const read = (row, column) => {
    if (!what) return;
    at = [Math.min(Math.max(row, 0), what.rows - 1), Math.min(Math.max(column, 0), what.columns - 1)];
    place(cursor, { row: at[0], column: at[1] });
    setText(reading, what.value(...at));
  };
  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    return [Math.floor(((event.clientY - box.top) / box.height) * what.rows), Math.floor(((event.clientX - box.left) / box.width) * what.columns)];
  };
  const place = (mark, { row, column }) => {
    mark.hidden = row === undefined && column === undefined;
    const share = (i, count) => (i === undefined ? ["0", "100%"] : [`${(100 * i) / count}%`, `${100 / count}%`]);
    [mark.style.top, mark.style.height] = share(row, what.rows);
    [mark.style.left, mark.style.width] = share(column, what.columns);
  };
  canvas.addEventListener("pointermove", (event) => what && read(...under(event)));
  canvas.addEventListener("pointerleave", () => { cursor.hidden = true; at = null; setText(reading, hint()); });
  canvas.addEventListener("click", (event) => what && pick?.(...under(event)));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (event.key === "Enter" && at) pick?.(...at);
    if (!step || !what) return;
    event.preventDefault();
    const [row, column] = at ?? [what.mark?.row ?? 0, what.mark?.column ?? 0];
    read(row + step[0], column + step[1]);
  });
  const hint = () => (what?.about ?? "");

  // what: { rows, columns, colour(row, column) -> a colour of colour.js, value(row, column) -> text, mark: { row, column }, about }
  const show = (next) => {
    what = next;
    const { rows, columns, colour } = what;
    if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const words = new Uint32Array(image.data.buffer);
    for (let row = 0, i = 0; row < rows; row++) for (let column = 0; column < columns; column++, i++) words[i] = word(colour(row, column));
    context.putImageData(image, 0, 0);
    number(across, columns, "left");
    number(down, rows, "top");
    place(mark, what.mark ?? {});
    if (at) read(...at);
    else setText(reading, hint());
  };
  return { node, show };
}
