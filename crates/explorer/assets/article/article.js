// The article: one text, read by one model, shown by every figure.

import * as api from "../api.js";
import { name, placeAfter, read, tokenBefore } from "../bytes.js";
import { element, setText as write } from "../dom.js";
import { prose } from "../math.js";
import { newest } from "../newest.js";
import * as notice from "../notice.js";
import { asQuestion, state } from "../state.js";
import * as text from "../text.js";
import { visible } from "../visible.js";
import * as ablate from "./ablate.js";
import * as ablations from "./ablations.js";
import * as bound from "./bound.js";
import * as classical from "./classical.js";
import * as comparison from "./comparison.js";
import * as coupling from "./coupling.js";
import * as curves from "./curves.js";
import * as drift from "./drift.js";
import { fill } from "./filled.js";
import * as gates from "./gates.js";
import * as journey from "./journey.js";
import * as order from "./order.js";
import { slider } from "./parts.js";
import * as phases from "./phases.js";
import * as pull from "./pull.js";
import * as readout from "./readout.js";
import * as score from "./score.js";
import * as steps from "./steps.js";

const figures = { journey, phases, score, gates, drift, coupling, pull, classical, bound, steps, readout, order, ablate, ablations, comparison, curves };
const model = "enwik8-kuramoto-1m";
const inView = visible(() => ask());
const fail = (error) => notice.fail(error, "question");
const where = element("output", { id: "where" });
const layer = slider("layer", "layer", { min: 0, max: 3, step: 1, value: 0 }, (x) => `${x}`, (x) => { state.layer = x; draw(); });
const reset = element("button", { id: "reset-text", type: "button", class: "small" }, "Reset");
const explorer = element("a", { id: "to-explorer", href: "../index.html" }, "in the explorer");
const sample = document.body.dataset.text;
let reader;
let known = "";

// A slider may be moved while there is no text, or before what its figure needs is there.
const has = (parts) => state.found !== null && parts.every((part) => state.found.parts.has(part));
const article = { state, select, setText, fail, has };

// Formulas between dollar signs, wherever the prose has them.
function typeset() {
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const found = [];
  while (walk.nextNode()) if (walk.currentNode.data.includes("$")) found.push(walk.currentNode);
  for (const node of found) node.replaceWith(...prose(node.data));
}

function setText(to, caret = to.length) {
  state.text = to;
  state.reading = read(to, reader);
  state.aim = tokenBefore(state.reading, caret);
  text.draw();
  ask();
}

// The chosen byte is the one before the caret, or one that was clicked.
function select(token, { caret = true } = {}) {
  const last = state.reading.bytes.length - 1;
  if (last < 0) return;
  state.aim = Math.min(Math.max(token, 0), last);
  if (caret) text.setCaret(placeAfter(state.reading, state.aim));
  if (state.found?.reading !== state.reading || state.token === state.aim) return;
  state.token = state.aim;
  draw();
}

const ask = newest(async (isOld) => {
  const question = asQuestion();
  const { reading } = state;
  if (!reader || !question.text) return show(null);
  const key = question.text;
  const same = key === known && state.found;
  const parts = [...new Set([...text.parts, ...inView.all().flatMap((figure) => figure.parts)])].filter((part) => !same || !state.found.parts.has(part));
  if (same && !parts.length) return show({ ...state.found, reading });
  text.busy(true);
  try {
    const found = await api.inspect({ ...question, parts });
    if (!same) notice.say("", "question");
    known = key;
    show(same ? { ...state.found, ...found, reading, parts: new Set([...state.found.parts, ...parts]) } : { ...found, reading, parts: new Set(parts) });
  } catch (error) {
    if (isOld()) return;
    known = "";
    fail(error);
    show(null);
  } finally {
    text.busy(isOld());
  }
});

function show(found) {
  state.found = found;
  if (found) {
    state.token = Math.min(state.aim, found.n - 1);
    state.layer = Math.min(state.layer, found.layers - 1);
    layer.input.max = found.layers - 1;
  }
  draw();
}

function draw() {
  const { found, token } = state;
  text.draw();
  document.body.classList.toggle("no-text", !found);
  write(where, found ? `byte ${token} “${name(found.reading.bytes[token])}”` : "");
  const held = { view: "inside", run: model, text: state.text, byte: token, layer: state.layer };
  explorer.href = `../index.html#${new URLSearchParams(held)}`;
  if (!found) return;
  for (const figure of inView.all()) if (has(figure.parts)) figure.draw();
}

async function start() {
  typeset();
  document.getElementById("reader").append(text.start(article), element("div", { class: "controls" }, where, layer.node, element("span", { class: "links" }, reset, explorer)));
  reset.addEventListener("click", () => setText(sample));
  for (const [id, figure] of Object.entries(figures)) {
    const node = document.getElementById(`figure-${id}`);
    figure.start(article, node);
    inView.watch(node, figure);
  }
  fill().catch(fail);
  state.run = model;
  state.listed = true;
  try {
    const { vocabulary, context } = await api.about(model);
    reader = { vocabulary: new Set(vocabulary), context };
    setText(sample);
  } catch (error) {
    fail(error);
  }
}

start();
