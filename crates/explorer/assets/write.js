// Generation, byte by byte, with the phases of each new byte.

import { generated } from "./api.js";
import { later, ofAngle, paint } from "./colour.js";
import { element, panel } from "./dom.js";
import { phases } from "./key.js";

const own = panel("Write on", "The model goes on from the text, touched if you touched it; a turned byte stays turned until it leaves the context. Below: the phases theta of each new byte (across: bytes, down: oscillators) after the last layer, as it comes.");
const button = element("button", { id: "write" }, "Write 120 bytes");
const warmth = element("input", { type: "range", id: "temperature", min: 0, max: 1.5, step: 0.05, value: 0.8 });
const seed = element("input", { type: "number", id: "seed", min: 0, max: 1000000, value: 1 });
const out = element("pre", { id: "written", "aria-live": "off" });
const canvas = element("canvas", { role: "img", "aria-label": "Phases of the bytes as they are written" });
const key = phases();
own.content.append(element("div", { class: "controls" }, button, element("label", {}, "temperature ", warmth), element("label", {}, "seed ", seed)), out, canvas, key);
let inside;
let stop;

export function start(given) {
  inside = given;
  canvas.hidden = key.hidden = true;
  button.addEventListener("click", go);
  return own.node;
}

async function go() {
  if (stop) { stop.abort(); stop = undefined; return; }
  const signal = (stop = new AbortController()).signal;
  button.textContent = "Stop";
  const decoder = new TextDecoder();
  const columns = [];
  out.textContent = "";
  canvas.hidden = key.hidden = false;
  const k = inside.state.found?.k ?? 1;
  try {
    await generated({ question: inside.asQuestion(), bytes: 120, sampling: { temperature: +warmth.value, top_p: 1, seed: +seed.value } }, (byte, phases) => {
      out.textContent += decoder.decode(Uint8Array.of(byte), { stream: true });
      columns.push(phases.slice(phases.length - k));
      paint(canvas, k, Math.max(columns.length, 60), (j, t) => (columns[t] ? ofAngle(columns[t][j]) : later));
      canvas.style.height = "160px";
    }, signal);
  } catch (error) {
    if (!signal.aborted) inside.say(error.message);
  }
  stop = undefined;
  button.textContent = "Write 120 bytes";
}

export function draw() {}
