// The bound: how long a step may be. Dots are what the engine did with every byte of the text.

import { chart } from "../chart.js";
import { button } from "../dom.js";
import { direction, rms, steps, valueGates } from "./layer.js";
import { controls, plot, reading, slider } from "./parts.js";

export const parts = ["phase", "coupling", "gates", "middle"];

let article;
const place = plot();
const radius = slider("bound-radius", "radius $r$ times", { min: 0.1, max: 4, step: 0.05, value: 1 }, (x) => x.toFixed(2), () => draw());
const reset = button("bound-reset", "Reset", () => { radius.value = 1; draw(); });
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(controls(radius.node, reset), place.content, line.node);
}

const bound = (n, r) => r * Math.tanh(n / r);

// What the gate and the direction ask for, and what was done.
function sizes(found, layer, t) {
  const v = valueGates(found, layer, t);
  return [rms(direction(found, layer, t).a.map((a, j) => a * v[j])), rms(steps(found, layer, t).synchronization)];
}

// Of all bytes; once for a text and a layer, as the slider changes neither.
let known = {};
function allSizes(found, layer) {
  if (known.phase !== found.phase || known.layer !== layer) {
    known = { phase: found.phase, layer, dots: Array.from({ length: found.n }, (_, t) => sizes(found, layer, t)) };
  }
  return known.dots;
}

export function draw() {
  if (!article.has(parts)) return;
  const { found, layer, token } = article.state;
  const learned = found.radii[layer][0];
  const r = radius.value * learned;
  const dots = allSizes(found, layer);
  const most = 1.1 * Math.max(...dots.map(([n]) => n), learned);
  const across = Array.from({ length: 101 }, (_, i) => (most * i) / 100);
  chart(place, { name: "bound", x: "size asked for, rms of $v ⊙ a$ (radians)", y: "size of the step (radians)", zero: true, lines: [
    { name: "without a bound", colour: "floor", dash: "6 4", points: [[0, 0], [most, most]] },
    { name: `bound of radius ${r.toFixed(3)}${radius.value === 1 ? " (learned)" : ""}`, colour: "s0", points: across.map((n) => [n, bound(n, r)]) },
    { name: "bytes of the text, as the model moved them", colour: "s1", dots: 3, points: dots },
    { name: "the chosen byte", colour: "s2", dots: 6, points: [dots[token]] }] });
  const [n, did] = dots[token];
  line.say(`In layer ${layer} the learned radius is ${learned.toFixed(3)}. Byte ${token} asked for ${n.toFixed(3)} and moved by ${did.toFixed(3)}${radius.value === 1 ? "" : `; with this radius it would be ${bound(n, r).toFixed(3)}`}.`);
}
