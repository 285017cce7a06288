// What figures are made of: drawings, sliders, readings.

import { element, setText } from "../dom.js";
import { prose } from "../math.js";
import { paint, palette } from "../pen.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
export const lessMotion = matchMedia("(prefers-reduced-motion: reduce)");

// A drawing of shapes (see pen.js), redrawn when its place changes size and when the page changes between light and dark.
export function sketch(label, shapes, { wide = false } = {}) {
  const canvas = element("canvas", { class: wide ? "sketch wide-sketch" : "sketch", role: "img", "aria-label": label, width: 1, height: 1 });
  let colour;
  const draw = () => {
    if (canvas.width > 1) paint(canvas, shapes(canvas.width / canvas.height), (colour ??= palette(document.documentElement)));
  };
  dark.addEventListener("change", () => { colour = undefined; draw(); });
  new ResizeObserver(([{ contentRect: { width, height } }]) => {
    const sharp = Math.min(devicePixelRatio, 2);
    const size = [width, height].map((x) => Math.round(x * sharp));
    if (!size[0] || (size[0] === canvas.width && size[1] === canvas.height)) return;
    [canvas.width, canvas.height] = size;
    draw();
  }).observe(canvas);
  return { node: canvas, draw };
}

// A named slider with its value in words; `value` may be set.
export function slider(id, title, { min, max, step, value }, words, oninput) {
  const input = element("input", { type: "range", id, min, max, step, value });
  const output = element("output", { for: id });
  const show = () => setText(output, words(+input.value));
  input.addEventListener("input", () => { show(); oninput(+input.value); });
  show();
  return {
    node: element("label", { class: "slider" }, element("span", {}, ...prose(title)), input, output),
    input,
    get value() { return +input.value; },
    set value(to) { input.value = to; show(); },
    show,
  };
}

// One line of numbers under a figure. Formulas between $ are set as such; it is written only if it changed.
export function reading() {
  const node = element("p", { class: "reading-line" });
  let shown;
  return { node, say: (text) => { if (text !== shown) node.replaceChildren(...prose((shown = text))); } };
}

// A place for chart.js inside a figure.
export const plot = () => ({ content: element("div", { class: "plot-place" }), tools: element("span", { hidden: true }) });

export const row = (...nodes) => element("div", { class: "row" }, ...nodes);
export const controls = (...nodes) => element("div", { class: "controls" }, ...nodes);

// A minus that is one, and no sign before nothing.
const digitsOf = (x, digits) => Math.abs(x).toFixed(digits);
const sign = (x, digits, positive) => (+digitsOf(x, digits) === 0 ? "" : x < 0 ? "−" : positive);
export const signed = (x, digits = 3) => sign(x, digits, "+") + digitsOf(x, digits);
export const number = (x, digits = 3) => sign(x, digits, "") + digitsOf(x, digits);
