// The pulls on the chosen byte and its coalitions: asked for once, for all panels that show them.

import * as api from "./api.js";
import { asQuestion, state } from "./state.js";

export const threshold = 0.9;
const listeners = new Set();
let known = "";
let stop;
// What is known: { answer, token, bytes, layers } or { error }, or nothing yet.
let now = {};
const nothing = {};

// What is there stays until the next answer, but not of another model.
const shown = (question) => (now.model === modelOf(question) ? now : nothing);
const modelOf = ({ question: { run, checkpoint } }) => `${run} ${checkpoint}`;

// Returns what is known, and calls `changed` when there is more.
export function pulling(changed) {
  listeners.add(changed);
  const question = { question: asQuestion(), token: state.token, locking: threshold };
  const key = JSON.stringify(question);
  if (key === known || state.found?.reading !== state.reading) return shown(question);
  known = key;
  const { layers, reading: { bytes } } = state.found;
  stop?.abort();
  const { signal } = (stop = new AbortController());
  // A moment later, so that who types has the machine for the text itself. What was there stays until then.
  setTimeout(async () => {
    if (signal.aborted) return;
    const next = await api.pulls(question, signal).then((answer) => ({ answer, token: question.token, bytes, layers }), (error) => ({ error }));
    if (signal.aborted) return;
    now = { ...next, model: modelOf(question) };
    listeners.forEach((listener) => listener());
  }, 150);
  return shown(question);
}

// What failed for want of a connection can be asked again.
export function retry() {
  if (now.error) known = "";
}
