// Runs models for a page without a server: answers the messages of wasm.js with the WebAssembly module
// (crates/web/src/exports.rs) and the files that `kuramoto site` wrote.

import { answered, prepare } from "./card.js";

const statuses = { done: 0, refused: 1, notLoaded: 2, ended: 3 };

class NotConnected extends Error {}

// A file beside this one; `kind` is what a response is read as.
async function file(path, kind) {
  const address = new URL(path.split("/").map(encodeURIComponent).join("/"), import.meta.url);
  const response = await fetch(address).catch(() => { throw new NotConnected(`No connection: ${path} cannot be fetched.`); });
  if (!response.ok) throw new Error(`${path} cannot be fetched: the server answered ${response.status}`);
  return response[kind]();
}

// Fetched once; a fetch that failed is tried again when it is next needed.
const known = new Map();
function once(path) {
  if (!known.has(path)) known.set(path, file(path, "json").catch((error) => { known.delete(path); throw error; }));
  return known.get(path);
}
const about = (run) => once(`data/${run}/about.json`);

let compiled;
let started;

// The module, compiled once; started anew after a failure, whose traces its memory may hold.
async function module() {
  compiled ??= file("kuramoto.wasm", "arrayBuffer").then((bytes) => WebAssembly.compile(bytes));
  compiled.catch(() => { compiled = undefined; });
  const ready = await compiled;
  started ??= new WebAssembly.Instance(ready).exports;
  return started;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// Hands over a request of some parts, calls, and returns the status and the response.
function call(exports, parts, name, number) {
  try {
    const bytes = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : new Uint8Array(part)));
    let at = exports.reserve(bytes.reduce((sum, part) => sum + part.length, 0));
    for (const part of bytes) {
      new Uint8Array(exports.memory.buffer).set(part, at);
      at += part.length;
    }
    const status = exports[name](number ?? bytes[0].length);
    return { status, response: new Uint8Array(exports.memory.buffer, exports.response(), exports.response_length()).slice() };
  } catch (cause) {
    started = undefined;
    throw new Error(`this request failed; others are not affected (${cause.message})`);
  }
}

// Fetches a model and hands it to the module; once for all questions that wait for it.
const loading = new Map();
function load(path) {
  if (!loading.has(path)) loading.set(path, loadNow(path).finally(() => loading.delete(path)));
  return loading.get(path);
}
async function loadNow(path) {
  const files = await Promise.all([file(`${path}.json`, "arrayBuffer"), file(`${path}.safetensors`, "arrayBuffer")]);
  const { status, response } = call(await module(), files, "load");
  if (status !== statuses.done) throw new Error(decoder.decode(response));
}

// As `call`, with the model of a question: it is loaded first if it must be. Refusals are errors.
async function withModel(run, checkpoint, ...request) {
  let { status, response } = call(await module(), ...request);
  if (status === statuses.notLoaded) {
    await load(`data/${run}/${checkpoint}`);
    ({ status, response } = call(await module(), ...request));
  }
  if (status === statuses.done || status === statuses.ended) return { status, response };
  throw new Error(decoder.decode(response));
}

async function withoutModel(...request) {
  const { status, response } = call(await module(), ...request);
  if (status === statuses.done) return response;
  throw new Error(decoder.decode(response));
}

// The question with the step in place of "best" or "last".
async function resolved(question) {
  const { best, last } = await about(question.run);
  return { ...question, checkpoint: { best, last }[question.checkpoint ?? "best"] ?? question.checkpoint };
}

async function asked(kind, question) {
  const own = await resolved(question.question ?? question);
  const whole = question.question ? { ...question, question: own } : own;
  return withModel(own.run, own.checkpoint, [kind, JSON.stringify(whole)], "ask");
}

// As `asked`, on the reader's graphics card where there is one and it is faster.
async function inspected(question) {
  const own = await resolved(question);
  const { vocabulary, card } = await about(own.run);
  const tokens = [...encoder.encode(own.text)].map((byte) => vocabulary.indexOf(byte));
  const run = `data/${own.run}`;
  const path = `${run}/${own.checkpoint}`;
  const ask = () => withModel(own.run, own.checkpoint, ["inspect", JSON.stringify(own)], "ask");
  if (!card || !tokens.length || tokens.includes(-1)) return ask();
  prepare(run, path, file);
  const computed = async (values) => withModel(own.run, own.checkpoint, [JSON.stringify(own), values], "computed");
  return answered(path, tokens, computed, ask);
}

const json = ({ response }) => JSON.parse(decoder.decode(response));
const stopped = new Set();

// Lets other messages be read. A timer would do, but browsers make one that is set again and again wait.
const { port1, port2 } = new MessageChannel();
port1.start();
const others = () => new Promise((resolve) => {
  port1.addEventListener("message", resolve, { once: true });
  port2.postMessage(null);
});

// Bytes of a frame of the screen are a part of the answer; between two parts, other messages are read.
async function generate(number, question) {
  const own = await resolved(question.question);
  await withModel(own.run, own.checkpoint, [JSON.stringify({ ...question, question: own })], "begin", number);
  for (let ended = false; !ended && !stopped.has(number); await others()) {
    const messages = [];
    for (const until = performance.now() + 16; !ended && performance.now() < until;) {
      const { status, response } = await withModel(own.run, own.checkpoint, [], "next", number);
      ended = status === statuses.ended;
      if (!ended) messages.push(response.buffer);
    }
    postMessage({ number, value: messages, more: true }, messages);
  }
  (await module()).stop(number);
}

const answers = {
  runs: () => once("data/runs.json"),
  about: (_, run) => about(run),
  rows: (_, run) => once(`data/${run}/rows.json`),
  sample: async (_, run) => {
    const { best } = await about(run);
    return json(await withModel(run, best, ["sample", JSON.stringify([run, best])], "ask"));
  },
  inspect: async (_, question) => (await inspected(question)).response.buffer,
  pulls: async (_, question) => json(await asked("pulls", question)),
  simulate: async (_, question) => (await withoutModel(["simulate", JSON.stringify(question)], "ask")).buffer,
  generate,
};

addEventListener("message", async ({ data: { number, kind, question } }) => {
  if (kind === "stop") {
    stopped.add(number);
    return;
  }
  try {
    const value = await answers[kind](number, question);
    postMessage({ number, value }, value instanceof ArrayBuffer ? [value] : []);
  } catch (error) {
    postMessage({ number, error: error.message, lost: error instanceof NotConnected });
  }
  stopped.delete(number);
});

// Compiling takes a moment, which the page's first question need not wait for.
module().catch(() => {});
