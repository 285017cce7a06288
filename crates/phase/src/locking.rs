//! Phase locking: |mean e^{i(a - b)}| of two series of phases, 1 if their difference never changes.

use crate::trace::Trace;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{Causal, Packed, Real, View};

/// Between oscillators along the text: (k x k), of the phases entering a layer (the last state with `layer` =
/// L).
pub fn oscillators<F: Real>(trace: &Trace<F>, layer: usize) -> Vec<F> {
    let (n, k) = (trace.n, trace.k);
    let (cosines, sines) = phasors(&trace.states[layer]);
    // (k x n) . (n x k)
    moduli(k, n, |x| View::transposed(x, k), |packed, y| packed.pack(y, k, n, k), &cosines, &sines)
}

/// Between tokens over oscillators: (n x n), of the phases entering a layer (the last state with `layer` =
/// L).
pub fn tokens<F: Real>(trace: &Trace<F>, layer: usize) -> Vec<F> {
    let (n, k) = (trace.n, trace.k);
    let (cosines, sines) = phasors(&trace.states[layer]);
    // (n x k) . (k x n)
    moduli(n, k, |x| View::rows(x, k), |packed, y| packed.pack_transposed(y, k, k, n), &cosines, &sines)
}

fn phasors<F: Real>(phases: &[F]) -> (Vec<F>, Vec<F>) {
    phases
        .iter()
        .map(|phase| {
            let (sine, cosine) = phase.to_f64().sin_cos();
            (F::from_f64(cosine), F::from_f64(sine))
        })
        .unzip()
}

/// |X^H X| / depth, from the cosines and sines of X.
fn moduli<F: Real>(
    size: usize,
    depth: usize,
    left: impl Fn(&[F]) -> View<'_, F>,
    right: impl Fn(&mut Packed<F>, &[F]),
    cosines: &[F],
    sines: &[F],
) -> Vec<F> {
    let (mut re, mut im) = (vec![F::ZERO; size * size], vec![F::ZERO; size * size]);
    let mut packed = Packed::with_capacity(depth, size);
    right(&mut packed, cosines);
    product(&mut re, size, size, left(cosines), &packed, false, Causal::Full);
    product(&mut im, size, size, left(sines), &packed, false, Causal::Full);
    right(&mut packed, sines);
    product(&mut re, size, size, left(sines), &packed, true, Causal::Full);
    let mut other = vec![F::ZERO; size * size];
    product(&mut other, size, size, left(cosines), &packed, false, Causal::Full);
    let scale = 1.0 / depth as f64;
    let modulus = |i: usize| scale * re[i].to_f64().hypot(im[i].to_f64() - other[i].to_f64());
    (0..size * size).map(|i| F::from_f64(modulus(i))).collect()
}

/// Mean of a symmetric matrix (size x size) off its diagonal; NaN if there is nothing off it.
pub fn mean_off_diagonal<F: Real>(matrix: &[F], size: usize) -> f64 {
    let off = (0..size).flat_map(|i| (0..i).map(move |j| matrix[i * size + j].to_f64()));
    off.sum::<f64>() / (size * (size - 1) / 2) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the definition, on phases without a pattern.
    #[test]
    fn products_give_the_definition() {
        let (n, k) = (11, 7);
        let phases: Vec<f64> = (0..n * k).map(|i| ((i * i * 37 + i * 11) % 101) as f64 / 7.0).collect();
        let trace = Trace { n, k, heads: 1, states: vec![phases.clone()], ..Trace::default() };
        let plv = |differences: Vec<f64>| crate::circular::Resultant::of(differences).length();
        let (oscillators, tokens) = (oscillators(&trace, 0), tokens(&trace, 0));
        for i in 0..k {
            for j in 0..k {
                let expected = plv((0..n).map(|t| phases[t * k + i] - phases[t * k + j]).collect());
                assert!((oscillators[i * k + j] - expected).abs() < 1e-12);
            }
        }
        for t in 0..n {
            for u in 0..n {
                let expected = plv((0..k).map(|j| phases[t * k + j] - phases[u * k + j]).collect());
                assert!((tokens[t * n + u] - expected).abs() < 1e-12);
            }
        }
    }
}
