// Inside a model: a text runs through it, and every panel shows a part of the result.
//
// A question names the parts that the panels in view need; a panel that comes into view asks for what it lacks.

import * as api from "./api.js";
import { tokenBefore, placeAfter, read } from "./bytes.js";
import * as coalitions from "./coalitions.js";
import * as continues from "./continue.js";
import * as controls from "./controls.js";
import * as coupling from "./coupling.js";
import * as drift from "./drift.js";
import * as intervene from "./intervene.js";
import { newest } from "./newest.js";
import * as next from "./next.js";
import { fail, say } from "./notice.js";
import * as order from "./order.js";
import * as oscillators from "./oscillators.js";
import * as phases from "./phases.js";
import { retry } from "./pulling.js";
import * as pulls from "./pulls.js";
import { asQuestion, state } from "./state.js";
import * as text from "./text.js";
import { visible } from "./visible.js";

const deck = [controls, text, next];
const panels = [oscillators, pulls, intervene, continues, phases, coupling, coalitions, order, drift];
const inView = visible(() => ask());
const listeners = [];
// What each run's model reads; asked for once.
const readers = new Map();
const anything = { vocabulary: new Set(Array.from({ length: 256 }, (_, i) => i)), context: 1024 };
// The question that `state.found` answers.
let known = "";
let runs = [];
let sampled = "";
// While the run's own text is fetched.
let sampling = false;

export function start() {
  const own = { state, select, toLayer, setText, ask, chooseRun, chooseStep, changed };
  document.getElementById("deck").append(...deck.map((part) => part.start(own)));
  const nodes = new Map(panels.map((part) => [part, part.start(own)]));
  document.getElementById("acting").append(nodes.get(intervene), nodes.get(continues));
  const board = document.getElementById("board");
  for (const [part, node] of nodes) {
    if (!node.isConnected) board.append(node);
    inView.watch(node, part);
  }
  // After the first two: what is seen of a byte, then what can be done.
  board.insertBefore(document.getElementById("acting"), nodes.get(phases));
  draw();
}

// Called after every change that a link should hold.
export const onChange = (listener) => listeners.push(listener);
const changed = () => listeners.forEach((listener) => listener());

// Only Kuramoto models have phases.
const usable = (run) => run.model === "kuramoto" && run.checkpoints.length > 0;

// One that trains, else the newest, else the largest.
const best = () => [...runs].sort((a, b) => (b.status === "training") - (a.status === "training")
  || (b.started ?? "").localeCompare(a.started ?? "") || b.parameters - a.parameters)[0];

export function showRuns(found) {
  const before = runs.some((run) => run.id === state.run);
  state.listed = true;
  runs = found.filter(usable);
  const own = runs.find((run) => run.id === state.run);
  controls.offer(runs);
  // Another run may come to have the same name.
  for (const id of readers.keys()) if (!runs.some((run) => run.id === id)) readers.delete(id);
  if (!own) {
    const other = best();
    const why = found.some((run) => run.id === state.run) ? "has no phases or no checkpoint" : "is not there";
    if (state.run) say(`The run ${state.run} ${why}${other ? `: this is ${other.id}` : ""}.`);
    state.run = "";
    if (other) chooseRun(other.id);
    else show(null);
  } else if (!before) chooseRun(own.id);
  // Checkpoints come and go while a run trains: the chosen one stays, or gives way to the newest.
  else if (!own.checkpoints.includes(state.step)) chooseStep(own.checkpoints.at(-1));
}

export function chooseRun(id) {
  const own = runs.find((run) => run.id === id);
  const same = state.run === id;
  state.run = id;
  // A link may name the step.
  if (!same || !own.checkpoints.includes(state.step)) state.step = own.checkpoints.at(-1);
  controls.draw();
  changed();
  readAs(id);
}

async function readAs(id) {
  if (!readers.has(id)) {
    const about = await api.about(id).catch(fail);
    // It is asked again when the run is chosen again, or the connection is back.
    if (!about) return;
    readers.set(id, { ...about, vocabulary: new Set(about.vocabulary) });
  }
  if (state.run !== id) return;
  state.layers = readers.get(id).layers;
  if (state.text) reread();
  // Until somebody types, the text is one that the run's own model wrote.
  if (state.text && state.text !== sampled) return;
  const before = state.text;
  sampling = true;
  const sample = await api.sample(id).catch(() => "");
  sampling = false;
  if (state.run !== id || state.text !== before) return;
  if (!sample) return draw();
  sampled = sample;
  setText(sample);
}

function chooseStep(step) {
  state.step = step;
  controls.draw();
  changed();
  ask();
}

// A text, and the place of the caret in it (its end if there is none).
export function setText(to, caret = to.length) {
  state.text = to;
  reread(caret);
}

function reread(caret) {
  state.reading = read(state.text, readers.get(state.run) ?? anything);
  if (caret !== undefined) state.aim = tokenBefore(state.reading, caret);
  text.draw();
  changed();
  ask();
}

export const ask = newest(inspect);

// After the connection was lost.
export function back() {
  retry();
  if (state.run && !readers.has(state.run)) readAs(state.run);
  else ask();
}

async function inspect(isOld) {
  const question = asQuestion();
  const { reading, run } = state;
  if (!run || !question.text || !readers.has(run)) return show(null);
  const key = JSON.stringify(question);
  const same = key === known && state.found;
  const parts = [...new Set([...deck, ...inView.all()].flatMap((part) => part.parts ?? []))].filter((part) => !same || !state.found.parts.has(part));
  if (same && !parts.length) return show({ ...state.found, reading });
  text.busy(true);
  if (!state.found) draw();
  try {
    const found = await api.inspect({ ...question, parts });
    // What is on the page must not pass for the answer to a question that has none.
    if (!same) say("", "question");
    known = key;
    show(same ? { ...state.found, ...found, reading, parts: new Set([...state.found.parts, ...parts]) } : { ...found, reading, parts: new Set(parts) });
  } catch (error) {
    // A text that cannot be read any more, or not yet, says nothing about the one that is there now.
    if (isOld()) return;
    known = "";
    fail(error, "question");
    show(null);
  } finally {
    text.busy(isOld());
  }
}

function show(found) {
  state.found = found;
  if (found) {
    state.token = Math.min(state.aim, found.n - 1);
    state.layer = Math.min(state.layer, found.layers);
  }
  draw();
}

// A byte chosen other than by the caret, which follows.
function select(token, { caret = true } = {}) {
  const last = state.reading.bytes.length - 1;
  if (last < 0) return;
  state.aim = Math.min(Math.max(Math.trunc(token), 0), last);
  if (caret) text.setCaret(placeAfter(state.reading, state.aim));
  changed();
  // Of a text that the model has not read yet nothing can be shown.
  if (state.found?.reading !== state.reading || state.token === state.aim) return;
  state.token = state.aim;
  draw();
}

export function toLayer(to) {
  if (!state.found) return;
  state.layer = Math.min(Math.max(to, 0), state.found.layers);
  changed();
  draw();
}

function draw() {
  // An answer on its way is not an empty text.
  document.getElementById("board").classList.toggle("inviting", state.listed && !sampling && !state.reading.sent);
  for (const part of deck) part.draw();
  for (const part of inView.all()) drawPanel(part);
}

// A panel is drawn if it is in view and has all it needs.
function drawPanel(part) {
  const { found } = state;
  if (!found || (part.parts ?? []).every((name) => found.parts.has(name))) part.draw();
}

