// The oscillators of the chosen byte on their way through the layers, on a torus.

import { button } from "../dom.js";
import { torus } from "../scene.js";
import { layerName } from "../state.js";
import { controls, lessMotion, reading, sketch, slider } from "./parts.js";

export const parts = ["phase"];
// From one layer to the next, and the share of that time in which it moves.
const milliseconds = 1600;
const moving = 0.7;

let article;
let frame;
let begun = 0;
const canvas = sketch("The oscillators of the chosen byte on a torus", () => {
  const { found, token } = article.state;
  return found?.phase ? torus({ found, prefix: "", token }, depth.value) : [];
});
const depth = slider("journey-depth", "depth", { min: 0, max: 4, step: 0.01, value: 0 }, (x) => x.toFixed(1), () => { toggle(false); draw(); });
const play = button("journey-play", "Play", () => toggle(frame === undefined), { "aria-pressed": "false" });
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(canvas.node, controls(play, depth.node), line.node);
  new IntersectionObserver(([{ isIntersecting }]) => toggle(isIntersecting && !lessMotion.matches)).observe(figure);
}

function toggle(on) {
  if (on === (frame !== undefined)) return;
  cancelAnimationFrame(frame);
  frame = undefined;
  play.textContent = on ? "Pause" : "Play";
  play.setAttribute("aria-pressed", on);
  if (!on) return;
  begun = performance.now() - depth.value * milliseconds;
  frame = requestAnimationFrame(step);
}

function step(now) {
  frame = requestAnimationFrame(step);
  if (!article.state.found?.phase) return;
  const { layers } = article.state.found;
  // It rests at every state, and longer at the last before it begins again.
  const time = ((now - begun) / milliseconds) % (layers + 1);
  const [whole, rest] = [Math.min(Math.floor(time), layers), time % 1];
  const way = whole === layers ? 0 : Math.min(rest / moving, 1);
  depth.value = whole + way * way * (3 - 2 * way);
  draw();
}

export function draw() {
  if (!article.has(parts)) return;
  const { found } = article.state;
  depth.input.max = found.layers;
  canvas.draw();
  line.say(`${found.k} oscillators, ${layerName(Math.floor(depth.value + 1e-6), found.layers)}. Around the ring: their number $j$; around the tube: their phase $θ$.`);
}
