// Bytes, and how a text is read as bytes.

export const name = (byte) => (byte === 32 ? "space" : byte === 10 ? "line break" : byte > 32 && byte < 127 ? String.fromCharCode(byte) : `0x${byte.toString(16).padStart(2, "0")}`);

// One sign for one byte.
export const sign = (byte) => (byte > 32 && byte < 127 ? String.fromCharCode(byte) : byte === 32 ? "␣" : byte === 10 ? "↵" : "·");

const encoder = new TextEncoder();

// A text as a model reads it. Characters with a byte that the model does not know are left out, and of a text longer than the
// context the beginning is; both stay in the text, marked. `characters` has all of them: { text, at (in UTF-16 units), bytes, token
// (of the first byte; -1 if left out), why }.
export function read(text, { vocabulary, context }) {
  const characters = [];
  let at = 0;
  for (const part of text) {
    const bytes = encoder.encode(part);
    const known = bytes.every((byte) => vocabulary.has(byte)) && part.isWellFormed();
    characters.push({ text: part, at, bytes, token: -1, why: known ? "" : "unknown" });
    at += part.length;
  }
  const known = characters.filter((character) => !character.why);
  const count = known.reduce((sum, { bytes }) => sum + bytes.length, 0);
  // The window moves on by half a context at a time, so that most keys leave what was read before as it was.
  const half = Math.max(context >> 1, 1);
  const first = count > context ? Math.ceil((count - context) / half) * half : 0;
  let place = 0;
  let token = 0;
  for (const character of known) {
    if (place < first) character.why = "past";
    else {
      character.token = token;
      token += character.bytes.length;
    }
    place += character.bytes.length;
  }
  const seen = known.filter((character) => !character.why);
  return { characters, sent: seen.map((character) => character.text).join(""), bytes: Uint8Array.from(seen.flatMap(({ bytes }) => [...bytes])) };
}

// The byte before a place in the text: the last of the nearest character before it that the model reads; else the first.
export function tokenBefore({ characters }, place) {
  let found = 0;
  for (const { at, text, token, bytes } of characters) {
    if (at + text.length > place) break;
    if (token >= 0) found = token + bytes.length - 1;
  }
  return found;
}

// The place in the text after a byte.
export function placeAfter({ characters }, token) {
  const found = characters.find((character) => character.token >= 0 && token < character.token + character.bytes.length);
  return found ? found.at + found.text.length : 0;
}
