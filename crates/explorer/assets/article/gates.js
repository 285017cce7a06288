// The gates as a metric: how much each oscillator counts, at two bytes.

import { name } from "../bytes.js";
import { chart, dashed } from "../chart.js";
import { reading, plot } from "./parts.js";

export const parts = ["gates"];

let article;
const place = plot();
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(place.content, line.node);
}

// (Σ m)² / (k Σ m²): the share of oscillators that count.
const counted = (m) => m.reduce((a, b) => a + b) ** 2 / (m.length * m.reduce((a, b) => a + b * b, 0));

export function draw() {
  const { found, layer, token } = article.state;
  const { n, k, reading: { bytes } } = found;
  const products = (t) => Float64Array.from({ length: k }, (_, j) => found.query_gate[(layer * n + t) * k + j] * found.key_gate[(layer * n + t) * k + j]);
  const before = Math.max(token - 1, 0);
  const [own, other] = [products(token), products(before)];
  const order = [...own.keys()].sort((a, b) => own[b] - own[a]);
  const points = (m) => order.map((j, i) => [i, m[j]]);
  chart(place, { name: "gates", x: "oscillator, in order of its weight at the chosen byte", y: "weight", zero: true, lines: [
    { name: `byte ${before} “${name(bytes[before])}”, in the same order`, colour: "s1", points: points(other) },
    { name: `byte ${token} “${name(bytes[token])}”`, colour: "s0", points: points(own) },
    { name: "no gates", colour: "floor", dash: dashed, level: true, points: [[0, 1], [k - 1, 1]] }] });
  line.say(`At byte ${token}, ${(100 * counted(own)).toFixed(0)}% of the oscillators count, at byte ${before} ${(100 * counted(other)).toFixed(0)}%; without gates it would be 100%.`);
}
