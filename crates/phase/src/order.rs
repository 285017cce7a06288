//! Order parameters: how far phases agree, with whom.

use crate::circular::Resultant;
use crate::trace::Trace;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{Causal, Packed, Real, View, drift, turn};

/// The attended resultant G_{t,j} = sum_u A_{t,u} e^{i theta_{u,j}} of a layer: real parts (n x k), imaginary
/// parts (n x k). Where values drift, theta_{u,j} - omega_j (t - u) takes the place of theta_{u,j}.
pub struct Attended<F> {
    /// Oscillators.
    pub k: usize,
    /// (n x 2k): real parts before imaginary parts.
    values: Vec<F>,
    /// psi of the phases, in the same shape.
    psi: Vec<F>,
}

impl<F: Real> Attended<F> {
    /// Of the phases entering a layer, under its coupling.
    pub fn of(trace: &Trace<F>, layer: usize) -> Attended<F> {
        Attended::under(trace, layer, &trace.states[layer])
    }

    /// Of other phases (n x k) under the coupling of a layer.
    pub fn under(trace: &Trace<F>, layer: usize, phases: &[F]) -> Attended<F> {
        Attended::weighted(trace, layer, phases, &trace.attention[layer])
    }

    /// Of the neighbours alone: sum_{u<t} A_{t,u} e^{i theta_{u,j}} / sum_{u<t} A_{t,u}. A token that couples
    /// with itself alone has |G| = 1 whatever the others do; here it has nothing (see
    /// [`Trace::has_neighbours`]).
    pub fn of_neighbours(trace: &Trace<F>, layer: usize) -> Attended<F> {
        Attended::weighted(trace, layer, &trace.states[layer], &without_self(trace, layer))
    }

    /// Of phases (n x k) under a coupling (h x n x n).
    fn weighted(trace: &Trace<F>, layer: usize, phases: &[F], coupling: &[F]) -> Attended<F> {
        let (n, k, kh) = (trace.n, trace.k, trace.head_width());
        let mut psi = vec![F::ZERO; n * 2 * k];
        kuramoto_kernels::lift::forward(k, phases, &mut psi);
        // Where values drift they are averaged in a common rotating frame, and read in each token's own.
        let rates = trace.value_drift.get(layer).filter(|rates| !rates.is_empty());
        let table = rates.map(|rates| {
            let (mut cos, mut sin) = (vec![F::ZERO; n * k], vec![F::ZERO; n * k]);
            drift::table(rates, 0, &mut cos, &mut sin);
            (cos, sin)
        });
        let mut turned = Vec::new();
        if let Some((cos, sin)) = &table {
            turned.resize(n * 2 * k, F::ZERO);
            turn::forward(k, &psi, cos, sin, &mut turned);
        }
        let averaged = if table.is_some() { &turned } else { &psi };
        let mut values = vec![F::ZERO; n * 2 * k];
        let mut packed = Packed::with_capacity(n, kh);
        for (head, coupling) in coupling.chunks_exact(n * n).enumerate() {
            let coupling = View::rows(coupling, n);
            for part in 0..2 {
                let first = part * k + head * kh;
                packed.pack(&averaged[first..], 2 * k, n, kh);
                product(&mut values[first..], 2 * k, n, coupling, &packed, false, Causal::InnerPast);
            }
        }
        if let Some((cos, sin)) = &table {
            turn::back(k, &mut values, cos, sin);
        }
        Attended { k, values, psi }
    }

    /// G_{t,j}.
    pub fn at(&self, t: usize, j: usize) -> (f64, f64) {
        let row = &self.values[t * 2 * self.k..][..2 * self.k];
        (row[j].to_f64(), row[self.k + j].to_f64())
    }

    /// e^{i theta_{t,j}}.
    pub fn phasor(&self, t: usize, j: usize) -> (f64, f64) {
        let row = &self.psi[t * 2 * self.k..][..2 * self.k];
        (row[j].to_f64(), row[self.k + j].to_f64())
    }

    /// Local order R_t = mean_j |G_{t,j}|.
    pub fn local_order(&self, t: usize) -> f64 {
        (0..self.k)
            .map(|j| {
                let (re, im) = self.at(t, j);
                re.hypot(im)
            })
            .sum::<f64>()
            / self.k as f64
    }

    /// Alignment of a token with its attended mean: mean_j cos(theta_{t,j} - arg G_{t,j}).
    pub fn alignment(&self, t: usize) -> f64 {
        let cosine = |j: usize| {
            let ((x, y), (re, im)) = (self.phasor(t, j), self.at(t, j));
            // Where G vanishes its direction says nothing.
            let length = re.hypot(im);
            if length > 0.0 { (x * re + y * im) / length } else { 0.0 }
        };
        (0..self.k).map(cosine).sum::<f64>() / self.k as f64
    }
}

/// The coupling (h x n x n) of a layer without what a token has with itself, renormalised; rows without
/// anything else are 0.
fn without_self<F: Real>(trace: &Trace<F>, layer: usize) -> Vec<F> {
    let n = trace.n;
    let mut coupling = trace.attention[layer].clone();
    for (row, t) in coupling.chunks_exact_mut(n).zip((0..n).cycle()) {
        row[t] = F::ZERO;
        let others: f64 = row[..t].iter().map(|a| a.to_f64()).sum();
        if others > 0.0 {
            row[..t].iter_mut().for_each(|a| *a = F::from_f64(a.to_f64() / others));
        }
    }
    coupling
}

/// Resultants over tokens of every oscillator: phases (n x k) -> k.
pub fn over_tokens<F: Real>(phases: &[F], k: usize) -> Vec<Resultant> {
    let mut resultants = vec![Resultant::default(); k];
    for row in phases.chunks_exact(k) {
        for (resultant, phase) in resultants.iter_mut().zip(row) {
            resultant.add(phase.to_f64());
        }
    }
    resultants
}

/// Global order R_glob = mean_j |(1/N) sum_u e^{i theta_{u,j}}| of phases (n x k).
pub fn global_order<F: Real>(phases: &[F], k: usize) -> f64 {
    over_tokens(phases, k).iter().map(Resultant::length).sum::<f64>() / k as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// A trace of one layer and head with given phases and coupling.
    fn trace(
        n: usize,
        k: usize,
        phase: impl Fn(usize, usize) -> f64,
        coupling: impl Fn(usize, usize) -> f64,
    ) -> Trace<f64> {
        let phases: Vec<f64> = (0..n * k).map(|i| phase(i / k, i % k)).collect();
        let attention =
            (0..n * n).map(|i| if i % n <= i / n { coupling(i / n, i % n) } else { 0.0 }).collect();
        Trace {
            n,
            k,
            heads: 1,
            states: vec![phases.clone(), phases.clone()],
            middles: vec![phases],
            attention: vec![attention],
            ..Trace::default()
        }
    }

    fn uniform(t: usize, _: usize) -> f64 {
        1.0 / (t + 1) as f64
    }

    #[test]
    fn equal_phases_have_every_order_one() {
        let trace = trace(9, 4, |_, j| 0.3 * j as f64, uniform);
        let attended = Attended::of(&trace, 0);
        for t in 0..9 {
            assert!((attended.local_order(t) - 1.0).abs() < 1e-12);
            assert!((attended.alignment(t) - 1.0).abs() < 1e-12);
        }
        assert!((global_order(&trace.states[0], 4) - 1.0).abs() < 1e-12);
    }

    /// Even and odd tokens opposed, each attending to its own kind: locally one, globally none.
    #[test]
    fn two_opposed_clusters() {
        let opposed = |t: usize, j: usize| 0.2 * j as f64 + PI * (t % 2) as f64;
        let own = |t: usize, u: usize| if t % 2 == u % 2 { 1.0 / (t / 2 + 1) as f64 } else { 0.0 };
        let clustered = trace(10, 3, opposed, own);
        let attended = Attended::of(&clustered, 0);
        for t in 0..10 {
            assert!((attended.local_order(t) - 1.0).abs() < 1e-12, "{t}");
        }
        assert!(global_order(&clustered.states[0], 3) < 1e-12);
        // The same phases under uniform coupling are in disorder.
        assert!(Attended::of(&trace(10, 3, opposed, uniform), 0).local_order(9) < 1e-12);
    }

    /// A token that couples almost with itself alone has local order near 1; its neighbours need not agree.
    #[test]
    fn neighbours_are_judged_without_the_token_itself() {
        let opposed = |t: usize, j: usize| 0.2 * j as f64 + PI * (t % 2) as f64;
        let mostly_self = |t: usize, u: usize| match t {
            0 => 1.0,
            _ if u == t => 0.98,
            _ => 0.02 / t as f64,
        };
        let trace = trace(9, 3, opposed, mostly_self);
        let (all, others) = (Attended::of(&trace, 0), Attended::of_neighbours(&trace, 0));
        // Before token 8: four even and four odd ones, which cancel.
        assert!(all.local_order(8) > 0.97 && others.local_order(8) < 1e-12);
        // Before token 1: one token, opposed to it.
        assert!((others.local_order(1) - 1.0).abs() < 1e-12 && (others.alignment(1) + 1.0).abs() < 1e-12);
        assert!(all.alignment(1) > 0.99);
        assert!(!trace.has_neighbours(0, 0) && (1..9).all(|t| trace.has_neighbours(0, t)));
        assert_eq!(others.local_order(0), 0.0);
    }

    #[test]
    fn without_neighbours_there_is_nothing_to_judge() {
        let alone = trace(4, 2, |t, j| (t + j) as f64, |t, u| f64::from(u8::from(t == u)));
        assert!((0..4).all(|t| !alone.has_neighbours(0, t)));
        assert!((0..4).all(|t| (Attended::of(&alone, 0).local_order(t) - 1.0).abs() < 1e-12));
    }

    #[test]
    fn a_global_rotation_changes_nothing() {
        let phase = |t: usize, j: usize| ((t * 7 + j * 3) % 11) as f64;
        let (still, turned) = (trace(8, 5, phase, uniform), trace(8, 5, |t, j| phase(t, j) + 1.234, uniform));
        let (a, b) = (Attended::of(&still, 0), Attended::of(&turned, 0));
        for t in 0..8 {
            assert!((a.local_order(t) - b.local_order(t)).abs() < 1e-12);
            assert!((a.alignment(t) - b.alignment(t)).abs() < 1e-12);
        }
        assert!((global_order(&still.states[0], 5) - global_order(&turned.states[0], 5)).abs() < 1e-12);
    }
}
