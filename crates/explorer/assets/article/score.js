// A score as interference: the terms of one pair of bytes as arrows, tip to tail.

import { name } from "../bytes.js";
import { css, ofAngle } from "../colour.js";
import { element } from "../dom.js";
import { couplingRow, score, strongest, terms } from "./layer.js";
import { controls, number, reading, sketch, slider } from "./parts.js";

export const parts = ["phase", "gates", "omega", "coupling"];
// Other bytes that are drawn.
const most = 16;

let article;
// How far back the other byte is; the one that is coupled with most until it is chosen.
let back;
const how = () => ({ gates: gates.checked, rate: drift.checked ? 1 : 0 });
const chain = sketch("Terms of the score as arrows, tip to tail", shapes, { wide: true });
const other = slider("score-back", "other byte, $t − u$ back", { min: 0, max: 1, step: 1, value: 1 }, (x) => `${x}`, (x) => { back = x; draw(); });
const box = (id, title) => {
  const input = element("input", { type: "checkbox", id, checked: true, onchange: () => draw() });
  return [input, element("label", {}, input, title)];
};
const [gates, gatesLabel] = box("score-gates", "gates");
const [drift, driftLabel] = box("score-drift", "drift");
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(chain.node, controls(other.node, gatesLabel, driftLabel), line.node);
}

const pair = () => {
  const { found, layer, token } = article.state;
  return [token, back === undefined ? strongest(found, layer, token) : Math.max(token - back, 0)];
};

// Where the arrows lead, from the origin on.
function path({ length, angle }) {
  let [x, y] = [0, 0];
  return [[0, 0], ...[...length].map((l, j) => [(x += l * Math.cos(angle[j])), (y += l * Math.sin(angle[j]))])];
}

function shapes(ratio) {
  const { found, layer } = article.state;
  if (!found || !parts.every((part) => found.parts.has(part))) return [];
  const [t, u] = pair();
  const own = terms(found, layer, t, u, how());
  const shares = couplingRow(found, found.coupling, layer, t);
  const others = [...shares.keys()].filter((v) => v !== u).sort((a, b) => shares[b] - shares[a]).slice(0, most).map((v) => terms(found, layer, t, v, how()));
  const longest = Math.max(...[own, ...others].map(({ length }) => length.reduce((a, b) => a + b)));
  const across = 1.28 * ratio;
  const highest = Math.max(...path(own).map(([, y]) => Math.abs(y)), 1e-9);
  const scale = Math.min((1.84 * across) / longest, 1.02 / highest);
  const left = -0.92 * across;
  const place = ([x, y]) => [left + scale * x, scale * y];
  const paths = others.map((one) => ({ path: path(one).map(place), stroke: "line", width: 0.008 }));
  const points = path(own).map(place);
  const [x, y] = points.at(-1);
  const arrows = points.slice(1).map((point, j) => ({ line: [...points[j], ...point], stroke: css(ofAngle(own.angle[j])), width: 0.034 }));
  return [
    { line: [left, 0, left + 1.84 * across, 0], stroke: "soft", width: 0.006, dashed: true }, ...paths, ...arrows,
    { line: [x, y, x, 0], stroke: "soft", width: 0.008, dashed: true }, { line: [left, -1.12, x, -1.12], stroke: "accent", width: 0.06 },
    { line: [x, 0, x, -1.12], stroke: "soft", width: 0.008, dashed: true }, { circle: [x, y, 0.035], fill: "accent" }, { circle: [left, 0, 0.03], fill: "ink" }];
}

export function draw() {
  if (!article.has(parts)) return;
  const { found, layer, token } = article.state;
  const [t, u] = pair();
  other.input.max = Math.max(token, 1);
  other.value = t - u;
  chain.draw();
  const byte = (v) => `${v} “${name(found.reading.bytes[v])}”`;
  const changed = !(gates.checked && drift.checked);
  const { length } = terms(found, layer, t, u, how());
  const becomes = changed ? ". This is not the model's own score: something is switched off" : `; it becomes the coupling $A_tu$ = ${couplingRow(found, found.coupling, layer, t)[u].toFixed(4)}`;
  line.say(`Byte ${byte(t)} with byte ${byte(u)} in layer ${layer}: the blue bar is the score $s_tu$ = ${number(score(found, layer, t, u, how()))}`
    + ` of at most ${number(length.reduce((a, b) => a + b))} if all arrows agreed${becomes}.`);
}
