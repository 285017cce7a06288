// The phase map: every oscillator of every byte, as a colour on the circle.

import { name } from "./bytes.js";
import { ofAngle } from "./colour.js";
import { pair, panel } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { phases } from "./key.js";

export const parts = ["phase"];

const own = panel("phases", "Phases", "Phase $θ_tj$ of every oscillator $j$ (down) of every byte $t$ (across), entering the layer. A column of one colour is a byte whose oscillators agree; a row of one colour, an oscillator that all bytes share.");
let inside;

const map = (label) => heatmap({ label, x: "byte $t$", y: "oscillator $j$", pick: (_, t) => inside.select(t) });
const [intact, changed] = [map("Phases of the original model"), map("Phases with the intervention")];
const figures = pair(intact.node, changed.node);
own.content.append(figures.node, phases());

export const start = (given) => { inside = given; return own.node; };

export function draw() {
  const { found, layer, token } = inside.state;
  if (!own.filled(found)) return;
  const { n, k, reading } = found;
  const put = (map, phase) => {
    const at = (j, t) => phase[(layer * n + t) * k + j];
    map.show({ rows: k, columns: n, mark: { column: token }, colour: (j, t) => ofAngle(at(j, t)),
      about: `marked: byte ${token}`,
      value: (j, t) => `byte ${t} “${name(reading.bytes[t])}”, oscillator ${j}: ${wrapped(at(j, t)).toFixed(3)} rad` });
  };
  put(intact, found.phase);
  if (found.touched) put(changed, found["touched.phase"]);
  figures.show(found.touched);
}

export const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
