// The page: two views, one notice line.

import * as inside from "./inside.js";
import * as runs from "./runs.js";

const notice = document.getElementById("notice");
export function say(text) {
  notice.textContent = text;
  notice.hidden = !text;
}

const views = ["runs", "inside"];
function show(view) {
  for (const name of views) {
    document.getElementById(`view-${name}`).hidden = name !== view;
    document.getElementById(`tab-${name}`).setAttribute("aria-selected", name === view);
  }
}
for (const [i, name] of views.entries()) {
  const tab = document.getElementById(`tab-${name}`);
  tab.addEventListener("click", () => show(name));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = document.getElementById(`tab-${views[(i + step + views.length) % views.length]}`);
    next.focus();
    next.click();
  });
}

inside.start(say);
runs.start(inside.showRuns, say);
