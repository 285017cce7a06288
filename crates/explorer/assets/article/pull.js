// The Kuramoto pull on one oscillator: the phases it attends to, their mean, and the step that follows.

import { name } from "../bytes.js";
import { css, ofAngle } from "../colour.js";
import { element } from "../dom.js";
import { prose } from "../math.js";
import { ring } from "../scene.js";
import { couplingRow, direction, phasesOf, steps, valueGates } from "./layer.js";
import { controls, number, reading, row, signed, sketch, slider } from "./parts.js";

export const parts = ["phase", "coupling", "gates", "middle"];
const listed = 8;

let article;
// The oscillator with the largest step until one is chosen.
let chosen;
const circle = sketch("One oscillator of the chosen byte, the phases it attends to, and their mean", shapes);
const which = slider("pull-oscillator", "oscillator $j$", { min: 0, max: 1, step: 1, value: 0 }, (x) => `${x}`, (x) => { chosen = x; draw(); });
const body = element("tbody");
const head = element("tr", {}, ...["byte $u$", "$A_tu$", "$sin(θ_uj − θ_tj)$", "pull"].map((title, i) => element("th", { scope: "col", class: i ? "number" : "" }, ...prose(title))));
const table = element("table", {}, element("thead", {}, head), body);
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(controls(which.node), row(circle.node, element("div", { class: "wide" }, table)), line.node);
}

function now() {
  const { found, layer, token } = article.state;
  const { g, a } = direction(found, layer, token);
  const { synchronization } = steps(found, layer, token);
  const j = Math.min(chosen ?? synchronization.reduce((best, x, i) => (Math.abs(x) > Math.abs(synchronization[best]) ? i : best), 0), found.k - 1);
  const own = phasesOf(found, layer, token)[j];
  const shares = couplingRow(found, found.coupling, layer, token);
  const pulls = [...shares].map((share, u) => ({ u, share, phase: found.phase[(layer * found.n + u) * found.k + j] }))
    .map((pull) => ({ ...pull, sine: Math.sin(pull.phase - own), pull: pull.share * Math.sin(pull.phase - own) }));
  return { j, own, g: [g[j], g[found.k + j]], a: a[j], v: valueGates(found, layer, token)[j], step: synchronization[j], pulls };
}

function shapes() {
  const { found } = article.state;
  if (!found || !parts.every((part) => found.parts.has(part))) return ring();
  const { own, g, a, step, pulls } = now();
  const at = (angle, r = 1) => [r * Math.cos(angle), r * Math.sin(angle)];
  const dots = pulls.filter(({ u }) => u !== article.state.token)
    .map(({ share, phase }) => ({ circle: [...at(phase), 0.018 + 0.1 * Math.sqrt(share)], fill: css(ofAngle(phase)), stroke: "soft", width: 0.005 }));
  return [...ring(), ...dots, { line: [0, 0, ...g], stroke: "s1", width: 0.03 }, { circle: [...g, 0.035], fill: "s1" },
    { line: [...at(own), ...g], stroke: "soft", width: 0.006, dashed: true },
    { line: [...at(own), Math.cos(own) - a * Math.sin(own), Math.sin(own) + a * Math.cos(own)], stroke: "soft", width: 0.03 },
    { circle: [...at(own), 0.05], fill: "ink" }, { arc: [own, own + step], radius: 0.92, stroke: "accent", width: 0.035 }];
}

export function draw() {
  if (!article.has(parts)) return;
  const { found, layer, token } = article.state;
  const { j, a, v, step, g, own, pulls } = now();
  which.input.max = found.k - 1;
  which.value = j;
  circle.draw();
  const strongest = pulls.filter(({ u }) => u !== token).sort((p, q) => Math.abs(q.pull) - Math.abs(p.pull)).slice(0, listed);
  const cell = (text) => element("td", { class: "number" }, text);
  body.replaceChildren(...strongest.map(({ u, share, sine, pull }) => element("tr", {}, element("td", {}, `${u} “${name(found.reading.bytes[u])}”`), cell(share.toFixed(4)), cell(signed(sine)), cell(signed(pull, 4)))));
  const sum = pulls.reduce((total, { pull }) => total + pull, 0);
  line.say(`Layer ${layer}, oscillator ${j}: the pulls add up to ${signed(sum, 4)}, and the projection of $G_tj$ gives $a_tj$ = ${signed(Math.cos(own) * g[1] - Math.sin(own) * g[0], 4)}: the same number twice. `
    + `The gate $v_tj$ = ${number(v, 2)} ${v * a === 0 ? "stops it" : v < 0 ? "turns it round, so this oscillator is repelled" : v < 1 ? "weakens it" : "strengthens it"}; the model moved it by ${signed(step, 4)} radians.`);
}
