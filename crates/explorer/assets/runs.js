// Every run under the folder, live: a list to tick, and curves of what is ticked.

import * as api from "./api.js";
import { chart, dashed, dotted, smooth } from "./chart.js";
import { series } from "./colour.js";
import { button, element, panel } from "./dom.js";
import { fail, isSignedOut, say } from "./notice.js";
import { table } from "./table.js";

const list = document.getElementById("run-list");
const charts = document.getElementById("charts");
const smoothing = document.getElementById("smoothing");
const logAxis = document.getElementById("log-axis");

// What is known of the runs: rows by id, and how much of each file that is.
const known = new Map();
// Colours of the ticked runs by id.
const ticked = new Map();
let runs = [];
let stop;
let onRuns = () => {};
let onOpen = () => {};
let onBack = () => {};
let lost = false;

const panels = [
  ["bits", "Bits per byte", "Loss of training batches (solid) and of the validation split (dashed); lower is better. Dotted: the least that is possible, where the corpus tells.", "bits per byte"],
  ["speed", "Speed", "Bytes read in a second while training.", "bytes / s"],
  ["utilisation", "Utilisation", "Share of the machine's multiply-add peak.", "share"],
  ["gradient", "Gradient norm", "Global norm of the gradient before clipping.", "norm"],
  ["tau", "Score scale $τ$", "How sharply tokens choose whom to couple with, at each validation.", "$τ$"],
  ["radii", "Radii $r_1$ and $r_2$", "Largest steps of the two bounded increments, by layer, at each validation ($r_2$ dashed).", "radians"],
  ["rates", "Mean drift $|ω|$", "Mean size of each layer's drift rates, at each validation.", "radians / byte"],
].map(([id, title, says, y]) => ({ id, y, ...panel(`curve-${id}`, title, says) }));
charts.append(...panels.map((one) => one.node));

const overview = table(line);
list.append(overview.node);

// `listener` gets the runs whenever they change; `open` the run to look inside of; `back` is called when a lost connection is back.
export function start(listener, open, back) {
  smoothing.addEventListener("input", draw);
  logAxis.addEventListener("change", draw);
  [onRuns, onOpen, onBack] = [listener, open, back];
  for (const one of panels) one.filled(true);
  watch();
}

// One stream for all: it is opened anew when other runs are ticked.
async function watch() {
  stop?.abort();
  const own = new AbortController();
  stop = own;
  while (!own.signal.aborted && !isSignedOut()) {
    const watched = Object.fromEntries([...ticked.keys()].map((id) => [id, known.get(id)?.read ?? 0]));
    try {
      await api.rows(watched, (event) => {
        for (const [id, rows] of Object.entries(event.rows)) add(id, rows);
        if (event.runs) setRuns(event.runs);
        draw();
        if (lost) {
          lost = false;
          say("", "connection");
          onBack();
        }
      }, own.signal);
    } catch (error) {
      if (own.signal.aborted) return;
      // Said once: who dismissed it knows.
      if (!lost) fail(error instanceof TypeError ? new api.NotConnected("The connection to the program broke off.") : error, "connection");
      lost = true;
    }
    await new Promise((done) => setTimeout(done, 1000));
  }
}

function add(id, rows) {
  // A resumed run writes again what came after its checkpoint: what is new replaces what was there.
  const first = rows.steps[0]?.step ?? Infinity;
  const old = known.get(id) ?? { steps: [], validations: [] };
  known.set(id, {
    read: rows.read,
    steps: [...old.steps.filter((s) => s.step < first), ...rows.steps],
    validations: [...old.validations.filter((row) => row.step < first), ...rows.validations],
  });
}

function setRuns(found) {
  const first = runs.length === 0;
  runs = found;
  if (first && runs.length && !ticked.size) {
    const newest = [...runs].sort((a, b) => (b.status === "training") - (a.status === "training") || (b.started ?? "").localeCompare(a.started ?? ""))[0];
    tick(newest.id);
    watch();
  }
  overview.show(runs);
  onRuns(runs);
}

// The first colour that is free, so that few runs are never drawn alike.
function tick(id) {
  const taken = [...ticked.values()];
  ticked.set(id, series.find((colour) => !taken.includes(colour)) ?? series[ticked.size % series.length]);
}

// The first cell of a run's row.
function line(id) {
  const box = element("input", { type: "checkbox", "data-run": id, onchange: () => {
    if (box.checked) tick(id);
    else {
      ticked.delete(id);
      known.delete(id);
    }
    watch();
    overview.show(runs);
    draw();
  } });
  const swatch = element("span");
  const open = button("", "Look inside", () => onOpen(id), { class: "small", "data-open": id });
  return {
    node: element("span", { class: "run" }, element("label", {}, box, swatch, id), open),
    draw(run) {
      box.checked = ticked.has(id);
      swatch.className = box.checked ? `swatch ${ticked.get(id)}` : "";
      open.hidden = run.model !== "kuramoto" || !run.checkpoints.length;
    },
  };
}

// "layers.0.log_r1" as a formula.
function named(parameter) {
  const [, layer, rest] = parameter.match(/^(?:layers\.(\d+)\.)?(.*)$/);
  const symbol = { tau: "$τ$", log_r1: "$r_1$", log_r2: "$r_2$", "omega.mean": "mean $|ω|$" }[rest] ?? rest;
  return layer === undefined ? symbol : `layer ${layer} ${symbol}`;
}

function draw() {
  const amount = smoothing.value / 101;
  const each = (of) => runs.filter((run) => ticked.has(run.id)).flatMap((run) => of(run, known.get(run.id) ?? { steps: [], validations: [] }, ticked.get(run.id)));
  const curve = (key) => each((run, rows, colour) => [{ name: run.id, colour, points: smooth(rows.steps.map((s) => [s.step, s[key]]), amount) }]);
  const parameters = (pattern, dash, as = (x) => x) => {
    // Colours go on from run to run, so that the layers of two runs can be distinguished.
    let place = 0;
    return each((run, rows, colour) => {
      const names = new Set(rows.validations.flatMap((row) => Object.keys(row.parameters ?? {})).filter((name) => pattern.test(name)));
      return [...names].map((name) => ({ name: `${run.id} ${named(name)}`, dash,
        colour: names.size > 1 ? series[place++ % series.length] : colour, points: rows.validations.map((row) => [row.step, as(row.parameters?.[name])]) }));
    });
  };
  const curves = {
    bits: [
      ...curve("train"),
      ...each((run, rows, colour) => [{ name: `${run.id} validation`, colour, dash: dashed, points: rows.validations.map((row) => [row.step, row.validation_bits_per_byte]) }]),
      ...each((run, rows) => run.floor_bits_per_byte == null || !rows.steps.length ? [] : [{ name: `${run.id} floor`, colour: "floor", dash: dotted, level: true,
        points: [[rows.steps[0].step, run.floor_bits_per_byte], [rows.steps.at(-1).step, run.floor_bits_per_byte]] }]),
    ],
    speed: curve("speed"),
    utilisation: curve("utilisation"),
    gradient: curve("gradient_norm"),
    tau: parameters(/^tau$/),
    // Stored as logarithms.
    radii: [...parameters(/log_r1$/, undefined, Math.exp), ...parameters(/log_r2$/, dashed, Math.exp)],
    rates: parameters(/omega/),
  };
  for (const one of panels) chart(one, { name: one.id, x: "step", y: one.y, lines: curves[one.id], log: logAxis.checked });
}
