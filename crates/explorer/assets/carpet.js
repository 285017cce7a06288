// The phase carpet: every oscillator of every byte, as a colour on the circle.

import { ofAngle, paint } from "./colour.js";
import { element, pair, panel } from "./dom.js";
import { phases } from "./key.js";

const own = panel("Phase carpet", "Phases theta of every oscillator (down) and byte (across) entering the layer. A column of one colour is a byte in order; a row of one colour, an oscillator that all bytes share.");
const intact = element("canvas", { "aria-label": "Phases of the model as it is", role: "img" });
const touched = element("canvas", { "aria-label": "Phases of the touched model", role: "img" });
const figures = pair(intact, touched);
const empty = element("p", { class: "empty" }, "Give a text above.");
const size = element("p", { class: "count" });
own.content.append(empty, figures.node, size, phases());
let inside;

export function start(given) {
  inside = given;
  for (const canvas of [intact, touched]) canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    inside.select(Math.floor(((event.clientX - box.left) / box.width) * inside.state.found.n));
  });
  return own.node;
}

export function draw() {
  const { found, layer, token } = inside.state;
  empty.hidden = !!found;
  figures.node.hidden = size.hidden = !found;
  if (!found) return;
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
  figures.show(found.touched);
  size.textContent = `bytes 0 to ${found.n - 1} across, oscillators 0 to ${found.k - 1} down; the chosen byte is paler`;
}
