// What the panel Oscillators draws, as shapes in the unit disk; pen.js puts them on a canvas or into an SVG file.
//
// `at` is a place between the states: 1.25 is a quarter of the way from entering layer 1 to entering layer 2. Between states,
// phases move along the shorter arc.

import { name } from "./bytes.js";
import { css, ofAngle } from "./colour.js";
import { locking, resultants } from "./phasor.js";

const full = 2 * Math.PI;
const shorter = (from, to) => to - from - full * Math.round((to - from) / full);

// The circle, with its angles.
export const ring = () => [
  { circle: [0, 0, 1], stroke: "soft", width: 0.008 },
  ...[["0", 1, 0], ["π/2", 0, 1], ["±π", -1, 0], ["−π/2", 0, -1]].map(([text, x, y]) => ({ text, at: [1.13 * x, 1.11 * y], size: 0.085 }))];

// Phases of byte t, and where they were in the state before.
function phases({ found, prefix, token }, at) {
  const { n, k, layers } = found;
  const from = Math.min(Math.floor(at), layers);
  const to = Math.min(from + 1, layers);
  const phase = found[`${prefix}phase`];
  return Array.from({ length: k }, (_, j) => {
    const start = phase[(from * n + token) * k + j];
    return [start, start + (at - from) * shorter(start, phase[(to * n + token) * k + j])];
  });
}

// The oscillators on the circle, with their resultants.
export function circle(what, at) {
  const shapes = ring();
  const { found } = what;
  const state = Math.round(at);
  for (const [prefix, hollow] of found.touched ? [["", true], ["touched.", false]] : [["", false]]) {
    const own = { ...what, prefix };
    // After the last layer nothing pulls. Values with drift have other resultants than these.
    const g = state < found.layers && !found.drift_in_values ? resultants(found, prefix, state, Math.min(what.token, found.n - 1)) : null;
    phases(own, at).forEach(([start, phase], j) => {
      const [x, y] = [Math.cos(phase), Math.sin(phase)];
      if (Math.abs(phase - start) > 0.01) shapes.push({ arc: [start, phase], radius: 1, stroke: "accent", width: 0.012 });
      if (g) {
        shapes.push({ line: [x, y, g[j], g[found.k + j]], stroke: "soft", width: 0.004, dashed: hollow });
        shapes.push({ circle: [g[j], g[found.k + j], 0.013], [hollow ? "stroke" : "fill"]: "s1", width: 0.006 });
      }
      shapes.push({ circle: [x, y, hollow ? 0.032 : 0.024], fill: hollow ? undefined : css(ofAngle(phase)), stroke: "soft", width: 0.006 });
    });
  }
  return shapes;
}

// The oscillators on a torus: around the tube their phase, around the ring their number.
export function torus(what, at) {
  const { found } = what;
  const [big, small, tilt] = [0.82, 0.38, 0.8];
  const [cosTilt, sinTilt] = [Math.cos(tilt), Math.sin(tilt)];
  const project = (around, phase) => {
    const far = big + small * Math.cos(phase);
    const [x, y, z] = [far * Math.cos(around), far * Math.sin(around), small * Math.sin(phase)];
    return [x, y * cosTilt + z * sinTilt, z * cosTilt - y * sinTilt];
  };
  const shapes = [];
  const loop = (point) => ({ path: Array.from({ length: 49 }, (_, i) => point((full * i) / 48).slice(0, 2)), stroke: "line", width: 0.005 });
  for (let i = 0; i < 24; i++) shapes.push(loop((phase) => project((full * i) / 24, phase)));
  // Where the phase is 0, a quarter turn, half and three quarters; the first and the third with their names.
  for (let i = 0; i < 4; i++) shapes.push({ ...loop((around) => project(around, (i * full) / 4)), stroke: i ? "line" : "soft" });
  shapes.push({ text: "0", at: [big + small + 0.05, 0], size: 0.08 }, { text: "±π", at: [big - small - 0.09, 0], size: 0.08 });
  const dots = [];
  for (const [prefix, hollow] of found.touched ? [["", true], ["touched.", false]] : [["", false]]) {
    phases({ ...what, prefix }, at).forEach(([start, phase], j) => {
      const around = (full * j) / found.k;
      const [x, y, depth] = project(around, phase);
      const near = 0.7 + 0.3 * depth;
      if (Math.abs(phase - start) > 0.01) {
        const path = Array.from({ length: 7 }, (_, i) => project(around, start + ((phase - start) * i) / 6).slice(0, 2));
        dots.push({ depth: depth - 0.01, path, stroke: "accent", width: 0.01 });
      }
      dots.push({ depth, circle: [x, y, 0.026 * near], fill: hollow ? undefined : css(ofAngle(phase)), stroke: "soft", width: 0.005 });
    });
  }
  return [...shapes, ...dots.sort((a, b) => a.depth - b.depth)];
}

// Every byte in the disk at its z with the chosen one: at the rim it is locked, and turned by how far it is ahead.
export function bytes(what, at) {
  const { found, token, threshold } = what;
  const shapes = [...ring(), { circle: [0, 0, threshold], stroke: "accent", width: 0.006, dashed: true }];
  const from = Math.min(Math.floor(at), found.layers);
  const to = Math.min(from + 1, found.layers);
  for (const [prefix, hollow] of found.touched ? [["", true], ["touched.", false]] : [["", false]]) {
    const [a, b] = [from, to].map((state) => locking(found, prefix, state, token));
    const mix = (i) => a[i] + (at - from) * (b[i] - a[i]);
    for (let u = 0; u < found.n; u++) {
      const [x, y] = [mix(u), mix(found.n + u)];
      const locked = Math.hypot(x, y) >= threshold;
      if (at > from) shapes.push({ line: [a[u], a[found.n + u], x, y], stroke: "line", width: 0.006 });
      shapes.push({ circle: [x, y, u === token ? 0.035 : 0.018], [hollow ? "stroke" : "fill"]: u === token ? "s1" : locked ? "accent" : "soft", width: 0.006 });
      if (locked && !hollow && u !== token) shapes.push({ text: name(found.reading.bytes[u]), at: [x * 0.93, y * 0.93], size: 0.06 });
    }
  }
  return shapes;
}
