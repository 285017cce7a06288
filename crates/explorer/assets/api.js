// Requests to the server: the token, JSON, arrays and live rows.

import { Frames, decode } from "./safetensors.js";

const key = "kuramoto-token";
const found = new URLSearchParams(location.hash.slice(1)).get("token");
if (found) {
  sessionStorage.setItem(key, found);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem(key);

async function request(path, body, signal) {
  const options = { headers: { Authorization: `Bearer ${token}` }, signal };
  if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const answer = await fetch(path, options);
  if (!answer.ok) {
    const refusal = await answer.json().catch(() => ({}));
    throw new Error(refusal.error ?? `the server answered ${answer.status}`);
  }
  return answer;
}

export const json = async (path, body, signal) => (await request(path, body, signal)).json();

export async function arrays(path, body, signal) {
  const answer = await request(path, body, signal);
  return decode(await answer.arrayBuffer());
}

// Server-sent events over fetch, because EventSource cannot send the token.
export async function live(watched, onEvent, signal) {
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

// Bytes as they are generated, each with its phases.
export async function generated(body, onByte, signal) {
  const reader = (await request("api/generate", body, signal)).body.getReader();
  const frames = new Frames();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const { byte: [byte], phase } of frames.push(value)) onByte(byte, phase);
  }
}
