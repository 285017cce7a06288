// Inside a run: a text runs through the real model on the server, and every panel shows a part of the result.

import { arrays } from "./api.js";
import * as carpet from "./carpet.js";
import * as chances from "./chances.js";
import * as circle from "./circle.js";
import * as coupling from "./coupling.js";
import { element } from "./dom.js";
import * as drift from "./drift.js";
import * as order from "./order.js";
import * as pulls from "./pulls.js";
import * as text from "./text.js";
import * as touch from "./touch.js";
import * as write from "./write.js";

const controls = document.getElementById("inside-controls");
const board = document.getElementById("inside-panels");
const parts = [text, order, carpet, coupling, circle, pulls, chances, touch, write, drift];

// What all panels read. `found` is the answer of the server; `layer` may be the last state, one past the layers.
export const state = { run: "", checkpoint: "best", text: "", token: Infinity, layer: 0, found: null, interventions: [], changes: [] };
let runs = [];
let say = () => {};
let asking = false;
let changed = false;
let playing;
let chosen;

const choice = element("select", { id: "inside-run", onchange: () => choose(choice.value) });
const times = element("input", { type: "range", id: "checkpoint", min: 0, max: 0, value: 0, oninput: () => pick() });
const time = element("output", { for: "checkpoint" });
const layers = element("input", { type: "range", id: "layer", min: 0, max: 0, value: 0, oninput: () => toLayer(+layers.value) });
const layer = element("output", { for: "layer" });
const play = element("button", { id: "play", "aria-pressed": "false", onclick: () => animate() }, "Play the layers");

export function start(notice) {
  say = notice;
  controls.append(
    element("label", {}, "Run ", choice),
    element("label", {}, "Checkpoint ", times, time),
    element("label", {}, "Layer ", layers, layer), play);
  for (const part of parts) board.append(part.start({ state, ask, draw, select, asQuestion, say }));
  draw();
}

// Only Kuramoto models have phases.
export function showRuns(found) {
  runs = found.filter((run) => run.model === "kuramoto" && run.checkpoints.length);
  const names = runs.map((run) => run.id);
  if (names.join("\n") !== [...choice.options].map((option) => option.value).join("\n")) {
    choice.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  }
  if (!names.includes(state.run) && names.length) choose(names[0]);
  else choice.value = state.run;
  const own = runs.find((run) => run.id === state.run);
  if (!own) return;
  // Checkpoints come and go while a run trains: the chosen step keeps its place, or gives way to the newest.
  times.max = own.checkpoints.length - 1;
  const place = own.checkpoints.indexOf(chosen);
  times.value = place < 0 ? times.max : place;
  if (place < 0) pick();
}

function choose(id) {
  state.run = id;
  choice.value = id;
  const own = runs.find((run) => run.id === id);
  times.max = own.checkpoints.length - 1;
  times.value = times.max;
  text.offer(id);
  pick();
}

function pick() {
  const own = runs.find((run) => run.id === state.run);
  const step = own?.checkpoints[+times.value];
  chosen = step;
  state.checkpoint = step === undefined ? "best" : `step-${step}`;
  time.textContent = step === undefined ? "" : `step ${step}`;
  ask();
}

export const asQuestion = () => ({ run: state.run, text: state.text, checkpoint: state.checkpoint,
  interventions: state.interventions, changes: state.changes });

// One question at a time, about what is on the page when it is asked: who types faster than the model answers sees the
// newest text next, and what came between is never asked.
async function ask() {
  changed = true;
  if (asking) return;
  asking = true;
  try {
    while (changed) {
      changed = false;
      await inspect();
    }
  } finally {
    // Even if a panel fails, the next key is answered.
    asking = false;
  }
}

async function inspect() {
  const question = asQuestion();
  let found = null;
  let trouble = "";
  try {
    if (question.run && question.text) found = await arrays("api/inspect", question);
  } catch (error) {
    trouble = error.message;
  }
  // A text that cannot be read any more, or not yet, says nothing about the one that is there now.
  if (!found && changed) return;
  say(trouble);
  // What is on the page must not pass for the answer to a question that has none.
  state.found = found && { ...found, bytes: new TextEncoder().encode(question.text) };
  if (!found) return draw();
  state.token = Math.min(state.token, found.n - 1);
  layers.max = found.layers;
  toLayer(Math.min(state.layer, found.layers));
}

function toLayer(to) {
  state.layer = to;
  layers.value = to;
  layer.textContent = state.found && to === state.found.layers ? "after the last" : `entering ${to}`;
  draw();
}

function select(token) {
  if (!state.found) return;
  state.token = Math.min(Math.max(token, 0), state.found.n - 1);
  draw();
}

function draw() {
  for (const part of parts) part.draw();
}

function animate() {
  clearInterval(playing);
  const on = play.getAttribute("aria-pressed") !== "true";
  play.setAttribute("aria-pressed", on);
  if (!on) return;
  toLayer(0);
  playing = setInterval(() => {
    if (!state.found || state.layer >= state.found.layers) {
      clearInterval(playing);
      play.setAttribute("aria-pressed", "false");
    } else toLayer(state.layer + 1);
  }, 700);
}

// Couplings belong to layers; after the last there are those of the last.
export const coupled = (found, at) => Math.min(at, found.layers - 1);
