// Which texts the reader's graphics card reads, if there is one: those that it reads sooner than WebAssembly does.

import { decode } from "./safetensors.js";
import { Pass, open } from "./webgpu.js";

// With ?card=any a program that pretends to be a card will do, and it reads everything: for tests.
const any = new URLSearchParams(location.search).get("card") === "any";
const device = open(any);
// By the path of a model, the newest last. Nothing where there is no card or none that can do it.
const readers = new Map();
// Models that stay on the card, as many as in the WebAssembly module.
const most = 3;

// Tokens from which on the time of WebAssembly says something.
const enough = 64;

// Gets a card ready for a model; `fetched` returns a file of the site. Takes a while, which nothing waits for.
export async function prepare(run, path, fetched) {
  if (readers.has(path)) return;
  const made = (async () => {
    if (!await device) return null;
    const [plan, weights] = await Promise.all([fetched(`${run}/plan.json`, "json"), fetched(`${path}.safetensors`, "arrayBuffer")]);
    return { pass: await Pass.of(await device, plan, decode(weights)), card: 0, module: Infinity };
  })().catch(() => null);
  readers.set(path, made);
  for (const old of [...readers.keys()].slice(0, -most)) forget(old);
  const reader = await made;
  if (readers.get(path) === made) readers.set(path, reader);
  else reader?.pass.destroy();
}

function forget(path) {
  const reader = readers.get(path);
  readers.delete(path);
  reader?.pass?.destroy();
}

// The text that was read last, and how much of the next one WebAssembly would have to compute.
let last = { path: "", tokens: [] };
function following(path, tokens) {
  const same = last.path === path ? tokens.findIndex((token, at) => token !== last.tokens[at]) : 0;
  last = { path, tokens };
  return same < 0 ? 1 : tokens.length - same;
}

// Answers about some tokens: with `computed`, given what the card left of them, or with `own` alone.
export async function answered(path, tokens, computed, own) {
  const rest = following(path, tokens);
  const reader = any ? await readers.get(path) : readers.get(path);
  const ready = reader?.pass && tokens.length <= reader.pass.plan.context;
  if (ready && (any || !reader.card || reader.card < rest * reader.module)) {
    const before = performance.now();
    const values = await reader.pass.run(tokens).catch(() => null);
    reader.card = performance.now() - before;
    // A card that is lost stays lost.
    if (values) await computed(values);
    else if (readers.get(path) === reader) readers.set(path, null);
    return own();
  }
  const before = performance.now();
  const answer = await own();
  if (ready && rest >= enough) reader.module = Math.min(reader.module, (performance.now() - before) / rest);
  return answer;
}
