// The oscillators of one byte on the unit circle, with what it attends to.

import { css, ofAngle } from "./colour.js";
import { element, panel, svg } from "./dom.js";
import { coupled } from "./inside.js";
import { phases } from "./key.js";

const own = panel("One byte on the circle", "Dots on the circle: the oscillators of the chosen byte at their phases theta_tj. Lines lead to the attended resultant G_tj of each: its length is the local order, its direction where the pull goes. After the last layer, with the last coupling.");
const empty = element("p", { class: "empty" }, "Give a text above.");
const ring = svg("g", {}, svg("circle", { class: "ring", r: 1 }),
  ...[["0", 1, 0], ["π/2", 0, 1], ["π", -1, 0], ["3π/2", 0, -1]].map(([name, x, y]) => svg("text", { x: 1.12 * x, y: 0.03 - 1.1 * y, "text-anchor": "middle" }, name)));
const drawing = svg("svg", { class: "circle", viewBox: "-1.25 -1.25 2.5 2.5", role: "img", "aria-label": "Phases of the chosen byte and its resultants" });
const key = element("p", { class: "count" });
own.content.append(empty, drawing, key, phases());
let inside;

export const start = (given) => { inside = given; return own.node; };

// G_tj = sum_u A_tu e^{i theta_uj}
function resultant(found, prefix, layer, t, j) {
  const { n, k, heads } = found;
  const head = Math.floor((j * heads) / k);
  const row = ((coupled(found, layer) * heads + head) * n + t) * n;
  let [re, im] = [0, 0];
  for (let u = 0; u <= t; u++) {
    const a = found[`${prefix}coupling`][row + u];
    const phase = found[`${prefix}phase`][(layer * n + u) * k + j];
    re += a * Math.cos(phase);
    im += a * Math.sin(phase);
  }
  return [re, im];
}

// Of one of the two models; hollow is the one that is there for comparison.
function dots(found, prefix, layer, token, hollow) {
  const group = svg("g", { class: hollow ? "hollow" : "" });
  for (let j = 0; j < found.k; j++) {
    const phase = found[`${prefix}phase`][(layer * found.n + token) * found.k + j];
    const [x, y] = [Math.cos(phase), Math.sin(phase)];
    const [re, im] = resultant(found, prefix, layer, token, j);
    group.append(svg("line", { class: "lead", x1: x, y1: -y, x2: re, y2: -im }),
      svg("circle", { class: "resultant s1", cx: re, cy: -im, r: 0.014 }),
      svg("circle", { class: "phase", cx: x, cy: -y, r: hollow ? 0.03 : 0.02, fill: hollow ? "none" : css(ofAngle(phase)) }));
  }
  return group;
}

export function draw() {
  const { found, layer, token } = inside.state;
  empty.hidden = !!found;
  drawing.toggleAttribute("hidden", !found);
  key.hidden = !found;
  if (!found) return;
  const groups = [dots(found, "", layer, token, found.touched)];
  if (found.touched) groups.push(dots(found, "touched.", layer, token, false));
  drawing.replaceChildren(ring, ...groups);
  key.textContent = `byte ${token}; large dots: phases theta_tj, small dots: resultants G_tj${found.touched ? "; filled: touched, hollow: as it is" : ""}`;
}
