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
  const { answer, ...asked } = pulling(draw);
  if (!answer) return groups.replaceChildren();
  groups.replaceChildren(list(answer, asked, answer.touched ? "original" : ""), ...(answer.touched ? [list(answer.touched, asked, "with intervention")] : []));
}

function list(model, { bytes, layers }, title) {
  const items = model.coalition.map((group, state) => {
    const { tokens } = group;
    const words = tokens.length > 1 ? `${tokens.length} bytes: ${tokens.slice(0, 40).map((u) => sign(bytes[u])).join("")}${tokens.length > 40 ? "…" : ""}` : "alone";
    return element("li", {}, `${layerName(state, layers)}: ${words}`);
  });
  return element("div", {}, element("p", { class: "count", hidden: !title }, title), element("ul", { class: "count" }, ...items));
}
