// Interventions, whose effect every panel shows beside the original model.

import { button, element, panel, setText } from "./dom.js";
import { prose } from "./math.js";
import { interventions, ranges, untouched } from "./state.js";

const own = panel("intervene", "Intervene", "Change the model while it runs. Every panel then shows both: the original and the one with the intervention.");
let inside;

const slider = (id, step) => element("input", { type: "range", id: `intervene-${id}`, min: ranges[id][0], max: ranges[id][1], step });
const inputs = {
  tau: slider("tau", 0.05),
  flat: slider("flat", 0.05),
  held: element("input", { type: "text", id: "intervene-held", placeholder: "0-9, 40", size: 10 }),
  turn: slider("turn", 0.01),
};
const outputs = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, element("output", { for: input.id })]));
const words = { tau: (x) => x.toFixed(2), flat: (x) => `${Math.round(100 * x)}%`, turn: (x) => `${x.toFixed(2)} rad`, held: () => "" };
// Where the last change was made; it stays there when another byte or layer is chosen.
const place = element("p", { class: "count", id: "intervene-place" });
const reset = button("intervene-reset", "Reset", () => {
  inside.state.intervene = { ...untouched };
  inside.changed();
  inside.ask();
  draw();
});

export function start(given) {
  inside = given;
  const row = (name, title) => element("label", {}, element("span", {}, ...prose(title)), inputs[name], outputs[name]);
  own.content.append(
    element("fieldset", {}, element("legend", {}, "all layers"), row("tau", "scale $τ$ by")),
    element("fieldset", {}, element("legend", {}, "the layer shown"), row("flat", "uniform coupling"), row("held", "hold oscillators at 0"), row("turn", "rotate the chosen byte")),
    place, reset);
  for (const [name, input] of Object.entries(inputs)) {
    input.addEventListener("input", () => {
      const { layer, token, intervene } = inside.state;
      intervene[name] = name === "held" ? input.value : +input.value;
      Object.assign(intervene, { layer, token });
      inside.changed();
      inside.ask();
      draw();
    });
  }
  return own.node;
}

export function draw() {
  const { intervene, found } = inside.state;
  own.filled(true);
  for (const [name, input] of Object.entries(inputs)) {
    if (document.activeElement !== input && input.value !== `${intervene[name]}`) input.value = intervene[name];
    setText(outputs[name], words[name](intervene[name]));
  }
  const made = interventions(inside.state);
  const local = made.interventions.length > 0;
  reset.disabled = !local && !made.changes.length;
  setText(place, local ? `At layer ${intervene.layer}${found && intervene.layer >= found.layers ? " (the last state)" : ""}${intervene.turn ? `, byte ${intervene.token}` : ""}; moves to the layer and byte shown with the next change.` : "");
}
