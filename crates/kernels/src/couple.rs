//! The coupling: a causal softmax over scores, and dropout on it.
//!
//! A dropped weight keeps its value with the sign bit set. Weights are never negative, so the sign is free,
//! and one matrix serves the backward pass both as A (its magnitudes) and as the mask (its signs).

use crate::arch::Arch;
use crate::reduce::{max, sum_of};
use crate::{Dropout, Real};
use macro_rules_attribute::apply;

/// scores (n rows of `stride`, row t used up to t) -> A in place; zeros after the diagonal
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(n: usize, a: &mut [F], stride: usize) {
    for (t, row) in a.chunks_mut(stride).take(n).enumerate() {
        let (past, future) = row[..n].split_at_mut(t + 1);
        softmax::<A, F>(past);
        future.fill(F::ZERO);
    }
}

/// scores (n) of one token with its past -> its row of A, in place
#[apply(vectorised)]
pub fn row<A: Arch, F: Real>(scores: &mut [F]) {
    softmax::<A, F>(scores);
}

#[inline(always)]
fn softmax<A: Arch, F: Real>(row: &mut [F]) {
    let largest = max(row);
    for a in row.iter_mut() {
        *a = (*a - largest).exp::<A>();
    }
    let inverse = F::ONE / sum_of(row, |a| a);
    for a in row {
        *a *= inverse;
    }
}

/// A (n rows of `stride`) -> A with dropped weights marked, coupled (n rows of `stride`): what is left,
/// rescaled. Element (t, u) has index `first + t * n + u`.
#[apply(vectorised)]
pub fn drop<A: Arch, F: Real>(
    n: usize,
    a: &mut [F],
    stride: usize,
    dropout: &Dropout,
    first: u32,
    coupled: &mut [F],
) {
    let scale = F::from_f64(dropout.scale());
    for (t, (a, coupled)) in a.chunks_mut(stride).zip(coupled.chunks_mut(stride)).take(n).enumerate() {
        let (past, future) = coupled[..n].split_at_mut(t + 1);
        let start = first.wrapping_add((t * n) as u32);
        let a = &mut a[..past.len()];
        for u in 0..past.len() {
            let keeps = dropout.keeps(start.wrapping_add(u as u32));
            past[u] = if keeps { a[u] * scale } else { F::ZERO };
            a[u] = if keeps { a[u] } else { -a[u] };
        }
        future.fill(F::ZERO);
    }
}

/// A as `drop` left it -> coupled, the matrix that multiplied the values
#[apply(vectorised)]
pub fn kept<A: Arch, F: Real>(n: usize, a: &[F], stride: usize, dropout: &Dropout, coupled: &mut [F]) {
    let scale = F::from_f64(dropout.scale());
    for (t, (a, coupled)) in a.chunks(stride).zip(coupled.chunks_mut(stride)).take(n).enumerate() {
        let (past, future) = coupled[..n].split_at_mut(t + 1);
        for (&a, coupled) in a[..=t].iter().zip(past) {
            *coupled = if a.is_sign_negative() { F::ZERO } else { a * scale };
        }
        future.fill(F::ZERO);
    }
}

/// A as `drop` or `forward` left it, da (gradient of the coupled matrix) -> dscores in place of da; zeros
/// after the diagonal
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(n: usize, a: &[F], stride: usize, dropout: &Dropout, da: &mut [F]) {
    let scale = F::from_f64(dropout.scale());
    for (t, (a, da)) in a.chunks(stride).zip(da.chunks_mut(stride)).take(n).enumerate() {
        let (past, future) = da[..n].split_at_mut(t + 1);
        let a = &a[..=t];
        for (&a, da) in a.iter().zip(past.iter_mut()) {
            *da = if a.is_sign_negative() { F::ZERO } else { *da * scale };
        }
        // Kept weights are positive and dropped gradients are zero, so signs do not matter here.
        let mean = crate::reduce::dot::<A, F>(a, past);
        for (&a, da) in a.iter().zip(past) {
            *da = a.abs() * (*da - mean);
        }
        future.fill(F::ZERO);
    }
}
