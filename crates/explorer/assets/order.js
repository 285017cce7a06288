// Order along the text.

import { chart, dashed } from "./chart.js";
import { series } from "./colour.js";
import { panel } from "./dom.js";
import { coupled } from "./state.js";

export const parts = ["order"];

const own = panel("order", "Order along the text", "Local order $R_t$: coherence of the phases that a byte attends to. Dashed: global order $R$ of all bytes. 1 is full agreement.");
let inside;

export const start = (given) => { inside = given; return own.node; };

export function draw() {
  const { found, layer, token } = inside.state;
  if (!own.filled(found)) return;
  const lines = [];
  for (const [prefix, name, place] of [["", "", 0], ["touched.", " with intervention", 1]]) {
    if (!found[`${prefix}local`]) continue;
    const at = coupled(found.layers, layer);
    const local = Array.from({ length: found.n }, (_, t) => [t, found[`${prefix}local`][at * found.n + t]]);
    const global = found[`${prefix}global`][layer];
    lines.push({ name: `local $R_t$${name}`, colour: series[place], points: local },
      { name: `global $R$${name}`, colour: series[place], dash: dashed, level: true, points: [[0, global], [Math.max(found.n - 1, 1), global]] });
  }
  chart(own, { name: "order", x: "byte $t$", y: "order $R$", lines, zero: true, mark: token });
}
