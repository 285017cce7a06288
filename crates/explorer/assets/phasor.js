// Sums of phasors e^{iθ} that several panels show. Each is computed once for an answer.

const kept = new WeakMap();
function once(found, name, compute) {
  if (!kept.has(found.phase)) kept.set(found.phase, new Map());
  const all = kept.get(found.phase);
  if (!all.has(name)) all.set(name, compute());
  return all.get(name);
}

// Cosines and sines of all phases of a state (n x k each).
function phasors(found, prefix, state) {
  return once(found, `${prefix}${state}`, () => {
    const { n, k } = found;
    const phase = found[`${prefix}phase`].subarray(state * n * k, (state + 1) * n * k);
    return { cos: phase.map(Math.cos), sin: phase.map(Math.sin) };
  });
}

// z_tu = mean_j e^{i(θ_uj - θ_tj)} of every byte u with byte t: real before imaginary parts. Its length is their locking.
export function locking(found, prefix, state, t) {
  return once(found, `${prefix}${state} ${t}`, () => {
    const { n, k } = found;
    const { cos, sin } = phasors(found, prefix, state);
    const z = new Float32Array(2 * n);
    for (let u = 0; u < n; u++) {
      let [re, im] = [0, 0];
      for (let j = 0, a = t * k, b = u * k; j < k; j++, a++, b++) {
        re += cos[a] * cos[b] + sin[a] * sin[b];
        im += cos[a] * sin[b] - sin[a] * cos[b];
      }
      z[u] = re / k;
      z[n + u] = im / k;
    }
    return z;
  });
}

// G_tj = sum_u A_tu e^{iθ_uj} of every oscillator of byte t entering a layer: real before imaginary parts.
export function resultants(found, prefix, layer, t) {
  const { n, k, heads } = found;
  const { cos, sin } = phasors(found, prefix, layer);
  const coupling = found[`${prefix}coupling`];
  const g = new Float32Array(2 * k);
  for (let head = 0; head < heads; head++) {
    const row = ((layer * heads + head) * n + t) * n;
    const [first, last] = [Math.ceil((head * k) / heads), Math.ceil(((head + 1) * k) / heads)];
    for (let u = 0; u <= t; u++) {
      const a = coupling[row + u];
      for (let j = first; j < last; j++) {
        g[j] += a * cos[u * k + j];
        g[k + j] += a * sin[u * k + j];
      }
    }
  }
  return g;
}
