// The address holds the state of the page, so that a reload and a link show the same.

import { access } from "./api.js";
import { ranges, state, untouched } from "./state.js";

const numeric = (text) => (text !== null && text !== "" && Number.isFinite(+text) ? +text : undefined);
// A place: a byte, a layer, a step.
const whole = (text) => (numeric(text) >= 0 ? Math.trunc(+text) : undefined);

// Takes over what the address holds. Returns the view it names, if any.
export function restore() {
  const given = new URLSearchParams(location.hash.slice(1));
  state.run = given.get("run") ?? "";
  state.step = whole(given.get("step"));
  state.text = given.get("text") ?? "";
  state.aim = whole(given.get("byte")) ?? Infinity;
  state.layer = whole(given.get("layer")) ?? 0;
  for (const [name, [low, high]] of Object.entries(ranges)) state.intervene[name] = Math.min(Math.max(numeric(given.get(name)) ?? untouched[name], low), high);
  state.intervene.held = given.get("held") ?? "";
  state.intervene.layer = whole(given.get("at")) ?? 0;
  state.intervene.token = whole(given.get("on")) ?? 0;
  return given.get("view");
}

function fragment(view) {
  const { run, step, text, aim, token, layer, intervene } = state;
  const held = { view, run, step: step ?? "", text, byte: aim < Infinity ? aim : token, layer };
  for (const name of ["tau", "flat", "turn", "held"]) if (intervene[name] !== untouched[name]) held[name] = intervene[name];
  if (["flat", "turn", "held"].some((name) => name in held)) Object.assign(held, { at: intervene.layer, on: intervene.token });
  return held;
}

let later;
// Browsers refuse to be told the address at every key.
export function remember(view) {
  clearTimeout(later);
  later = setTimeout(() => history.replaceState(null, "", `#${new URLSearchParams(fragment(view()))}`), 250);
}

// A link for somebody else who reaches this server: it has the token.
export const link = (view) => `${location.origin}${location.pathname}#${new URLSearchParams({ ...access(), ...fragment(view) })}`;
