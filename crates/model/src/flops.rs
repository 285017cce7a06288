//! The arithmetic the mathematical model asks for, counted from the configuration alone.
//!
//! Only matrix products count, two operations per multiply-add: shared gates once per layer that
//! uses them, causal attention at its true half, a training step at three times a forward pass.
//! Savings of the implementation, such as layer 0's table by byte, do not lower the count, and
//! elementwise work does not raise it.

use crate::config::{FeedForward, KuramotoConfig, Metric, TransformerConfig, Value};
use crate::model_config::ModelConfig;

/// Floating-point operations per token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flops {
    /// Of a forward pass.
    pub forward: f64,
    /// Of a training step: forward, and twice as much backward.
    pub training: f64,
}

impl Flops {
    fn from_multiply_adds(multiply_adds: f64) -> Self {
        Flops { forward: 2.0 * multiply_adds, training: 6.0 * multiply_adds }
    }
}

/// Tokens a token attends to, averaged over a sequence: its past and itself.
fn attended(context: usize) -> f64 {
    (context as f64 + 1.0) / 2.0
}

/// Per token of sequences of `context` tokens.
pub fn count(config: &ModelConfig, context: usize) -> Flops {
    match config {
        ModelConfig::Kuramoto(config) => kuramoto(config, context),
        ModelConfig::Transformer(config) => transformer(config, context),
    }
}

fn kuramoto(config: &KuramotoConfig, context: usize) -> Flops {
    let (k, layers) = (config.width as f64, config.layers as f64);
    let per_head = (config.transport_rank * config.heads) as f64;
    let (score_frames, value_frames) = match config.metric {
        Metric::Transport => (per_head, per_head),
        Metric::ScoreTransport => (per_head, 0.0),
        Metric::Gates | Metric::None => (0.0, 0.0),
    };
    let outputs = crate::kuramoto::gate_outputs(config) as f64;
    let scores = 2.0 * k + 2.0 * score_frames;
    let values = match config.value {
        Value::Circular => 2.0 * k + 2.0 * value_frames,
        Value::Projection => k,
    };
    // A frame contracts drifted phasors for the score; for values it contracts plain ones and expands their
    // mean. Each is 2 k r.
    let frame = 2.0 * k * config.transport_rank as f64;
    let frames = match config.metric {
        Metric::Transport => 3.0 * frame,
        Metric::ScoreTransport => frame,
        Metric::Gates | Metric::None => 0.0,
    };
    let feed_forward = match config.feed_forward {
        FeedForward::Swiglu => 6.0 * k * k,
        FeedForward::PhaseSwiglu => 10.0 * k * k,
        FeedForward::Linear => k * k,
        FeedForward::None => 0.0,
    };
    let layer = outputs * 2.0 * k + (scores + values) * attended(context) + frames + feed_forward;
    // Both readouts are one product with the lifted phases.
    Flops::from_multiply_adds(layers * layer + 2.0 * k * config.vocab as f64)
}

fn transformer(config: &TransformerConfig, context: usize) -> Flops {
    let d = config.width as f64;
    let layer = 16.0 * d * d + 2.0 * d * attended(context);
    Flops::from_multiply_adds(config.layers as f64 * layer + d * config.vocab as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_sizes() {
        let millions = |flops: Flops| (flops.training / 1e5).round() / 10.0;
        let ka = |width| kuramoto(&KuramotoConfig { width, ..Default::default() }, 256);
        let tf = |width| transformer(&TransformerConfig { width, ..Default::default() }, 256);
        assert_eq!([ka(176), tf(120), ka(400), tf(276)].map(millions), [11.5, 6.4, 52.0, 31.3]);
    }
}
