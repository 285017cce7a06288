// Touching the model: interventions, whose effect every panel shows beside the model as it is.

import { element, panel } from "./dom.js";

const own = panel("Touch", "Change the model while it runs: tau scales all scores; coupling of a layer can be made uniform; oscillators held at one phase; the chosen byte turned. Every panel then shows both models.");
let inside;

const slider = (id, low, high, value, step) => element("input", { type: "range", id, min: low, max: high, step, value });
const tau = slider("touch-tau", 0, 2, 1, 0.05);
const flat = slider("touch-flat", 0, 1, 0, 0.05);
const turn = slider("touch-turn", -3.14, 3.14, 0, 0.01);
const held = element("input", { type: "text", id: "touch-held", placeholder: "0-9, 40", size: 10 });
const shown = new Map([tau, flat, turn].map((input) => [input, element("output", { for: input.id })]));
// Where the last change was made; it stays there when another byte or layer is chosen.
const place = element("p", { class: "count" });
const reset = element("button", { id: "touch-reset" }, "Put everything back");

export function start(given) {
  inside = given;
  const row = (title, input) => element("label", {}, title, input, shown.get(input) ?? "");
  own.content.append(
    element("fieldset", {}, element("legend", {}, "all layers"), row("tau × ", tau)),
    element("fieldset", {}, element("legend", {}, "the layer shown"), row("uniform coupling ", flat), row("hold oscillators at 0 ", held), row("turn the chosen byte ", turn)),
    place, reset);
  for (const input of [tau, flat, turn, held]) input.addEventListener("input", change);
  reset.addEventListener("click", () => {
    [tau.value, flat.value, turn.value, held.value] = [1, 0, 0, ""];
    change();
  });
  return own.node;
}

// "0-9, 40" as numbers.
function numbers(text) {
  return text.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map((number) => parseInt(number, 10));
    return Number.isNaN(first) || Number.isNaN(last) ? [] : Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => first + i);
  });
}

function change() {
  const { found, layer, token } = inside.state;
  const interventions = [];
  const at = Math.min(layer, (found?.layers ?? 1) - 1);
  const chosen = numbers(held.value).slice(0, 4096);
  if (+flat.value > 0) interventions.push({ at: `layer.${at}.attention`, action: { flatten: +flat.value } });
  if (chosen.length) interventions.push({ at: `layer.${layer}.phase`, action: { clamp: [0] }, oscillators: chosen });
  if (+turn.value !== 0) interventions.push({ at: `layer.${layer}.phase`, action: { rotate: +turn.value }, tokens: [token] });
  place.textContent = interventions.length ? `acting at layer ${layer}${+turn.value ? `, byte ${token}` : ""}; moves with the next change` : "";
  inside.state.interventions = interventions;
  inside.state.changes = +tau.value === 1 ? [] : [{ "scale-tau": +tau.value }];
  draw();
  inside.ask();
}

export function draw() {
  shown.get(tau).textContent = (+tau.value).toFixed(2);
  shown.get(flat).textContent = `${Math.round(100 * flat.value)}%`;
  shown.get(turn).textContent = `${(+turn.value).toFixed(2)} rad`;
}
