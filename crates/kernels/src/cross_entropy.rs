//! Cross-entropy of scaled logits.

use crate::Real;
use crate::arch::Arch;
use crate::reduce::{dot, max, sum_of};
use macro_rules_attribute::apply;

/// raw (n x vocab), targets (n) -> losses (n) in nats; raw becomes exp(scale (raw - max)) of each row
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(vocab: usize, scale: F, targets: &[u8], raw: &mut [F], losses: &mut [f64]) {
    for ((raw, &target), loss) in raw.chunks_exact_mut(vocab).zip(targets).zip(losses) {
        let chosen = scale * raw[usize::from(target)];
        // With a negative scale the largest logit is not the largest raw value.
        for x in raw.iter_mut() {
            *x *= scale;
        }
        let largest = max(raw);
        for x in raw.iter_mut() {
            *x = (*x - largest).exp::<A>();
        }
        *loss = sum_of(raw, |x| x).to_f64().ln() + (largest - chosen).to_f64();
    }
}

/// raw (n x vocab), targets (n) -> losses (n) in nats; draw = `weight` * d loss / d raw in place of raw;
/// returns `weight` * d loss / d scale
#[apply(vectorised)]
pub fn forward_backward<A: Arch, F: Real>(
    vocab: usize,
    scale: F,
    weight: F,
    targets: &[u8],
    raw: &mut [F],
    losses: &mut [f64],
    spare: &mut [F],
) -> f64 {
    let mut dscale = 0.0;
    for ((raw, &target), loss) in raw.chunks_exact_mut(vocab).zip(targets).zip(losses) {
        let target = usize::from(target);
        let logits = &mut spare[..vocab];
        for (logit, &raw) in logits.iter_mut().zip(raw.iter()) {
            *logit = scale * raw;
        }
        let largest = max(logits);
        let chosen = logits[target];
        for x in logits.iter_mut() {
            *x = (*x - largest).exp::<A>();
        }
        let sum = sum_of(logits, |x| x);
        *loss = sum.to_f64().ln() + (largest - chosen).to_f64();
        let by = weight / sum;
        for x in logits.iter_mut() {
            *x *= by;
        }
        logits[target] -= weight;
        dscale += dot::<A, F>(logits, raw).to_f64();
        for (raw, &dlogit) in raw.iter_mut().zip(logits.iter()) {
            *raw = scale * dlogit;
        }
    }
    dscale
}
