// The coupling: what the softmax makes of the scores, and what τ does to it.

import { name, sign } from "../bytes.js";
import { css, nothing, ofCoupling } from "../colour.js";
import { element } from "../dom.js";
import { heatmap } from "../heatmap.js";
import { couplings as key } from "../key.js";
import { changedModel } from "./changed.js";
import { couplingRow, effective } from "./layer.js";
import { controls, number, reading, row, slider } from "./parts.js";
import { mean } from "../text.js";

export const parts = ["coupling", "bits"];

let article;
let ask;
let changed = null;
const tau = slider("tau", "scale $τ$ by", { min: 0, max: 3, step: 0.05, value: 1 }, (x) => x.toFixed(2), () => ask());
const letters = element("p", { class: "letters", "aria-hidden": "true" });
const map = heatmap({ label: "Coupling of every byte with every byte before it", x: "byte $u$", y: "byte $t$", pick: (t) => article.select(t) });
const line = reading();
const square = element("div", { class: "square" }, map.node);

export function start(given, figure) {
  article = given;
  ask = changedModel(parts, () => (tau.value === 1 ? null : { changes: [{ "scale-tau": tau.value }] }), (answer) => { changed = answer; draw(); }, given.fail);
  letters.addEventListener("click", ({ target }) => target !== letters && article.select([...letters.children].indexOf(target)));
  figure.prepend(controls(tau.node), row(element("div", {}, letters), square), line.node, key());
}

export function draw() {
  if (!article.has(parts)) return;
  const { found, layer, token } = article.state;
  ask();
  // An answer about a text that is gone says nothing.
  const both = changed?.reading === found.reading ? changed : null;
  const { n, reading: { bytes } } = found;
  const a = both ? both["touched.coupling"] : found.coupling;
  const own = couplingRow(found, a, layer, token);
  while (letters.children.length > n) letters.lastChild.remove();
  for (let u = 0; u < n; u++) {
    const node = letters.children[u] ?? letters.appendChild(document.createElement("span"));
    const share = u <= token ? own[u] : NaN;
    if (node.textContent !== sign(bytes[u])) node.textContent = sign(bytes[u]);
    const colour = u <= token ? ofCoupling(share) : null;
    node.style.background = colour ? css(colour) : "none";
    // Where black reads better than white.
    node.style.color = colour ? (share > 0.18 ? "#000" : "#fff") : "";
    node.className = u === token ? "chosen" : u > token ? "later" : "";
  }
  map.show({ rows: n, columns: n, mark: { row: token }, about: `layer ${layer}; marked: byte ${token}`,
    colour: (t, u) => (u > t ? nothing : ofCoupling(a[(layer * n + t) * n + u])),
    value: (t, u) => (u > t ? `byte ${u} is later than byte ${t}` : `byte ${t} “${name(bytes[t])}” couples with ${u} “${name(bytes[u])}”: ${a[(layer * n + t) * n + u].toFixed(4)}`) });
  const bits = mean(found.bits);
  const cost = both ? `${mean(both["touched.bits"]).toFixed(4)} bits per byte, ${bits.toFixed(4)} with the learned $τ$` : `${bits.toFixed(4)} bits per byte`;
  // Nothing was expected of the first byte.
  const costs = found.n > 1 ? `; the text costs ${cost}` : "";
  line.say(`In layer ${layer}, byte ${token} couples with itself by ${own[token].toFixed(3)}, and with ${effective(own).toFixed(2)} bytes effectively. $τ$ = ${number(found.tau * tau.value)}${costs}.`);
}
