// What the model expects after the chosen byte; a click types it.

import { name } from "./bytes.js";
import { element, setText } from "./dom.js";

export const parts = ["likely"];

const title = element("h2", { id: "next-title" }, "Next byte");
const list = element("ol", { "aria-labelledby": "next-title" });
const empty = element("p", { class: "empty" }, "What the model expects comes here.");
const own = element("section", { id: "next", "aria-labelledby": "next-title" }, title, empty, list);
let inside;

export function start(given) {
  inside = given;
  list.addEventListener("click", (event) => {
    const byte = event.target.closest("button")?.dataset.byte;
    if (byte !== undefined) type(+byte);
  });
  return own;
}

// Only what is a character by itself can be typed.
function type(byte) {
  const { found, token, text } = inside.state;
  const last = found.reading.characters.find((character) => character.token >= 0 && token < character.token + character.bytes.length);
  const at = last.at + last.text.length;
  inside.setText(text.slice(0, at) + String.fromCharCode(byte) + text.slice(at), at + 1);
}

// Made once: bars that only change do not need new elements.
const rows = Array.from({ length: 8 }, () => {
  const letter = element("span", { class: "letter" });
  const bars = ["bar", "bar changed"].map((kind) => element("span", { class: kind }));
  const share = element("span", { class: "share" });
  const node = element("button", { type: "button" }, letter, element("span", { class: "bars" }, ...bars), share);
  return { node, item: element("li", {}, node), letter, bars, share };
});
list.append(...rows.map((row) => row.item));

const percent = (p) => `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)}%`;

export function draw() {
  const { found, token } = inside.state;
  list.hidden = !found;
  empty.hidden = !!found;
  if (!found) return setText(title, "Next byte");
  setText(title, `After byte ${token}, “${name(found.reading.bytes[token])}”`);
  const count = found.likely.length / found.n;
  // With an intervention its own order, and the original's share of the same byte where that is among its likeliest.
  const of = (prefix) => Array.from({ length: count }, (_, i) => [found[`${prefix}likely`][token * count + i], found[`${prefix}chance`][token * count + i]]);
  const original = of("");
  const main = found.touched ? of("touched.") : original;
  rows.forEach(({ node, item, letter, bars, share }, i) => {
    const [byte, chance] = main[i] ?? [-1, 0];
    item.hidden = byte < 0;
    if (byte < 0) return;
    const before = found.touched ? original.find(([other]) => other === byte)?.[1] : undefined;
    setText(letter, name(byte));
    node.dataset.byte = byte;
    node.disabled = byte > 127;
    bars[1].hidden = !found.touched;
    bars[0].style.width = `${100 * ((found.touched ? before : chance) ?? 0)}%`;
    bars[1].style.width = `${100 * chance}%`;
    setText(share, found.touched ? `${percent(chance)} (${before === undefined ? "<" + percent(original.at(-1)[1]) : percent(before)})` : percent(chance));
    node.title = `${name(byte)}: ${(100 * chance).toFixed(2)}%${found.touched ? " with the intervention; in brackets the original" : ""}. Click to type it.`;
  });
}
