// One layer as the paper writes it (Equation 1), on the arrays that the engine answers with: the terms that figures show one by
// one. For a single head, as the article's model has it.

import { resultants } from "../phasor.js";

// A row of k numbers of byte t in an array of layers x n x k; ones where the model has no such gate.
function row(found, name, layer, t) {
  const { n, k, [name]: array } = found;
  return array ? array.subarray((layer * n + t) * k, (layer * n + t + 1) * k) : new Float32Array(k).fill(1);
}
export const phasesOf = (found, layer, t) => row(found, "phase", layer, t);
export const valueGates = (found, layer, t) => row(found, "value_gate", layer, t);
export const ratesOf = ({ omega, k }, layer) => omega.subarray(layer * k, (layer + 1) * k);

// What each oscillator adds to the score s_tu: lengths τ/√k g^q_tj g^k_uj and angles θ_tj − θ_uj + ω_j (t − u).
// `gates` false sets the gates to one, `rate` scales ω.
export function terms(found, layer, t, u, { gates = true, rate = 1 } = {}) {
  const { k, tau } = found;
  const [own, other, omega] = [phasesOf(found, layer, t), phasesOf(found, layer, u), ratesOf(found, layer)];
  const [query, key] = [row(found, "query_gate", layer, t), row(found, "key_gate", layer, u)];
  const scale = tau / Math.sqrt(k);
  const length = Float64Array.from(own, (_, j) => (gates ? scale * query[j] * key[j] : scale));
  const angle = Float64Array.from(own, (phase, j) => phase - other[j] + rate * omega[j] * (t - u));
  return { length, angle };
}

// s_tu.
export function score(found, layer, t, u, how) {
  const { length, angle } = terms(found, layer, t, u, how);
  return length.reduce((sum, x, j) => sum + x * Math.cos(angle[j]), 0);
}

// A_tu for all u up to t: the softmax of the scores.
export function couplings(found, layer, t, how) {
  const scores = Array.from({ length: t + 1 }, (_, u) => score(found, layer, t, u, how));
  const most = Math.max(...scores);
  const shares = scores.map((s) => Math.exp(s - most));
  const sum = shares.reduce((a, b) => a + b);
  return shares.map((share) => share / sum);
}

// The couplings that the engine found.
export function couplingRow({ n }, coupling, layer, t) {
  return coupling.subarray((layer * n + t) * n, (layer * n + t) * n + t + 1);
}

// How many bytes a row couples with, effectively: exp of its entropy.
export const effective = (shares) => Math.exp(shares.reduce((sum, a) => (a > 0 ? sum - a * Math.log(a) : sum), 0));

// How far back a row couples, on average.
export const reach = (shares) => shares.reduce((sum, a, u) => sum + a * (shares.length - 1 - u), 0);

// The byte, other than t itself, that t couples with most.
export function strongest(found, layer, t) {
  const shares = couplingRow(found, found.coupling, layer, t);
  let best = Math.max(t - 1, 0);
  for (let u = 0; u < t; u++) if (shares[u] > shares[best]) best = u;
  return best;
}

// The Kuramoto direction a_tj = −sin θ_tj Re G_tj + cos θ_tj Im G_tj, with the resultants G_tj (real before imaginary parts).
export function direction(found, layer, t) {
  const g = resultants(found, "", layer, t);
  const a = phasesOf(found, layer, t).map((phase, j) => Math.cos(phase) * g[found.k + j] - Math.sin(phase) * g[j]);
  return { g, a };
}

export const rms = (values) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);

// What the synchronization step and the feed-forward step added to the phases of a byte, by the engine.
export function steps(found, layer, t) {
  const [before, middle, after] = [phasesOf(found, layer, t), row(found, "phase_mid", layer, t), phasesOf(found, layer + 1, t)];
  return { synchronization: middle.map((x, j) => x - before[j]), feedForward: after.map((x, j) => x - middle[j]) };
}
