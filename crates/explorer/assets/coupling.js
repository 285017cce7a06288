// The coupling matrix: who attends to whom.

import { element, panel } from "./chart.js";
import { ofShare, paint } from "./colour.js";
import { coupled } from "./inside.js";

const own = panel("Coupling A", "A_tu: how strongly byte t (down) couples with byte u (across), square root of the share; each row sums to one. Bright on the diagonal is coupling with oneself, which pulls nothing.");
const heads = element("select", { "aria-label": "Head", onchange: () => draw() });
const intact = element("canvas", { "aria-label": "Coupling of the model as it is", role: "img" });
const touched = element("canvas", { "aria-label": "Coupling of the touched model", role: "img" });
const pair = element("div", { class: "pair" });
own.tools.append(heads);
own.content.append(pair);
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
  if (!found) { pair.replaceChildren(element("p", { class: "empty" }, "Give a text above.")); return; }
  if (heads.options.length !== found.heads) {
    heads.replaceChildren(...Array.from({ length: found.heads }, (_, head) => element("option", { value: head }, `head ${head}`)));
  }
  heads.hidden = found.heads === 1;
  const { n } = found;
  const from = (coupled(found, layer) * found.heads + +heads.value) * n * n;
  const put = (canvas, a) => {
    paint(canvas, n, n, (t, u) => (u > t ? [128, 128, 128] : ofShare(Math.sqrt(a[from + t * n + u]))));
    canvas.style.aspectRatio = "1";
  };
  put(intact, found.coupling);
  if (found["touched.coupling"]) put(touched, found["touched.coupling"]);
  pair.replaceChildren(...(found["touched.coupling"] ? [intact, touched] : [intact]));
}
