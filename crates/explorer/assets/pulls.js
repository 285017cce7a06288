// Who pulls the chosen byte: the exact terms of its step, and the coalition it is in.

import { json } from "./api.js";
import { element, panel } from "./dom.js";
import { coupled } from "./inside.js";

const own = panel("Pulls", "A_tu sin(theta_u - theta_t) v_t, summed up over oscillators: which bytes pull the chosen one, how strongly (radians), and whether they attract (arrow towards) or repel (arrow away).");
let inside;
let known = "";
let answer;
let stop;

export const start = (given) => { inside = given; return own.node; };

export function draw() {
  const { found, token, run, text } = inside.state;
  if (!found) { own.content.replaceChildren(element("p", { class: "empty" }, "Choose a byte of the text.")); return; }
  const question = { question: inside.asQuestion(), token, locking: 0.9 };
  const key = JSON.stringify(question);
  if (key !== known && run && text) {
    known = key;
    answer = undefined;
    stop?.abort();
    const signal = (stop = new AbortController()).signal;
    // A moment later, so that who types has the machine for the text itself.
    setTimeout(() => signal.aborted || json("api/pulls", question, signal)
      .then((pulls) => { answer = pulls; show(); })
      .catch((error) => { if (!signal.aborted) own.content.replaceChildren(element("p", { class: "empty" }, error.message)); }), 150);
  }
  show();
}

function show() {
  const { found } = inside.state;
  if (!answer || !found) return;
  own.content.replaceChildren(...(answer.touched ? [...of(answer, "as it is", 5), ...of(answer.touched, "touched", 5)] : of(answer, "", 10)));
}

// The table and the coalition of one model.
function of(model, title, most) {
  const { found, layer, token } = inside.state;
  const { bytes } = found;
  const name = (t) => { const c = String.fromCharCode(bytes[t]); return /[!-~]/.test(c) ? c : bytes[t] === 32 ? "␣" : `0x${bytes[t].toString(16)}`; };
  const pulls = model.layers[coupled(found, layer)].filter((pull) => pull.by !== token).slice(0, most);
  const longest = Math.max(...pulls.map((pull) => pull.size), 1e-9);
  const rows = pulls.map((pull) => {
    const bar = element("span", { class: pull.attraction < 0 ? "bar repels" : "bar" });
    bar.style.width = `${(100 * pull.size) / longest}px`;
    const arrow = pull.attraction < 0 ? "← away" : "→ towards";
    return element("tr", {}, element("td", {}, `${name(pull.by)} (${pull.by})`), element("td", { class: "number" }, `${token - pull.by}`),
      element("td", { class: "number" }, pull.coupling.toFixed(3)), element("td", {}, bar, ` ${pull.size.toFixed(4)}`),
      element("td", {}, `${arrow} ${Math.abs(pull.attraction).toFixed(2)}`));
  });
  const head = ["byte", "back", "coupling", "pull (radians)", "direction"].map((title) => element("th", { scope: "col" }, title));
  const table = element("table", {}, element("caption", { hidden: !title }, title), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  const groups = model.coalition.map((group, at) => `${at < found.layers ? `entering ${at}` : "after the last"}: ` +
    (group.tokens.length > 1 ? `${group.tokens.length} bytes, ${group.tokens.slice(0, 24).map(name).join("")}` : "alone"));
  return [
    rows.length ? element("div", { class: "wide" }, table) : element("p", { class: "empty" }, "The first byte has nobody to pull it."),
    element("p", { class: "count" }, `Coalition (locking at least 0.9)${title && `, ${title}`}: ${groups.join("; ")}`)];
}
