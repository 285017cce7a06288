// Talking to the server: the token, JSON, arrays and live rows.

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
    const told = await answer.json().catch(() => ({}));
    throw new Error(told.error ?? `the server answered ${answer.status}`);
  }
  return answer;
}

export const json = async (path, body, signal) => (await request(path, body, signal)).json();

// A header that names the arrays, then the numbers; see binary.rs.
export async function arrays(path, body, signal) {
  const buffer = await (await request(path, body, signal)).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const result = { ...header.meta };
  for (const { name, shape, offset } of header.arrays) {
    const size = shape.reduce((a, b) => a * b, 1);
    result[name] = new Float32Array(buffer, 4 + length + 4 * offset, size);
  }
  return result;
}

// Server-sent events over fetch, because EventSource cannot send the token.
export async function live(watched, heard, signal) {
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
      if (data) heard(JSON.parse(data));
    }
  }
}

// Bytes as they are written, each with its phases.
export async function written(body, heard, signal) {
  const reader = (await request("api/generate", body, signal)).body.getReader();
  let held = new Uint8Array(0);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const joined = new Uint8Array(held.length + value.length);
    joined.set(held);
    joined.set(value, held.length);
    held = joined;
    for (;;) {
      if (held.length < 8) break;
      const view = new DataView(held.buffer, held.byteOffset);
      const count = view.getUint32(4, true);
      if (held.length < 8 + 4 * count) break;
      heard(view.getUint32(0, true), new Float32Array(held.slice(8, 8 + 4 * count).buffer));
      held = held.slice(8 + 4 * count);
    }
  }
}
