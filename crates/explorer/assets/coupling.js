// The coupling matrix: who attends to whom.

import { name } from "./bytes.js";
import { nothing, ofCoupling } from "./colour.js";
import { element, pair, panel } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { couplings } from "./key.js";
import { coupled } from "./state.js";

export const parts = ["coupling"];

const own = panel("coupling", "Coupling $A$", "$A_tu$: how strongly byte $t$ (down) couples with byte $u$ (across), as a share: each row sums to one. The diagonal is coupling with oneself, which pulls nothing.");
const heads = element("select", { "aria-label": "Head", onchange: () => draw() });
let inside;

const map = (label) => heatmap({ label, x: "byte $u$", y: "byte $t$", pick: (t) => inside.select(t) });
const [intact, changed] = [map("Coupling of the original model"), map("Coupling with the intervention")];
const figures = pair(intact.node, changed.node);
own.node.classList.add("square");
own.tools.append(heads);
own.content.append(figures.node, couplings());

export const start = (given) => { inside = given; return own.node; };

export function draw() {
  const { found, layer, token } = inside.state;
  if (!own.filled(found)) return;
  if (heads.options.length !== found.heads) {
    heads.replaceChildren(...Array.from({ length: found.heads }, (_, head) => element("option", { value: head }, `head ${head}`)));
  }
  heads.hidden = found.heads === 1;
  const { n, reading } = found;
  const from = (coupled(found.layers, layer) * found.heads + +heads.value) * n * n;
  const letter = (t) => `${t} “${name(reading.bytes[t])}”`;
  const put = (map, a) => map.show({ rows: n, columns: n, mark: { row: token }, about: `layer ${coupled(found.layers, layer)}; marked: byte ${token}`,
    colour: (t, u) => (u > t ? nothing : ofCoupling(a[from + t * n + u])),
    value: (t, u) => (u > t ? `byte ${letter(u)} is later than byte ${letter(t)}` : `byte ${letter(t)} couples with ${letter(u)}: ${a[from + t * n + u].toFixed(4)}`) });
  put(intact, found.coupling);
  if (found.touched) put(changed, found["touched.coupling"]);
  figures.show(found.touched);
}
