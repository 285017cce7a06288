// The classical Kuramoto model, simulated by the engine while one looks, beside its transition.

import { ask } from "../asking.js";
import { chart, dashed } from "../chart.js";
import { css, ofAngle } from "../colour.js";
import { button } from "../dom.js";
import { decode } from "../safetensors.js";
import { ring } from "../scene.js";
import { numbers, table } from "./csv.js";
import { controls, lessMotion, plot, reading, row, sketch, slider } from "./parts.js";

// It needs no text.
export const parts = [];
const population = { oscillators: 300, width: 0.5, seed: 1, step: 0.05 };

let article;
let shown;
let transition = [];
let running = false;
let restart = true;
const place = plot();
const circle = sketch("Oscillators of the classical Kuramoto model on a circle", shapes);
const coupling = slider("classical-coupling", "coupling $K$", { min: 0, max: 4, step: 0.05, value: 0.5 }, (x) => x.toFixed(2), () => advance(lessMotion.matches ? 400 : 1));
const play = button("classical-play", "Play", () => toggle(!running), { "aria-pressed": "false" });
const again = button("classical-restart", "Restart", () => { restart = true; advance(0); });
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(controls(coupling.node, play, again), row(circle.node, place.content), line.node);
  table("transition.csv").then((rows) => { transition = rows; drawChart(); }).catch(given.fail);
  // It rests while nobody sees it; where less motion is wanted it moves only when told to.
  new IntersectionObserver(([{ isIntersecting }]) => {
    if (isIntersecting && !shown) advance(lessMotion.matches ? 400 : 0);
    toggle(isIntersecting && !lessMotion.matches);
  }).observe(figure);
}

function toggle(on) {
  if (on === running) return;
  running = on;
  play.textContent = on ? "Pause" : "Play";
  play.setAttribute("aria-pressed", on);
  if (on) frame();
}

async function frame() {
  if (!running) return;
  await advance(1);
  requestAnimationFrame(frame);
}

async function advance(steps) {
  const question = { ...population, coupling: coupling.value, restart, steps };
  restart = false;
  try {
    shown = { ...decode(await ask("simulate", question)), coupling: question.coupling };
  } catch (error) {
    toggle(false);
    return article.fail(error);
  }
  circle.draw();
  drawChart();
  const { order, critical, theory } = shown;
  line.say(`300 oscillators at $K$ = ${shown.coupling.toFixed(2)}: $r$ = ${order.at(-1).toFixed(3)}. Infinitely many would settle at ${theory.toFixed(3)}; the transition is at $K_c$ = ${critical.toFixed(2)}.`);
}

function shapes() {
  if (!shown) return ring();
  const at = (angle) => [Math.cos(angle), Math.sin(angle)];
  const dots = [...shown.phase].map((phase) => ({ circle: [...at(phase), 0.026], fill: css(ofAngle(phase)), stroke: "soft", width: 0.004 }));
  const mean = [Math.cos, Math.sin].map((part) => shown.phase.reduce((sum, phase) => sum + part(phase), 0) / shown.phase.length);
  return [...ring(), ...dots, { line: [0, 0, ...mean], stroke: "s1", width: 0.03 }, { circle: [...mean, 0.035], fill: "s1" }];
}

function drawChart() {
  const lines = [
    { name: "theory, infinitely many", colour: "floor", dash: dashed, points: numbers(transition, "coupling", "theory") },
    { name: "2,000 oscillators, simulated", colour: "s0", dots: 3, points: numbers(transition, "coupling", "order") }];
  if (shown) lines.push({ name: "now", colour: "s1", dots: 6, points: [[shown.coupling, shown.order.at(-1)]] });
  chart(place, { name: "transition", x: "coupling $K$", y: "order $r$", zero: true, lines });
}

export const draw = () => {};
