// All talk with the back end, one function for each message. Here it is the program's server, over HTTP; another back end
// (a model compiled to WebAssembly in a worker) is another module with these exports.

import { Frames, decode } from "./safetensors.js";

const key = "kuramoto-token";

// The link that the server prints has the token after its #; it moves to the browser's store and leaves the address.
const given = new URLSearchParams(location.hash.slice(1));
if (given.has("token")) {
  signIn(given.get("token"));
  given.delete("token");
  history.replaceState(null, "", `${location.pathname}#${given}`);
}

// Kept for this origin, so that a reload and a link in a new tab still have it; it dies with the server.
export function signIn(token) {
  localStorage.setItem(key, token);
}

// What an address must hold besides the state of the page, so that somebody else can open it.
export const access = () => ({ token: localStorage.getItem(key) ?? "" });

// The token is missing or wrong.
export class NotSignedIn extends Error {}
// The back end is not there.
export class NotConnected extends Error {}

async function request(path, body, signal) {
  const options = { headers: { Authorization: `Bearer ${access().token}` }, signal };
  if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const answer = await fetch(path, options).catch((error) => {
    if (signal?.aborted) throw error;
    throw new NotConnected("No connection to the program: is it still running?");
  });
  if (answer.ok) return answer;
  const refusal = await answer.json().catch(() => ({}));
  const kind = answer.status === 401 ? NotSignedIn : Error;
  throw new kind(refusal.error ?? `the server answered ${answer.status}`);
}

const named = (path, run) => request(`${path}?run=${encodeURIComponent(run)}`).then((answer) => answer.json());

// { vocabulary: the bytes that a run's model knows, context: how many it reads at a time }
export const about = (run) => named("api/about", run);

// A text that a run's model wrote.
export const sample = (run) => named("api/sample", run);

// Arrays and sizes of a text run through a model; `question.parts` names what is wanted.
export async function inspect(question, signal) {
  return decode(await (await request("api/inspect", question, signal)).arrayBuffer());
}

// Pulls on a byte in every layer, and its coalitions.
export const pulls = (question, signal) => request("api/pulls", question, signal).then((answer) => answer.json());

// Bytes as they are generated, each with its phases.
export async function write(question, onByte, signal) {
  const reader = (await request("api/generate", question, signal)).body.getReader();
  const frames = new Frames();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const { byte: [byte], phase } of frames.push(value)) onByte(byte, phase);
  }
}

// The list of runs whenever it changes, and new rows of the watched ones ({ run: bytes already read }), until it is ended.
// Server-sent events over fetch, because EventSource cannot send the token.
export async function rows(watched, onEvent, signal) {
  const reader = (await request("api/live", watched, signal)).body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
      if (data) onEvent(JSON.parse(data));
    }
  }
}
