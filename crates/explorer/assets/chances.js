// What the model expects after the chosen byte.

import { element, panel } from "./dom.js";

const own = panel("Next byte", "Probabilities p of the byte after the chosen one; beside them those of the touched model.");
let inside;

export const start = (given) => { inside = given; return own.node; };

const name = (byte) => (byte === 32 ? "space" : byte === 10 ? "line break" : byte > 32 && byte < 127 ? String.fromCharCode(byte) : `0x${byte.toString(16)}`);

function list(found, prefix, token) {
  const count = found.likely.length / found.n;
  const rows = [];
  for (let i = 0; i < count; i++) {
    const byte = found[`${prefix}likely`][token * count + i];
    const chance = found[`${prefix}chance`][token * count + i];
    if (byte < 0) continue;
    const bar = element("span", { class: "bar" });
    bar.style.width = `${90 * chance}px`;
    rows.push(element("tr", {}, element("td", {}, name(byte)), element("td", {}, bar, ` ${(100 * chance).toFixed(1)}%`)));
  }
  const title = element("caption", {}, prefix ? "touched" : "as it is");
  return element("table", {}, title, element("tbody", {}, ...rows));
}

export function draw() {
  const { found, token } = inside.state;
  if (!found) { own.content.replaceChildren(element("p", { class: "empty" }, "Choose a byte of the text.")); return; }
  const lists = [list(found, "", token)];
  if (found.touched) lists.push(list(found, "touched.", token));
  own.content.replaceChildren(element("div", { class: "pair" }, ...lists));
}
