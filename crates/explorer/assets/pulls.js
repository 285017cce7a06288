// Who pulls the chosen byte: the exact terms of its step, and the coalition it is in.

import { json } from "./api.js";
import { element, panel } from "./chart.js";
import { coupled } from "./inside.js";

const own = panel("Pulls", "A_tu sin(theta_u - theta_t) v_t, summed up over oscillators: which bytes pull the chosen one, how strongly (radians), and whether they attract (arrow towards) or repel (arrow away). Of the touched model, if you touched it.");
let inside;
let known = "";
let answer;
let stop;

export const start = (given) => { inside = given; return own.node; };

export function draw() {
  const { found, token, run, text } = inside.state;
  if (!found) { own.content.replaceChildren(element("p", { class: "empty" }, "Choose a byte of the text.")); return; }
  const key = JSON.stringify([inside.asQuestion(), token]);
  if (key !== known && run && text) {
    known = key;
    answer = undefined;
    stop?.abort();
    const signal = (stop = new AbortController()).signal;
    json("api/pulls", { question: inside.asQuestion(), token, locking: 0.9 }, signal)
      .then((told) => { answer = told; show(); })
      .catch((error) => { if (!signal.aborted) own.content.replaceChildren(element("p", { class: "empty" }, error.message)); });
  }
  show();
}

function show() {
  const { found, layer, token } = inside.state;
  if (!answer || !found) return;
  const { bytes } = found;
  const name = (t) => { const c = String.fromCharCode(bytes[t]); return /[!-~]/.test(c) ? c : bytes[t] === 32 ? "␣" : `0x${bytes[t].toString(16)}`; };
  const pulls = answer.layers[coupled(found, layer)].filter((pull) => pull.by !== token).slice(0, 10);
  const most = Math.max(...pulls.map((pull) => pull.size), 1e-9);
  const rows = pulls.map((pull) => {
    const bar = element("span", { class: pull.attraction < 0 ? "bar repels" : "bar" });
    bar.style.width = `${(100 * pull.size) / most}px`;
    const arrow = pull.attraction < 0 ? "← away" : "→ towards";
    return element("tr", {}, element("td", {}, `${name(pull.by)} (${pull.by})`), element("td", { class: "number" }, `${token - pull.by}`),
      element("td", { class: "number" }, pull.coupling.toFixed(3)), element("td", {}, bar, ` ${pull.size.toFixed(4)}`),
      element("td", {}, `${arrow} ${Math.abs(pull.attraction).toFixed(2)}`));
  });
  const head = ["byte", "back", "coupling", "pull (radians)", "direction"].map((title) => element("th", { scope: "col" }, title));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  const groups = answer.coalition.map((group, at) => `${at < found.layers ? `entering ${at}` : "after the last"}: ` +
    (group.tokens.length > 1 ? `${group.tokens.length} bytes, ${group.tokens.slice(0, 24).map(name).join("")}` : "alone"));
  own.content.replaceChildren(
    rows.length ? element("div", { class: "wide" }, table) : element("p", { class: "empty" }, "The first byte has nobody to pull it."),
    element("p", { class: "count" }, `Coalition (locking at least 0.9): ${groups.join("; ")}`));
}
