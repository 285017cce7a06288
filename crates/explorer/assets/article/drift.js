// Drift as rotation: what the distance of two bytes does to each oscillator, and to their agreement.

import { chart } from "../chart.js";
import { css, ofAngle, series } from "../colour.js";
import { ring } from "../scene.js";
import { couplingRow, couplings, ratesOf, reach } from "./layer.js";
import { controls, plot, reading, row, sketch, slider } from "./parts.js";

export const parts = ["phase", "gates", "omega", "coupling"];
const farthest = 64;

let article;
const place = plot();
const circle = sketch("The angle by which each oscillator has drifted at the chosen distance", shapes);
const distance = slider("drift-distance", "distance $t − u$", { min: 0, max: farthest, step: 1, value: 4 }, (x) => `${x} bytes`, () => draw());
const rate = slider("drift-rate", "rates $ω$ times", { min: 0, max: 2, step: 0.05, value: 1 }, (x) => x.toFixed(2), () => draw());
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(controls(distance.node, rate.node), row(circle.node, place.content), line.node);
}

function shapes() {
  const { found, layer } = article.state;
  if (!found?.omega) return ring();
  const angles = ratesOf(found, layer).map((omega) => omega * rate.value * distance.value);
  const at = (angle, r) => [r * Math.cos(angle), r * Math.sin(angle)];
  const hands = [...angles].map((angle) => ({ line: [0, 0, ...at(angle, 1)], stroke: "line", width: 0.005 }));
  const dots = [...angles].map((angle) => ({ circle: [...at(angle, 1), 0.026], fill: css(ofAngle(angle)), stroke: "soft", width: 0.005 }));
  const mean = [Math.cos, Math.sin].map((part) => angles.reduce((sum, angle) => sum + part(angle), 0) / angles.length);
  return [...ring(), ...hands, ...dots, { line: [0, 0, ...mean], stroke: "s1", width: 0.03 }, { circle: [...mean, 0.035], fill: "s1" }];
}

const agreement = (rates, by) => rates.reduce((sum, omega) => sum + Math.cos(omega * by), 0) / rates.length;

export function draw() {
  if (!article.has(parts)) return;
  const { found, layer, token } = article.state;
  circle.draw();
  const lines = Array.from({ length: found.layers }, (_, l) => ({ name: `layer ${l}`, colour: series[l % series.length],
    points: Array.from({ length: farthest + 1 }, (_, d) => [d, agreement(ratesOf(found, l), rate.value * d)]) }));
  chart(place, { name: "drift", x: "distance $t − u$ (bytes)", y: "agreement", lines, mark: distance.value });
  const trained = reach(couplingRow(found, found.coupling, layer, token));
  const changed = rate.value === 1 ? "" : `; with these rates it would be ${reach(couplings(found, layer, token, { rate: rate.value })).toFixed(2)}`;
  const size = (l) => ratesOf(found, l).reduce((sum, omega) => sum + Math.abs(omega), 0) / found.k;
  const sizes = Array.from({ length: found.layers }, (_, l) => (rate.value * size(l)).toFixed(3)).join(", ");
  line.say(`Two equal bytes ${distance.value} apart agree by ${agreement(ratesOf(found, layer), rate.value * distance.value).toFixed(3)} in layer ${layer} (1 at distance 0). `
    + `The chosen byte couples ${trained.toFixed(2)} bytes back on average${changed}. Mean rate by layer: ${sizes} radians a byte.`);
}
