// The page: two views and the address.

import * as address from "./address.js";
import { access } from "./api.js";
import { button } from "./dom.js";
import * as inside from "./inside.js";
import { say } from "./notice.js";
import * as runs from "./runs.js";
import * as tour from "./tour.js";

const views = ["inside", "runs"];
let view = "inside";
let chosen = false;

function show(name) {
  view = name;
  for (const other of views) {
    document.getElementById(`view-${other}`).hidden = other !== name;
    const tab = document.getElementById(`tab-${other}`);
    tab.setAttribute("aria-selected", other === name);
    tab.tabIndex = other === name ? 0 : -1;
  }
  address.remember(() => view);
}

for (const [i, name] of views.entries()) {
  const tab = document.getElementById(`tab-${name}`);
  tab.addEventListener("click", () => { chosen = true; show(name); });
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = document.getElementById(`tab-${views[(i + step + views.length) % views.length]}`);
    next.focus();
    next.click();
  });
}

document.getElementById("tools").append(
  button("copy", "Copy link", async () => {
    // Pages that are not served safely have no clipboard.
    await (navigator.clipboard?.writeText(address.link(view)) ?? Promise.reject()).then(
      () => say(access().token ? "The link is copied. It holds the token: whoever has it can read these runs." : "The link is copied."),
      () => say(`The browser does not let the page copy. This is the link: ${address.link(view)}`));
  }, { title: "A link to this run, text, byte, layer and interventions" }),
  button("show-tour", "Tour", () => { show("inside"); tour.start(); }));

// Another link in the same tab changes only what comes after the #.
addEventListener("hashchange", () => location.reload());

const named = address.restore();
chosen = views.includes(named);
show(chosen ? named : "inside");
inside.onChange(() => address.remember(() => view));
inside.start();
runs.start((found) => {
  // Who has a run training wants to see that.
  if (!chosen && found.some((run) => run.status === "training")) show("runs");
  if (!chosen && found.length && view === "inside") tour.offer();
  chosen = true;
  inside.showRuns(found);
}, (id) => { show("inside"); inside.chooseRun(id); }, inside.back);
