// The text: one field to type in, with a bar under every character for how surprising it was. The chosen byte is the one
// before the caret.

import { tokenBefore } from "./bytes.js";
import { element, setText } from "./dom.js";
import { formula } from "./math.js";

export const parts = ["bits"];

const box = element("textarea", { id: "text", "aria-label": "Text for the model", "aria-describedby": "bits", spellcheck: "false", autocomplete: "off",
  autocapitalize: "off", maxlength: 4096, rows: 1, placeholder: "Type a text: the model reads along, and every panel shows the byte before the caret." });
// Under the field, with the same letters in the same places, invisible but for their marks.
const marks = element("div", { id: "marks", "aria-hidden": "true" });
const field = element("div", { id: "field" }, marks, box);
const sum = element("span", { id: "bits" });
const key = element("span", { class: "key", id: "bits-key" }, "under each character ", formula("−log₂ p"), ": ",
  ...[0, 2, 4, 6, 8].map((bits) => {
    const sample = element("span", { class: "bits" }, bits < 8 ? `${bits}` : "8+");
    sample.style.setProperty("--bits", bits / 8);
    return sample;
  }), " bits");
const both = element("span", { class: "key" }, "line: original");
const foot = element("p", { class: "count", id: "text-foot" }, sum, key, both);
let inside;
// What each mark shows, so that only those that changed are written.
let shown = [];
let inView;

export function start(given) {
  inside = given;
  box.addEventListener("input", () => inside.setText(box.value, box.selectionEnd));
  document.addEventListener("selectionchange", () => {
    if (document.activeElement !== box || box.value !== inside.state.text) return;
    inside.select(tokenBefore(inside.state.reading, box.selectionEnd), { caret: false });
  });
  return element("section", { id: "text-panel", "aria-label": "Text" }, field, foot);
}

export function setCaret(place) {
  if (document.activeElement !== box) box.setSelectionRange(place, place);
}

export function busy(is) {
  field.toggleAttribute("aria-busy", is);
}

const height = (bits) => Math.min(Math.max(bits / 8, 0), 1);
// Over the bytes that something was expected of.
export const mean = (bits) => {
  let [total, count] = [0, 0];
  for (const b of bits) if (!Number.isNaN(b)) { total += b; count += 1; }
  return count ? total / count : NaN;
};

// How surprising a character was: the bits of its bytes, each expected by the byte before it. The first byte was not expected.
function surprise(bits, { token, bytes }) {
  let total = 0;
  for (let t = Math.max(token, 1); t < token + bytes.length; t++) total += bits[t - 1];
  return token + bytes.length > 1 ? total : NaN;
}

export function draw() {
  const { found, reading, text, token } = inside.state;
  if (box.value !== text) box.value = text;
  const changed = found?.["touched.bits"];
  const { characters } = reading;
  // An answer to an earlier text still holds for the beginning that both have.
  const before = found?.reading.characters ?? [];
  let holds = true;
  while (marks.children.length > characters.length) marks.lastChild.remove();
  shown.length = characters.length;
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i];
    holds &&= before[i]?.text === character.text && before[i].token === character.token;
    const read = holds && character.token >= 0;
    const own = read ? surprise(changed ?? found.bits, character) : NaN;
    const intact = read && changed ? surprise(found.bits, character) : NaN;
    const chosen = character.token >= 0 && token >= character.token && token < character.token + character.bytes.length;
    const what = `${character.text} ${character.why} ${chosen} ${own} ${intact}`;
    if (shown[i] === what) continue;
    shown[i] = what;
    const node = marks.children[i] ?? marks.appendChild(document.createElement("span"));
    setText(node, character.text);
    node.className = [character.why, chosen ? "chosen" : "", Number.isNaN(own) ? "" : "bits", Number.isNaN(intact) ? "" : "both"].join(" ");
    node.style.setProperty("--bits", height(own) || 0);
    node.style.setProperty("--intact", height(intact) || 0);
  }
  // Who types has the caret in view anyway.
  const chosen = marks.querySelector(".chosen");
  if (chosen && document.activeElement !== box && chosen !== inView) field.scrollTop = chosen.offsetTop + chosen.offsetHeight - field.clientHeight / 2;
  inView = chosen;
  both.hidden = !changed;
  key.hidden = !found;
  setText(sum, status(found, reading, changed));
}

function status(found, reading, changed) {
  const { run, text, listed } = inside.state;
  if (!listed) return "Looking for runs…";
  if (!run) return "No Kuramoto run with a checkpoint in this folder yet. Train one: kuramoto train";
  const left = (why) => reading.characters.filter((character) => character.why === why);
  const [unknown, past] = [left("unknown"), left("past")];
  const notes = [];
  if (unknown.length) notes.push(`${[...new Set(unknown.map((character) => character.text))].slice(0, 8).join(" ")} left out: not in this model's vocabulary`);
  if (past.length) notes.push(`the first ${past.length} characters are before the context`);
  if (!text) return "Type something to begin.";
  if (!found) return notes.join("; ");
  const own = mean(found.bits);
  const means = Number.isNaN(own) ? [] : [`${own.toFixed(4)} bits per byte` + (changed ? `; with intervention ${mean(changed).toFixed(4)} (${mean(changed) >= own ? "+" : ""}${(mean(changed) - own).toFixed(4)})` : "")];
  return [...means, ...notes].join("; ");
}
