// A byte as a bank of oscillators: points on a circle, and the whole text as a map of such points.

import { name } from "../bytes.js";
import { css, ofAngle } from "../colour.js";
import { heatmap } from "../heatmap.js";
import { phases as key } from "../key.js";
import { wrapped } from "../phases.js";
import { ring } from "../scene.js";
import { phasesOf } from "./layer.js";
import { number, reading, row, sketch } from "./parts.js";

export const parts = ["phase"];

let article;
let chosen = 0;
const circle = sketch("The oscillators of the chosen byte as points on a circle", shapes);
const map = heatmap({ label: "Phases of all bytes", x: "byte $t$", y: "oscillator $j$", pick: (j, t) => { chosen = j; article.select(t); draw(); } });
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(row(circle.node, map.node), line.node, key());
}

function shapes() {
  const { found, layer, token } = article.state;
  if (!found?.phase) return ring();
  const own = phasesOf(found, layer, token);
  const dots = [...own].map((phase, j) => ({ circle: [Math.cos(phase), Math.sin(phase), 0.03], fill: css(ofAngle(phase)), stroke: j === chosen ? "ink" : "soft", width: j === chosen ? 0.016 : 0.005 }));
  const [x, y] = [Math.cos(own[chosen]), Math.sin(own[chosen])];
  return [...ring(), ...dots, { line: [0, 0, x, y], stroke: "ink", width: 0.012 }, { circle: [0, 0, 0.02], fill: "ink" }, dots[chosen]];
}

export function draw() {
  const { found, layer, token } = article.state;
  const { n, k } = found;
  chosen = Math.min(chosen, k - 1);
  circle.draw();
  const at = (j, t) => found.phase[(layer * n + t) * k + j];
  map.show({ rows: k, columns: n, mark: { column: token }, colour: (j, t) => ofAngle(at(j, t)), about: `marked: byte ${token}; click a cell to follow its oscillator`,
    value: (j, t) => `byte ${t} “${name(found.reading.bytes[t])}”, oscillator ${j}: ${wrapped(at(j, t)).toFixed(3)} rad` });
  const phase = at(chosen, token);
  line.say(`Byte ${token} “${name(found.reading.bytes[token])}”: ${k} oscillators. Oscillator ${chosen} points at $θ$ = ${number(wrapped(phase))} radians, that is at ($cos θ$, $sin θ$) = (${number(Math.cos(phase))}, ${number(Math.sin(phase))}).`);
}
