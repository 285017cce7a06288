// All talk with the back end, as in api.js, for a page without a server: models run in a worker, as WebAssembly, and what
// there is to know of their runs are files beside the page. `kuramoto site` puts this in the place of api.js.

import { ask, Unreachable } from "./asking.js";
import { decode } from "./safetensors.js";

// The files are for everybody.
export function signIn() {}
export const access = () => ({});
export class NotSignedIn extends Error {}
// A file could not be fetched.
export const NotConnected = Unreachable;

// { vocabulary: the bytes that a run's model knows, context: how many it reads at a time }
export const about = (run) => ask("about", run);

// A text that a run's model wrote.
export const sample = (run) => ask("sample", run);

// Arrays and sizes of a text run through a model; `question.parts` names what is wanted.
export const inspect = async (question, signal) => decode(await ask("inspect", question, { signal }));

// Pulls on a byte in every layer, and its coalitions.
export const pulls = (question, signal) => ask("pulls", question, { signal });

// Bytes as they are generated, each with its phases.
export const write = (question, onByte, signal) => ask("generate", question, {
  signal,
  onPart: (messages) => {
    for (const message of messages) {
      const { byte: [byte], phase } = decode(message);
      if (!signal?.aborted) onByte(byte, phase);
    }
  },
});

// The list of runs and the rows of the watched ones, once: nothing here trains. It ends when it is ended, as a server's.
export async function rows(watched, onEvent, signal) {
  const runs = await ask("runs", null, { signal });
  const found = await Promise.all(Object.keys(watched).map(async (run) => [run, await ask("rows", run, { signal })]));
  onEvent({ runs, rows: Object.fromEntries(found.filter(([run, { read }]) => read !== watched[run])) });
  await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true }));
}
