// The phase carpet: every oscillator of every byte, as a colour on the circle.

import { element, panel } from "./chart.js";
import { css, ofAngle, paint } from "./colour.js";

const own = panel("Phase carpet", "Phases theta of every oscillator (down) and byte (across) entering the layer. A column of one colour is a byte in order; a row of one colour, an oscillator that all bytes share.");
const intact = element("canvas", { "aria-label": "Phases of the model as it is", role: "img" });
const touched = element("canvas", { "aria-label": "Phases of the touched model", role: "img" });
const pair = element("div", { class: "pair" });
const key = element("p", { class: "count" });
own.content.append(pair, key);
let inside;

export function start(given) {
  inside = given;
  key.append("phase: ");
  for (const [angle, name] of [[0, "0"], [Math.PI / 2, "π/2"], [Math.PI, "π"], [1.5 * Math.PI, "3π/2"]]) {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = css(ofAngle(angle));
    key.append(swatch, `${name}  `);
  }
  for (const canvas of [intact, touched]) canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    inside.select(Math.floor(((event.clientX - box.left) / box.width) * inside.state.found.n));
  });
  return own.node;
}

export function draw() {
  const { found, layer, token } = inside.state;
  if (!found) { pair.replaceChildren(element("p", { class: "empty" }, "Give a text above.")); return; }
  const put = (canvas, phases) => {
    const { n, k } = found;
    paint(canvas, k, n, (j, t) => {
      const colour = ofAngle(phases[(layer * n + t) * k + j]);
      return t === token ? colour.map((part) => Math.round(part * 0.6 + 102)) : colour;
    });
    canvas.style.height = `${Math.min(Math.max(2 * k, 160), 360)}px`;
  };
  put(intact, found.phase);
  if (found["touched.phase"]) put(touched, found["touched.phase"]);
  pair.replaceChildren(...(found["touched.phase"] ? [intact, touched] : [intact]));
}
