// What breaks if a part is taken out of the trained model: the same text, with and without it.

import { chart } from "../chart.js";
import { element } from "../dom.js";
import { mean } from "../text.js";
import { changedModel } from "./changed.js";
import { plot, reading, signed } from "./parts.js";

export const parts = ["bits"];

const layers = (found) => Array.from({ length: found.layers }, (_, layer) => layer);
const at = (found, point, action) => layers(found).map((layer) => ({ at: point(layer), action }));
const cuts = {
  whole: { title: "nothing", of: () => null },
  synchronization: { title: "synchronization steps", of: (found) => ({ interventions: at(found, (l) => `layer.${l}.phase.mid`, { fade: 1 }) }) },
  "feed-forward": { title: "feed-forward steps", of: (found) => ({ interventions: at(found, (l) => `layer.${l + 1}.phase`, { fade: 1 }) }) },
  selection: { title: "selection: all earlier bytes couple alike", of: (found) => ({ interventions: at(found, (l) => `layer.${l}.attention`, { flatten: 1 }) }) },
  drift: { title: "what drift learned: rates back at their start", of: (found) => ({ changes: layers(found).map((layer) => ({ "freeze-omega": { layer, share: 1 } })) }) },
  shuffle: { title: "who drifts how fast: rates shuffled", of: (found) => ({ changes: layers(found).map((layer) => ({ "permute-omega": { layer, share: 1, seed: 1 } })) }) },
};

let article;
let ask;
let changed = null;
let cut = "synchronization";
const place = plot();
const line = reading();

export function start(given, figure) {
  article = given;
  ask = changedModel(parts, () => article.state.found && cuts[cut].of(article.state.found), (answer) => { changed = answer; draw(); }, given.fail);
  const choices = Object.entries(cuts).map(([id, { title }]) => element("label", {}, element("input", { type: "radio", name: "cut", value: id, checked: id === cut, onchange: () => { cut = id; changed = null; ask(); draw(); } }), title));
  figure.prepend(element("fieldset", { class: "choices" }, element("legend", {}, "take out"), ...choices), place.content, line.node);
}

// Bits belong to the byte they expected.
const points = (bits) => [...bits].slice(0, -1).map((b, t) => [t + 1, b]);

export function draw() {
  if (!article.has(parts)) return;
  const { found, token } = article.state;
  ask();
  const both = changed?.reading === found.reading ? changed : null;
  const lines = [{ name: "as trained", colour: "s0", points: points(found.bits) }];
  if (both) lines.unshift({ name: `without ${cuts[cut].title}`, colour: "s1", points: points(both["touched.bits"]) });
  chart(place, { name: "ablate", x: "byte", y: "surprise (bits)", zero: true, mark: token, lines });
  if (found.n < 2) return line.say("Nothing is expected of the first byte: type one more.");
  const own = mean(found.bits);
  const other = both ? mean(both["touched.bits"]) : own;
  line.say(`As trained: ${own.toFixed(4)} bits per byte${both ? `; without: ${other.toFixed(4)}, ${signed(other - own, 4)}` : ""}.`);
}
