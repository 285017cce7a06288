// The oscillators of one byte on the unit circle, with what it attends to.

import { element, panel, svg } from "./chart.js";
import { css, ofAngle, series } from "./colour.js";
import { coupled } from "./inside.js";

const own = panel("One byte on the circle", "Dots: the oscillators of the chosen byte at their phases theta_tj. Lines lead to the attended resultant G_tj of each: its length is the local order, its direction where the pull goes. Of the model as it is; after the last layer, with the last coupling.");
let inside;

export const start = (given) => { inside = given; return own.node; };

// G_tj = sum_u A_tu e^{i theta_uj}
function resultant(found, layer, t, j) {
  const { n, k, heads } = found;
  const head = Math.floor((j * heads) / k);
  const row = ((coupled(found, layer) * heads + head) * n + t) * n;
  let [re, im] = [0, 0];
  for (let u = 0; u <= t; u++) {
    const a = found.coupling[row + u];
    const phase = found.phase[(layer * n + u) * k + j];
    re += a * Math.cos(phase);
    im += a * Math.sin(phase);
  }
  return [re, im];
}

export function draw() {
  const { found, layer, token } = inside.state;
  if (!found) { own.content.replaceChildren(element("p", { class: "empty" }, "Give a text above.")); return; }
  const drawing = svg("svg", { viewBox: "-1.15 -1.15 2.3 2.3", role: "img", "aria-label": "Phases of the chosen byte" },
    svg("circle", { class: "ring", r: 1 }));
  for (let j = 0; j < found.k; j++) {
    const phase = found.phase[(layer * found.n + token) * found.k + j];
    const [x, y] = [Math.cos(phase), Math.sin(phase)];
    const [re, im] = resultant(found, layer, token, j);
    drawing.append(svg("line", { x1: x, y1: -y, x2: re, y2: -im, stroke: series[6], "stroke-width": 0.004 }),
      svg("circle", { cx: re, cy: -im, r: 0.012, fill: series[1] }),
      svg("circle", { cx: x, cy: -y, r: 0.02, fill: css(ofAngle(phase)), stroke: series[6], "stroke-width": 0.004 }));
  }
  own.content.replaceChildren(drawing);
}
