// Questions to the worker that runs models, and their answers.

// A file could not be fetched.
export class Unreachable extends Error {}

const worker = new Worker(new URL(`worker.js${location.search}`, import.meta.url), { type: "module" });
// What waits for the worker, by number.
const waiting = new Map();
let numbers = 0;
let dead;

worker.addEventListener("message", ({ data: { number, value, error, lost, more } }) => {
  const one = waiting.get(number);
  if (more) return one?.onPart(value);
  waiting.delete(number);
  if (error) one?.reject(new (lost ? Unreachable : Error)(error));
  else one?.resolve(value);
});
// The worker's own script is missing or was refused: nothing will ever be answered.
worker.addEventListener("error", (event) => {
  dead = new Error(`the model cannot run in this browser: ${event.message ?? "its worker does not start"}`);
  for (const one of waiting.values()) one.reject(dead);
  waiting.clear();
});

// Parts of an answer go to `onPart`, the rest of it is returned.
export function ask(kind, question, { signal, onPart } = {}) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    if (dead) throw dead;
    const number = numbers++;
    waiting.set(number, { resolve, reject, onPart });
    worker.postMessage({ number, kind, question });
    signal?.addEventListener("abort", () => {
      if (!waiting.delete(number)) return;
      worker.postMessage({ number, kind: "stop" });
      reject(signal.reason);
    }, { once: true });
  });
}
