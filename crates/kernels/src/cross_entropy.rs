//! The loss: cross-entropy of logits times a scale. The logits of the phase-alignment readout (Section 2.0.4)
//! are raw alignments, and the scale is learned.

use crate::Real;
use crate::arch::Arch;
use crate::reduce::{dot, max, sum_of};
use macro_rules_attribute::apply;

/// logits (n x vocab), targets (n) -> losses (n) in nats; a row of logits becomes exp(scale logits - max)
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(
    vocab: usize,
    scale: F,
    targets: &[u8],
    logits: &mut [F],
    losses: &mut [f64],
) {
    for ((logits, &target), loss) in logits.chunks_exact_mut(vocab).zip(targets).zip(losses) {
        let chosen = scale * logits[usize::from(target)];
        // With a negative scale the largest scaled logit is not the largest logit.
        for x in logits.iter_mut() {
            *x *= scale;
        }
        let largest = max(logits);
        for x in logits.iter_mut() {
            *x = (*x - largest).exp::<A>();
        }
        *loss = sum_of(logits, |x| x).to_f64().ln() + (largest - chosen).to_f64();
    }
}

/// logits (n x vocab), targets (n) -> losses (n) in nats; `weight` * d loss / d logits in place of logits;
/// returns `weight` * d loss / d scale; `row` (vocab) is scratch
#[apply(vectorised)]
pub fn forward_backward<A: Arch, F: Real>(
    vocab: usize,
    scale: F,
    weight: F,
    targets: &[u8],
    logits: &mut [F],
    losses: &mut [f64],
    row: &mut [F],
) -> f64 {
    let mut dscale = 0.0;
    for ((logits, &target), loss) in logits.chunks_exact_mut(vocab).zip(targets).zip(losses) {
        let target = usize::from(target);
        let row = &mut row[..vocab];
        for (x, &logit) in row.iter_mut().zip(logits.iter()) {
            *x = scale * logit;
        }
        let largest = max(row);
        let chosen = row[target];
        for x in row.iter_mut() {
            *x = (*x - largest).exp::<A>();
        }
        let sum = sum_of(row, |x| x);
        *loss = sum.to_f64().ln() + (largest - chosen).to_f64();
        let by = weight / sum;
        for x in row.iter_mut() {
            *x *= by;
        }
        row[target] -= weight;
        dscale += dot::<A, F>(row, logits).to_f64();
        for (logit, &dx) in logits.iter_mut().zip(row.iter()) {
            *logit = scale * dx;
        }
    }
    dscale
}
