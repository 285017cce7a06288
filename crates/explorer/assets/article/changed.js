// A question of a figure's own, about the same text with a model that is changed.

import * as api from "../api.js";
import { newest } from "../newest.js";
import { asQuestion, state } from "../state.js";

// `changes()` is { interventions, changes } or nothing; `show(found)` is called with the answer, which has both models, or with
// null if there is no change. What is returned asks, if there is anything new to ask.
export function changedModel(parts, changes, show, fail) {
  let known = "";
  let shown = "";
  let answer = null;
  const ask = newest(async (isOld) => {
    const change = changes();
    const { reading } = state;
    const question = change && reading.sent ? { ...asQuestion(), interventions: [], changes: [], ...change, parts } : null;
    const key = JSON.stringify(question);
    if (key === shown) return;
    try {
      if (key !== known) answer = question ? { ...(await api.inspect(question)), reading } : null;
      known = key;
      // Under the name of what was chosen since then, it would be wrong.
      if (isOld()) return;
      shown = key;
      show(answer);
    } catch (error) {
      if (!isOld()) fail(error);
    }
  });
  return ask;
}
