// Arrays of a safetensors file by name, and how far two arrays are apart.

export function arrays(file) {
  const start = 8 + Number(file.readBigUInt64LE(0));
  const { __metadata__: _, ...tensors } = JSON.parse(file.subarray(8, start));
  return Object.fromEntries(Object.entries(tensors).map(([name, { data_offsets: [from, to] }]) => [name, [...new Float32Array(new Uint8Array(file.subarray(start + from, start + to)).buffer)]]));
}

// Largest difference, relative to the larger of the number and the array's mean size.
export function difference(found, wanted) {
  if (found.length !== wanted.length) return Infinity;
  const mean = wanted.reduce((sum, x) => sum + (Number.isNaN(x) ? 0 : Math.abs(x)), 0) / wanted.length;
  return wanted.reduce((most, x, i) => (Number.isNaN(x) && (Number.isNaN(found[i]) || found[i] === null) ? most : Math.max(most, Math.abs(x - found[i]) / Math.max(Math.abs(x), mean))), 0);
}
