//! AdamW: Adam with decoupled weight decay (Appendix B, training).

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// The numbers of one update, the same for every parameter it is applied to.
#[derive(Clone, Copy, Debug)]
pub struct AdamW {
    /// Learning rate.
    pub learning_rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Decoupled weight decay, times the learning rate.
    pub weight_decay: f64,
    /// Gradients are multiplied by this first: the global-norm clip.
    pub gradient_scale: f64,
    /// Which update this is, from 1: corrects the moments' bias towards zero.
    pub step: u64,
}

/// gradient (n) -> parameters, first, second (n each), updated
#[apply(vectorised)]
pub fn update<A: Arch, F: Real>(
    how: &AdamW,
    parameters: &mut [F],
    gradient: &[F],
    first: &mut [F],
    second: &mut [F],
) {
    let correction = |beta: f64| 1.0 - beta.powi(how.step.min(i32::MAX as u64) as i32);
    let scale = F::from_f64(how.gradient_scale);
    let (beta1, rest1) = (F::from_f64(how.beta1), F::from_f64(1.0 - how.beta1));
    let (beta2, rest2) = (F::from_f64(how.beta2), F::from_f64(1.0 - how.beta2));
    let keep = F::from_f64(1.0 - how.learning_rate * how.weight_decay);
    let rate = F::from_f64(how.learning_rate / correction(how.beta1));
    let root = F::from_f64(1.0 / correction(how.beta2).sqrt());
    let epsilon = F::from_f64(how.epsilon);
    let moments = first.iter_mut().zip(second.iter_mut());
    for ((parameter, &gradient), (first, second)) in parameters.iter_mut().zip(gradient).zip(moments) {
        let gradient = gradient * scale;
        *first = beta1 * *first + rest1 * gradient;
        *second = beta2 * *second + rest2 * gradient * gradient;
        *parameter = keep * *parameter - rate * *first / (second.sqrt() * root + epsilon);
    }
}
