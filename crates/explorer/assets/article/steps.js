// The two steps of every layer, for the chosen byte.

import { chart } from "../chart.js";
import { rms, steps } from "./layer.js";
import { plot, reading } from "./parts.js";

export const parts = ["phase", "middle"];

let article;
const place = plot();
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(place.content, line.node);
}

export function draw() {
  const { found, token } = article.state;
  const all = Array.from({ length: found.layers }, (_, layer) => steps(found, layer, token));
  const points = (name) => all.map((step, layer) => [layer, rms(step[name])]);
  const [first, second] = [points("synchronization"), points("feedForward")];
  chart(place, { name: "steps", x: "layer", y: "size (radians, rms)", zero: true, lines: [
    { name: "synchronization", colour: "s0", dots: 5, join: true, points: first }, { name: "feed-forward", colour: "s1", dots: 5, join: true, points: second }] });
  line.say(`Byte ${token}: synchronization moves it by ${first.map(([, size]) => size.toFixed(3)).join(", ")} radians in the ${found.layers} layers, feed-forward by ${second.map(([, size]) => size.toFixed(3)).join(", ")}.`);
}
