// Which bytes lock with the chosen one, from layer to layer.

import { name, sign } from "./bytes.js";
import { ofShare } from "./colour.js";
import { element, pair, panel } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { key } from "./key.js";
import { locking } from "./phasor.js";
import { pulling, threshold } from "./pulling.js";
import { layerName } from "./state.js";

export const parts = ["phase"];

const own = panel("coalitions", "Coalitions", `Locking $|z_tu|$ of the chosen byte $t$ with every byte $u$, state by state: 1 if all their phases differ by the same angle. Below: the group of bytes that lock with each other (at least ${threshold}) and hold the chosen one.`);
let inside;

const map = (label) => heatmap({ label, x: "byte $u$", y: "state", pick: (state, u) => (inside.select(u), inside.toLayer(state)) });
const [intact, changed] = [map("Locking with the chosen byte in the original model"), map("Locking with the chosen byte, with the intervention")];
const figures = pair(intact.node, changed.node);
const groups = element("div", { class: "groups" });
own.node.classList.add("short");
own.content.append(figures.node, key("locking:", [0, 0.25, 0.5, 0.75, 1].map((share) => [ofShare(share), `${share}`])), groups);

export const start = (given) => { inside = given; return own.node; };

export function draw() {
  const { found, layer, token } = inside.state;
  if (!own.filled(found) || !found.phase) return;
  const { n, layers, reading } = found;
  const put = (map, prefix) => {
    const rows = Array.from({ length: layers + 1 }, (_, state) => locking(found, prefix, state, token));
    const length = (state, u) => Math.hypot(rows[state][u], rows[state][n + u]);
    map.show({ rows: layers + 1, columns: n, mark: { row: layer }, about: `with byte ${token}; marked: ${layerName(layer, layers)}`,
      colour: (state, u) => ofShare(length(state, u)),
      value: (state, u) => `${layerName(state, layers)}: byte ${u} “${name(reading.bytes[u])}” locks by ${length(state, u).toFixed(3)}` });
  };
  put(intact, "");
  if (found.touched) put(changed, "touched.");
  figures.show(found.touched);
  const { answer, token: of } = pulling(draw);
  if (!answer || of >= n) return;
  groups.replaceChildren(list(answer, answer.touched ? "original" : ""), ...(answer.touched ? [list(answer.touched, "with intervention")] : []));
}

function list(model, title) {
  const { found } = inside.state;
  const items = model.coalition.map((group, state) => {
    const there = group.tokens.filter((u) => u < found.n);
    const words = there.length > 1 ? `${there.length} bytes: ${there.slice(0, 40).map((u) => sign(found.reading.bytes[u])).join("")}${there.length > 40 ? "…" : ""}` : "alone";
    return element("li", {}, `${layerName(state, found.layers)}: ${words}`);
  });
  return element("div", {}, element("p", { class: "count", hidden: !title }, title), element("ul", { class: "count" }, ...items));
}
