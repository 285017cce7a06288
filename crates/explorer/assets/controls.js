// What is looked at: run, checkpoint, layer, byte. It stays in view.

import { name } from "./bytes.js";
import { element, setText } from "./dom.js";

const choice = element("select", { id: "inside-run" });
const times = element("input", { type: "range", id: "checkpoint", min: 0, max: 0, value: 0 });
const time = element("output", { for: "checkpoint" });
const layers = element("input", { type: "range", id: "layer", min: 0, max: 1, value: 0 });
const layer = element("output", { for: "layer" });
const byte = element("input", { type: "number", id: "byte", min: 0, value: 0 });
const letter = element("output", { for: "byte", id: "letter" });
let inside;
let runs = [];

export function start(given) {
  inside = given;
  choice.addEventListener("change", () => inside.chooseRun(choice.value));
  times.addEventListener("input", () => inside.chooseStep(own().checkpoints[+times.value]));
  layers.addEventListener("input", () => inside.toLayer(+layers.value));
  byte.addEventListener("input", () => byte.value !== "" && inside.select(+byte.value));
  const label = (title, ...nodes) => element("label", {}, `${title} `, ...nodes);
  return element("div", { class: "controls", id: "inside-controls" },
    label("Run", choice), label("Checkpoint", times, time), label("Layer", layers, layer), label("Byte", byte, letter));
}

const own = () => runs.find((run) => run.id === inside.state.run);

export function offer(found) {
  runs = found;
  const names = runs.map((run) => run.id);
  if (names.join("\n") !== [...choice.options].map((option) => option.value).join("\n")) {
    choice.replaceChildren(...names.map((id) => element("option", { value: id }, id)));
  }
  draw();
}

export function draw() {
  const { found, step, run, token, aim, reading } = inside.state;
  const checkpoints = own()?.checkpoints ?? [];
  choice.value = run;
  times.max = Math.max(checkpoints.length - 1, 0);
  times.value = Math.max(checkpoints.indexOf(step), 0);
  // A slider without a choice is no control.
  times.hidden = checkpoints.length < 2;
  setText(time, step === undefined ? "" : `step ${step}`);
  layers.max = found?.layers ?? 1;
  layers.value = inside.state.layer;
  layers.disabled = byte.disabled = !found;
  setText(layer, !found ? "" : inside.state.layer < found.layers ? `entering ${inside.state.layer}` : "after the last");
  const at = Math.min(aim, token);
  byte.max = Math.max(reading.bytes.length - 1, 0);
  if (document.activeElement !== byte) byte.value = at;
  setText(letter, found && found.n > at ? `“${name(found.reading.bytes[at])}”` : "");
}
