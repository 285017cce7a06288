// The coupling matrix: who attends to whom.

import { later, paint } from "./colour.js";
import { element, pair, panel } from "./dom.js";
import { coupled } from "./inside.js";
import { couplings, ofCoupling } from "./key.js";

const own = panel("Coupling A", "A_tu: how strongly byte t (down) couples with byte u (across), as a share: each row sums to one. Bright on the diagonal is coupling with oneself, which pulls nothing.");
const heads = element("select", { "aria-label": "Head", onchange: () => draw() });
const intact = element("canvas", { "aria-label": "Coupling of the model as it is", role: "img" });
const touched = element("canvas", { "aria-label": "Coupling of the touched model", role: "img" });
const figures = pair(intact, touched);
const empty = element("p", { class: "empty" }, "Give a text above.");
const size = element("p", { class: "count" });
own.tools.append(heads);
own.content.append(empty, figures.node, size, couplings());
let inside;

export function start(given) {
  inside = given;
  for (const canvas of [intact, touched]) canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    inside.select(Math.floor(((event.clientY - box.top) / box.height) * inside.state.found.n));
  });
  return own.node;
}

export function draw() {
  const { found, layer } = inside.state;
  empty.hidden = !!found;
  figures.node.hidden = size.hidden = !found;
  if (!found) return;
  if (heads.options.length !== found.heads) {
    heads.replaceChildren(...Array.from({ length: found.heads }, (_, head) => element("option", { value: head }, `head ${head}`)));
  }
  heads.hidden = found.heads === 1;
  const { n } = found;
  const from = (coupled(found, layer) * found.heads + +heads.value) * n * n;
  const put = (canvas, a) => {
    paint(canvas, n, n, (t, u) => (u > t ? later : ofCoupling(a[from + t * n + u])));
    canvas.style.aspectRatio = "1";
  };
  put(intact, found.coupling);
  if (found["touched.coupling"]) put(touched, found["touched.coupling"]);
  figures.show(found.touched);
  size.textContent = `bytes 0 to ${n - 1} down and across, in layer ${coupled(found, layer)}`;
}
