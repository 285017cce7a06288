// Generation, byte by byte, with the phases of each new byte.

import * as api from "./api.js";
import { name } from "./bytes.js";
import { wrapped } from "./phases.js";
import { nothing, ofAngle } from "./colour.js";
import { button, element, panel } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { phases } from "./key.js";
import { fail } from "./notice.js";
import { asQuestion } from "./state.js";

const bytes = 120;
const own = panel("continue", "Continue", "The model continues the text, with the intervention if there is one; a rotated byte stays rotated until it leaves the context. Below: phases $θ_tj$ of each new byte after the last layer.");
const go = button("continue", "Continue", () => toggle());
const keep = button("keep", "Add to the text", () => inside.setText(inside.state.text + out.textContent), { disabled: true });
const warmth = element("input", { type: "range", id: "temperature", min: 0, max: 1.5, step: 0.05, value: 0.8 });
const seed = element("input", { type: "number", id: "seed", min: 0, max: 1000000, value: 1 });
const out = element("pre", { id: "written", "aria-live": "off" });
const map = heatmap({ label: "Phases of the bytes as they are written", x: "new byte $t$", y: "oscillator $j$" });
const figure = element("div", { hidden: true }, map.node, phases());
own.content.append(element("div", { class: "controls" }, go, keep,
  element("label", {}, "temperature ", warmth), element("label", {}, "seed ", seed)), out, figure);
let inside;
let stop;

export const start = (given) => { inside = given; return own.node; };

async function toggle() {
  if (stop) return stop.abort();
  const signal = (stop = new AbortController()).signal;
  go.textContent = "Stop";
  keep.disabled = true;
  const decoder = new TextDecoder();
  const columns = [];
  const written = [];
  out.textContent = "";
  figure.hidden = false;
  const { k } = inside.state.found;
  let pending = false;
  const paint = () => {
    pending = false;
    map.show({ rows: k, columns: bytes, mark: { column: columns.length - 1 }, about: `${columns.length} of ${bytes} bytes`,
      colour: (j, t) => (columns[t] ? ofAngle(columns[t][j]) : nothing),
      value: (j, t) => (columns[t] ? `byte ${t} “${name(written[t])}”, oscillator ${j}: ${wrapped(columns[t][j]).toFixed(3)} rad` : `byte ${t} is not written yet`) });
  };
  try {
    await api.write({ question: asQuestion(), bytes, sampling: { temperature: +warmth.value, top_p: 1, seed: +seed.value } }, (byte, phase) => {
      out.textContent += decoder.decode(Uint8Array.of(byte), { stream: true });
      columns.push(phase.slice(phase.length - k));
      written.push(byte);
      if (!pending) requestAnimationFrame(paint);
      pending = true;
    }, signal);
  } catch (error) {
    if (!signal.aborted) fail(error, "continue");
  }
  stop = undefined;
  go.textContent = "Continue";
  keep.disabled = !written.length;
}

export function draw() {
  own.filled(inside.state.found);
}
