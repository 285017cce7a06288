// The text: what is typed, and under every byte how surprising the next one is.

import { json } from "./api.js";
import { element, panel } from "./chart.js";
import { css, ofShare } from "./colour.js";

const own = panel("Text", "Type or paste a text; at first there is one that the model wrote. Under each byte: the bits of the byte after it (dark: expected, light: 8 bits or more). Choose a byte by a click or with the arrow keys.", { full: true });
const box = element("textarea", { id: "text", "aria-label": "Text for the model", spellcheck: "false", maxlength: 4096 });
const strip = element("div", { class: "strip", role: "group", "aria-label": "Bytes of the text" });
const sum = element("p", { class: "count", id: "bits" });
own.content.append(box, strip, sum);
let inside;
let typed = false;

function set(text) {
  box.value = inside.state.text = text;
  inside.ask();
}

// Until something is typed, the text is one the run's model wrote.
export async function offer(run) {
  if (typed) return;
  const text = await json(`api/sample?run=${encodeURIComponent(run)}`).catch(() => "");
  if (!typed && text) set(text);
}

export function start(given) {
  inside = given;
  box.addEventListener("input", () => { typed = true; set(box.value); });
  strip.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -1e9, End: 1e9 }[event.key];
    if (!step) return;
    event.preventDefault();
    inside.select(inside.state.token + step);
  });
  return own.node;
}

const mean = (bits) => { const all = [...bits].filter((b) => !Number.isNaN(b)); return all.reduce((a, b) => a + b, 0) / all.length; };

export function draw() {
  const { found, token } = inside.state;
  if (!found) {
    const why = inside.state.run ? "Give a text that the model knows." : "No Kuramoto run with a checkpoint in this folder yet. Train one: kuramoto train";
    strip.replaceChildren(element("span", { class: "empty" }, why));
    sum.textContent = "";
    return;
  }
  const { bytes } = found;
  const focused = strip.contains(document.activeElement);
  const bits = found["touched.bits"] ?? found.bits;
  const nodes = [...bytes].map((byte, t) => {
    const shown = byte > 32 && byte < 127 ? String.fromCharCode(byte) : byte === 32 ? "\u00a0" : byte === 10 ? "↵" : "·";
    const node = element("button", { "aria-pressed": String(t === token), tabindex: t === token ? 0 : -1,
      title: `byte ${t}: ${Number.isNaN(bits[t]) ? "the last" : `${bits[t].toFixed(2)} bits for the next`}`, onclick: () => inside.select(t) }, shown);
    node.style.borderBottomColor = Number.isNaN(bits[t]) ? "transparent" : css(ofShare(bits[t] / 8));
    return node;
  });
  strip.replaceChildren(...nodes);
  if (focused) strip.children[token]?.focus();
  const touched = found["touched.bits"];
  sum.textContent = `${mean(found.bits).toFixed(4)} bits per byte` + (touched ? `; touched: ${mean(touched).toFixed(4)} (${mean(touched) >= mean(found.bits) ? "+" : ""}${(mean(touched) - mean(found.bits)).toFixed(4)})` : "") + `, step ${found.step}`;
}
