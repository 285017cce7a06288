// Drift spectra at the chosen checkpoint: move the checkpoint slider to see them develop.

import { chart } from "./chart.js";
import { series } from "./colour.js";
import { panel } from "./dom.js";

export const parts = ["omega"];

const own = panel("drift", "Drift spectra", "Rates $|ω_j|$ of each layer in order of size, at the chosen checkpoint. Low rates couple far, high rates near.");
let inside;

export const start = (given) => { inside = given; return own.node; };

export function draw() {
  const { found } = inside.state;
  if (!own.filled(found)) return;
  const lines = [];
  for (let layer = 0; layer < found.layers; layer++) {
    const rates = [...found.omega.slice(layer * found.k, (layer + 1) * found.k)].map(Math.abs).sort((a, b) => b - a);
    lines.push({ name: `layer ${layer}`, colour: series[layer % series.length], points: rates.map((rate, j) => [j, Math.log10(Math.max(rate, 1e-6))]) });
  }
  chart(own, { name: "drift", x: "oscillator, by rate", y: "log₁₀ |$ω_j$|", lines });
}
