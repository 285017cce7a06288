// Who pulls the chosen byte: the exact terms of its step.

import { name } from "./bytes.js";
import { element, panel } from "./dom.js";
import { pulling } from "./pulling.js";
import { coupled } from "./state.js";

const own = panel("pulls", "Pulls on the chosen byte", "$A_tu sin(θ_uj − θ_tj) v_tj$ over all oscillators: which bytes $u$ pull byte $t$, how strongly (radians), and whether they attract (up to +1) or repel (down to −1). They add up to its step.");
let inside;

export const start = (given) => { inside = given; return own.node; };

export function draw() {
  const { found } = inside.state;
  if (!own.filled(found)) return;
  const { answer, error, ...asked } = pulling(draw);
  if (error) own.content.replaceChildren(element("p", { class: "empty" }, error.message));
  else if (!answer) own.content.replaceChildren(element("p", { class: "empty" }, "Computing…"));
  else own.content.replaceChildren(...(answer.touched ? [of(answer, asked, "original", 6), of(answer.touched, asked, "with intervention", 6)] : [of(answer, asked, "", 14)]));
}

// `token`, `bytes` and `layers` are those of the question, which may be older than what is chosen now.
function of(model, { token, bytes, layers }, title, most) {
  const pulls = model.layers[coupled(layers, inside.state.layer)].filter((pull) => pull.by !== token).slice(0, most);
  const longest = Math.max(...pulls.map((pull) => pull.size), 1e-9);
  const rows = pulls.map((pull) => {
    const bar = element("span", { class: pull.attraction < 0 ? "bar repels" : "bar" });
    bar.style.width = `${(44 * pull.size) / longest}px`;
    const letter = element("button", { type: "button", class: "link", title: "Choose this byte", onclick: () => inside.select(pull.by) }, `${name(bytes[pull.by])}`);
    return element("tr", {}, element("td", {}, letter, ` ${pull.by}`), element("td", { class: "number" }, `${token - pull.by}`),
      element("td", { class: "number" }, pull.coupling.toFixed(3)), element("td", {}, bar, ` ${pull.size.toFixed(4)}`),
      element("td", { class: "number" }, `${pull.attraction < 0 ? "−" : "+"}${Math.abs(pull.attraction).toFixed(2)}`));
  });
  const head = ["byte", "back", "coupling", "pull (rad)", "attraction"].map((column, i) => element("th", { scope: "col", class: [1, 2, 4].includes(i) ? "number" : "" }, column));
  const table = element("table", {}, element("caption", { hidden: !title }, title), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  return rows.length ? element("div", { class: "wide" }, table) : element("p", { class: "empty" }, "The first byte has no byte before it that could pull it.");
}
