// Reading safetensors, the format of the arrays that the server sends.
// See message.rs, and https://github.com/huggingface/safetensors for the format itself.

const kinds = { F32: Float32Array, U8: Uint8Array };

// Typed arrays by name, as views of the buffer, and what the server put into the metadata.
export function decode(buffer) {
  const start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
  const header = new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8));
  const { __metadata__: metadata, ...tensors } = JSON.parse(header);
  const result = JSON.parse(metadata?.meta ?? "{}");
  for (const [name, { dtype, data_offsets: [from, to] }] of Object.entries(tensors)) {
    const kind = kinds[dtype];
    result[name] = new kind(buffer, start + from, (to - from) / kind.BYTES_PER_ELEMENT);
  }
  return result;
}

// Cuts a stream of frames into messages: each is a u32 length, then a safetensors file of that length.
export class Frames {
  rest = new Uint8Array(0);

  // Takes the next bytes of the stream and yields the messages that are complete.
  *push(bytes) {
    const joined = new Uint8Array(this.rest.length + bytes.length);
    joined.set(this.rest);
    joined.set(bytes, this.rest.length);
    let at = 0;
    while (joined.length - at >= 4) {
      const end = at + 4 + new DataView(joined.buffer).getUint32(at, true);
      if (joined.length < end) break;
      // A copy, because a view of floats must begin at a multiple of four bytes.
      yield decode(joined.buffer.slice(at + 4, end));
      at = end;
    }
    this.rest = joined.subarray(at);
  }
}
