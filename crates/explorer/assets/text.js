// The text: what is typed, and under every byte how surprising the next one is.

import { json } from "./api.js";
import { element, panel, setText } from "./dom.js";

const own = panel("Text", "Type or paste a text; at first there is one that the model wrote. Under each byte: the bits of the byte after it, -log2 p. Choose a byte by a click or with the arrow keys.", { full: true });
const box = element("textarea", { id: "text", "aria-label": "Text for the model", spellcheck: "false", maxlength: 4096 });
const strip = element("div", { class: "strip", role: "group", "aria-label": "Bytes of the text" });
const sum = element("p", { class: "count", id: "bits" });
const empty = element("p", { class: "empty" });
const key = element("p", { class: "count key" }, "bits of the next byte:", ...[0, 2, 4, 6, 8].map((bits) => {
  const sample = element("span", { class: "bits" }, bits < 8 ? `${bits}` : "8 or more");
  sample.style.setProperty("--bits", bits / 8);
  return sample;
}));
const both = element("span", {}, "bar: touched; line: as it is");
key.append(both);
own.content.append(box, empty, strip, key, sum);
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
  strip.addEventListener("click", (event) => {
    const token = [...strip.children].indexOf(event.target);
    if (token >= 0) inside.select(token);
  });
  strip.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -1e9, End: 1e9 }[event.key];
    if (!step) return;
    event.preventDefault();
    inside.select(inside.state.token + step);
  });
  return own.node;
}

const mean = (bits) => { const all = [...bits].filter((b) => !Number.isNaN(b)); return all.reduce((a, b) => a + b, 0) / all.length; };

// A byte as one sign.
const sign = (byte) => (byte > 32 && byte < 127 ? String.fromCharCode(byte) : byte === 32 ? "\u00a0" : byte === 10 ? "↵" : "·");
const height = (bits) => Math.min(Math.max(bits / 8, 0), 1);

export function draw() {
  const { found, token } = inside.state;
  empty.hidden = !!found;
  strip.hidden = key.hidden = sum.hidden = !found;
  if (!found) {
    setText(empty, inside.state.run ? "Give a text that the model knows." : "No Kuramoto run with a checkpoint in this folder yet. Train one: kuramoto train");
    return;
  }
  const { bytes, bits, ["touched.bits"]: touched } = found;
  const focused = strip.contains(document.activeElement);
  // Buttons are used again: one that is pressed while the layers play must not be gone when it is let go.
  while (strip.children.length > bytes.length) strip.lastChild.remove();
  while (strip.children.length < bytes.length) strip.append(element("button"));
  [...strip.children].forEach((node, t) => {
    const own = (touched ?? bits)[t];
    const last = Number.isNaN(own);
    setText(node, sign(bytes[t]));
    node.className = last ? "" : touched ? "bits touched" : "bits";
    node.ariaPressed = t === token;
    node.tabIndex = t === token ? 0 : -1;
    node.title = `byte ${t}: ${last ? "the last" : `${own.toFixed(2)} bits for the next`}${touched && !last ? ` (${bits[t].toFixed(2)} as it is)` : ""}`;
    node.style.setProperty("--bits", last ? 0 : height(own));
    node.style.setProperty("--intact", last ? 0 : height(bits[t]));
  });
  if (focused) strip.children[token]?.focus();
  both.hidden = !touched;
  sum.textContent = `${mean(bits).toFixed(4)} bits per byte` + (touched ? `; touched: ${mean(touched).toFixed(4)} (${mean(touched) >= mean(bits) ? "+" : ""}${(mean(touched) - mean(bits)).toFixed(4)})` : "") + `, step ${found.step}`;
}
