//! Where training is: all that a resumed run needs besides the arenas.

use crate::config::{BadSteps, Policy};
use crate::metrics::Row;
use serde::{Deserialize, Serialize};

/// Saved as `state.json` in every checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Steps taken, skipped ones too.
    pub step: u64,
    /// Updates applied, which is what AdamW counts.
    pub updates: u64,
    /// Bytes read.
    pub tokens: u64,
    /// Mean loss of recent steps, nats per byte.
    pub recent_loss: Option<f64>,
    /// Bad steps since the last good one.
    pub consecutive_bad: u64,
    /// Bad steps in all.
    pub bad_steps: u64,
    /// The last validation, bits per byte.
    pub validation: Option<f64>,
    /// The best validation so far.
    pub best: Option<Best>,
    /// Validations since the best.
    pub since_best: u64,
    /// Seconds of training, over all resumes. It depends on the machine, as `devices` does.
    pub seconds: f64,
    /// What computed the steps, in order. Two runs are the same bits as far as their devices are the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Stretch>,
    /// The row of the last step while its validation is still to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unvalidated: Option<Box<Row>>,
}

/// Steps that one device computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// The first of them; they end where the next stretch begins.
    pub from_step: u64,
    /// Its name. Devices of one name give the same bits.
    pub device: String,
}

/// A validation that no other was better than.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// After which step.
    pub step: u64,
    /// Bits per byte.
    pub bits_per_byte: f64,
}

/// Least weight of one step in the mean of recent losses.
const RECENT: f64 = 0.05;
/// Steps before a mean of losses says anything about what is usual.
const SETTLED: u64 = 50;

/// Nats per byte below which a loss may multiply without having diverged: one rare byte in a dull text.
const LEAST_USUAL: f64 = 0.5;

impl State {
    /// The last step whose row is complete.
    pub(crate) fn recorded(&self) -> u64 {
        self.step - u64::from(self.unvalidated.is_some() && self.step > 0)
    }

    /// The name of the device that computes the next step, if the one before was computed by another.
    pub(crate) fn change_to(&self, device: &str) -> Option<String> {
        let same = self.devices.last().is_some_and(|last| last.device == device);
        (!same).then(|| device.into())
    }

    /// The devices, if they are more than one or the first is not known: what a summary lists.
    pub(crate) fn changes(&self) -> Vec<Stretch> {
        let moved = self.devices.len() > 1 || self.devices.first().is_some_and(|first| first.from_step > 1);
        if moved { self.devices.clone() } else { Vec::new() }
    }

    /// Takes the loss of a good step into the recent mean.
    pub(crate) fn observe(&mut self, loss: f64) {
        // A plain mean at first, so that the high losses of the first steps are soon forgotten.
        let weight = RECENT.max(1.0 / self.updates.max(1) as f64);
        self.recent_loss = Some(self.recent_loss.map_or(loss, |recent| recent + weight * (loss - recent)));
        self.consecutive_bad = 0;
    }

    /// Why a step must not be applied, if so.
    pub(crate) fn objection(&self, loss: f64, norm: f64, bad_steps: &BadSteps) -> Option<String> {
        if !loss.is_finite() {
            return Some(format!("the loss is {loss}"));
        }
        if !norm.is_finite() {
            return Some(format!("the gradient norm is {norm}"));
        }
        let (recent, spike) = match bad_steps.policy {
            Policy::Continue => return None,
            Policy::Stop | Policy::Skip => (self.recent_loss?, bad_steps.spike),
        };
        (spike > 0.0 && self.updates >= SETTLED && loss > spike * recent.max(LEAST_USUAL)).then(|| {
            let bits = |nats: f64| nats / std::f64::consts::LN_2;
            format!("the loss leapt from {:.3} to {:.3} bits per byte", bits(recent), bits(loss))
        })
    }

    /// Takes a validation; true if it is the best so far.
    pub(crate) fn judge(&mut self, bits_per_byte: f64) -> bool {
        // What is not finite is no result: it cannot be saved as JSON, and nothing would ever be better.
        self.validation = bits_per_byte.is_finite().then_some(bits_per_byte);
        let better =
            bits_per_byte.is_finite() && self.best.is_none_or(|best| bits_per_byte < best.bits_per_byte);
        if better {
            self.best = Some(Best { step: self.step, bits_per_byte });
            self.since_best = 0;
        } else {
            self.since_best += 1;
        }
        better
    }
}
