// The colours of phases for three kinds of colour vision: how far apart angles look, in CIELAB.
// Usage: node colour.mjs ASSETS

import assert from "node:assert";
import { readFile } from "node:fs/promises";

const [assets] = process.argv.slice(2);
const source = await readFile(`${assets}/colour.js`, "utf8");
const { ofAngle } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
// Severity 1 of Machado, Oliveira and Fernandes (2009), on linear sRGB.
const visions = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};
const times = (matrix, vector) => matrix.map((row) => row.reduce((sum, x, i) => sum + x * vector[i], 0));

// sRGB as CIELAB (D65).
function lab(colour, vision) {
  const rgb = times(visions[vision], colour.map(linear)).map((c) => Math.min(Math.max(c, 0), 1));
  const xyz = times([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]], rgb);
  const [x, y, z] = xyz.map((v, i) => v / [0.95047, 1, 1.08883][i]).map((v) => (v > 216 / 24389 ? Math.cbrt(v) : (24389 / 27 * v + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const count = 64;
const angles = Array.from({ length: count }, (_, i) => (2 * Math.PI * i) / count);
for (const vision of Object.keys(visions)) {
  const labs = angles.map((angle) => lab(ofAngle(angle), vision));
  const apart = (i, step) => Math.hypot(...labs[i].map((x, part) => x - labs[(i + step) % count][part]));
  const least = (step) => Math.min(...angles.map((_, i) => apart(i, step)));
  // Around 0, where the phases of a trained model are most: lightness gained from -45 to 45 degrees.
  const slope = labs[count / 8][0] - labs[count - count / 8][0];
  console.log(`${vision}: least difference at 22.5 degrees ${least(4).toFixed(1)}, 90 degrees ${least(16).toFixed(1)}, 180 degrees ${least(32).toFixed(1)}; lightness from -45 to 45 degrees ${slope.toFixed(1)}`);
  // A difference of 2.3 is just noticeable.
  assert.ok(least(4) > 5, "neighbouring phases differ");
  assert.ok(least(16) > 20, "phases a quarter turn apart differ");
  assert.ok(least(32) > 30, "opposite phases differ");
  assert.ok(slope > 25, "phases that cluster around 0 differ in lightness");
}
