// Drift spectra at the chosen checkpoint: move the checkpoint slider to see them develop.

import { chart } from "./chart.js";
import { series } from "./colour.js";
import { panel } from "./dom.js";

const own = panel("Drift spectra", "Rates |omega_j| of each layer in order of size, at the chosen checkpoint (logarithm to base 10). Low rates couple far, high rates near. Move the checkpoint to watch them develop.");
let inside;

export const start = (given) => { inside = given; return own.node; };

export function draw() {
  const { found } = inside.state;
  const lines = [];
  for (let layer = 0; found && layer < found.layers; layer++) {
    const rates = [...found.omega.slice(layer * found.k, (layer + 1) * found.k)].map(Math.abs).sort((a, b) => b - a);
    lines.push({ name: `layer ${layer}`, colour: series[layer % series.length], points: rates.map((rate, j) => [j, Math.log10(Math.max(rate, 1e-6))]) });
  }
  chart(own, { name: "drift", x: "oscillator, by rate", y: "log10 |omega|", lines });
}
