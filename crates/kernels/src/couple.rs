//! The coupling A of Equation (1), a causal softmax of the scores (Proposition 1), and
//! dropout on it (Appendix B).
//!
//! A dropped weight keeps its value with the sign bit set. Weights are never negative, so the sign is free,
//! and one matrix serves the backward pass both as A (its magnitudes) and as the mask (its signs).

use crate::arch::Arch;
use crate::reduce::{max, sum_of};
use crate::{Dropout, Real};
use macro_rules_attribute::apply;

/// Equation (1), A: scores (n rows of `stride`, row t used up to t) -> coupling in
/// place; zeros after the diagonal
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(n: usize, coupling: &mut [F], stride: usize) {
    for (t, row) in coupling.chunks_mut(stride).take(n).enumerate() {
        let (past, future) = row[..n].split_at_mut(t + 1);
        softmax::<A, F>(past);
        future.fill(F::ZERO);
    }
}

/// Equation (1), A: scores (n) of one token with its past -> its row of the coupling, in place
#[apply(vectorised)]
pub fn row<A: Arch, F: Real>(scores: &mut [F]) {
    softmax::<A, F>(scores);
}

#[inline(always)]
fn softmax<A: Arch, F: Real>(row: &mut [F]) {
    let largest = max(row);
    for x in row.iter_mut() {
        *x = (*x - largest).exp::<A>();
    }
    let inverse = F::ONE / sum_of(row, |x| x);
    for x in row {
        *x *= inverse;
    }
}

/// Dropout on A: coupling (n rows of `stride`) -> coupling with dropped weights marked, kept (n rows of
/// `stride`): what is left, rescaled. Element (t, u) has index `first + t * n + u`.
#[apply(vectorised)]
pub fn drop<A: Arch, F: Real>(
    n: usize,
    coupling: &mut [F],
    stride: usize,
    dropout: &Dropout,
    first: u32,
    kept: &mut [F],
) {
    let scale = F::from_f64(dropout.scale());
    for (t, (coupling, kept)) in coupling.chunks_mut(stride).zip(kept.chunks_mut(stride)).take(n).enumerate()
    {
        let (past, future) = kept[..n].split_at_mut(t + 1);
        let start = first.wrapping_add((t * n) as u32);
        let coupling = &mut coupling[..past.len()];
        for u in 0..past.len() {
            let keeps = dropout.keeps(start.wrapping_add(u as u32));
            past[u] = if keeps { coupling[u] * scale } else { F::ZERO };
            coupling[u] = if keeps { coupling[u] } else { -coupling[u] };
        }
        future.fill(F::ZERO);
    }
}

/// Dropout on A: coupling as `drop` left it -> kept, the matrix that multiplied the values
#[apply(vectorised)]
pub fn kept<A: Arch, F: Real>(n: usize, coupling: &[F], stride: usize, dropout: &Dropout, kept: &mut [F]) {
    let scale = F::from_f64(dropout.scale());
    for (t, (coupling, kept)) in coupling.chunks(stride).zip(kept.chunks_mut(stride)).take(n).enumerate() {
        let (past, future) = kept[..n].split_at_mut(t + 1);
        for (&coupling, kept) in coupling[..=t].iter().zip(past) {
            *kept = if coupling.is_sign_negative() { F::ZERO } else { coupling * scale };
        }
        future.fill(F::ZERO);
    }
}

/// Equation (1), A: coupling as `drop` or `forward` left it, dcoupling (gradient of what was kept) -> dscores
/// in place of dcoupling; zeros after the diagonal
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    n: usize,
    coupling: &[F],
    stride: usize,
    dropout: &Dropout,
    dcoupling: &mut [F],
) {
    let scale = F::from_f64(dropout.scale());
    for (t, (coupling, dcoupling)) in
        coupling.chunks(stride).zip(dcoupling.chunks_mut(stride)).take(n).enumerate()
    {
        let (past, future) = dcoupling[..n].split_at_mut(t + 1);
        let coupling = &coupling[..=t];
        for (&coupling, dcoupling) in coupling.iter().zip(past.iter_mut()) {
            *dcoupling = if coupling.is_sign_negative() { F::ZERO } else { *dcoupling * scale };
        }
        // Kept weights are positive and dropped gradients are zero, so signs do not matter here.
        let mean = crate::reduce::dot::<A, F>(coupling, past);
        for (&coupling, dcoupling) in coupling.iter().zip(past) {
            *dcoupling = coupling.abs() * (*dcoupling - mean);
        }
        future.fill(F::ZERO);
    }
}
