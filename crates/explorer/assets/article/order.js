// Order layer by layer: of the reader's text, and of the validation split.

import { chart, dashed } from "../chart.js";
import { table } from "./csv.js";
import { plot, reading } from "./parts.js";

export const parts = ["order"];

let article;
let measured = [];
const place = plot();
const line = reading();

export function start(given, figure) {
  article = given;
  figure.prepend(place.content, line.node);
  table("phases.csv").then((rows) => {
    // Of the last checkpoint, which is the model of this page.
    const last = Math.max(...rows.map((row) => +row.step));
    measured = rows.filter((row) => +row.step === last);
    if (article.state.found?.parts.has("order")) draw();
  }).catch(given.fail);
}

const ofCorpus = (name) => measured.filter((row) => row.measure === name);

export function draw() {
  const { found } = article.state;
  const { n, layers } = found;
  const local = Array.from({ length: layers }, (_, l) => [l, found.local.subarray(l * n, (l + 1) * n).reduce((a, b) => a + b) / n]);
  const global = [...found.global].map((order, state) => [state, order]);
  const corpus = (name, title, colour) => {
    const rows = ofCorpus(name);
    return { name: `${title}, validation split`, colour, dash: dashed, dots: 3, join: true, points: rows.map((row) => [+row.layer, +row.mean]), spread: rows.map((row) => [+row.layer, +row.low, +row.high]) };
  };
  chart(place, { name: "order", x: "entering layer", y: "order", lines: [
    { name: "local $R$, your text", colour: "s0", dots: 5, join: true, points: local }, corpus("local-order", "local", "s0"),
    { name: "global $R$, your text", colour: "s1", dots: 5, join: true, points: global }, corpus("global-order", "global", "s1")] });
  const list = (points) => points.map(([, order]) => order.toFixed(3)).join(", ");
  line.say(`Your text: local order ${list(local)} in the ${layers} layers; global order ${list(global)}, the last after the last layer.`);
}
