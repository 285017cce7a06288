//! Configurations: everything that decides a model's parameters and what it computes.

use crate::error::{Error, Result, within};
use serde::{Deserialize, Serialize};

/// Largest width, depth and context accepted, so that no size computation can overflow.
pub const MAX_WIDTH: usize = 16_384;
/// Largest number of layers accepted.
pub const MAX_LAYERS: usize = 256;
/// Longest sequence a workspace can be planned for.
pub const MAX_CONTEXT: usize = 65_536;
/// Distinct bytes.
pub const MAX_VOCAB: usize = 256;

/// What weighs phase alignment in the score of Equation (1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Query and key gates, the diagonal metric.
    Gates,
    /// Nothing: g^q = g^k = 1.
    None,
    /// A learned low-rank frame, which also transports circular values.
    Transport,
    /// The learned low-rank frame in the score alone.
    ScoreTransport,
}

/// How the score knows of positions (Section 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drift {
    /// Every layer learns its rates omega.
    #[default]
    Learned,
    /// All layers learn one set of rates.
    Shared,
    /// The rates stay where they start, at the rotary schedule.
    Fixed,
    /// omega = 0: the score does not know of positions.
    None,
}

/// What makes a gate of its preactivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateActivation {
    /// log(1 + e^x).
    Softplus,
    /// 1 / (1 + e^-x).
    Sigmoid,
    /// x; gates may be negative.
    Linear,
}

/// What attention averages (Section 2.0.2, Remark 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// Phase states: the circular mean and its tangent, the Kuramoto step.
    Circular,
    /// A learned projection of the lifted phases.
    Projection,
}

/// The second update of Equation (1) (Section 2.0.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedForward {
    /// k -> 2k -> k with a gate.
    Swiglu,
    /// The same of the lifted phases: 2k -> 2k -> k.
    PhaseSwiglu,
    /// One k x k map with bias.
    Linear,
    /// No second increment.
    None,
}

impl FeedForward {
    /// True of both SwiGLUs.
    pub fn is_swiglu(self) -> bool {
        matches!(self, FeedForward::Swiglu | FeedForward::PhaseSwiglu)
    }

    /// True if it reads psi of the phases in place of the angles.
    pub fn reads_lift(self) -> bool {
        self == FeedForward::PhaseSwiglu
    }

    /// Features that it reads of k phases.
    pub fn inputs(self, k: usize) -> usize {
        if self.reads_lift() { 2 * k } else { k }
    }
}

/// How logits are read from the last phases (Section 2.0.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readout {
    /// Alignment with a prototype phase per byte.
    Phase,
    /// A linear map of the lifted phases, with bias.
    Linear,
}

/// Where the parameters of the Kuramoto model start. The paper fixes omega alone (the rotary schedule,
/// Section 3.5); these values were tuned on the validation split of enwik8 (`docs/reconstruction.md`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct KuramotoInit {
    /// Score scale tau times sqrt(k / h): the score of a token with itself at the start.
    pub self_score: f64,
    /// Logit scale.
    pub logit_scale: f64,
    /// Standard deviation of embedding phases, radians.
    pub embedding_spread: f64,
    /// Standard deviation of prototype phases, radians.
    pub prototype_spread: f64,
    /// Bias of the value gate.
    pub value_gate_bias: f64,
    /// Radius of the attention bound, radians.
    pub attention_radius: f64,
    /// Radius of the feed-forward bound, radians.
    pub feed_forward_radius: f64,
    /// Standard deviation of low-rank frame entries.
    pub frame_spread: f64,
}

impl Default for KuramotoInit {
    fn default() -> Self {
        KuramotoInit {
            self_score: 2.0,
            logit_scale: 3.0,
            embedding_spread: 0.3,
            prototype_spread: 0.3,
            value_gate_bias: 1.0,
            attention_radius: 1.0,
            feed_forward_radius: 1.0,
            frame_spread: 0.02,
        }
    }
}

/// The Kuramoto model. Defaults are the paper's reference at one million parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct KuramotoConfig {
    /// V, distinct bytes of the corpus.
    pub vocab: usize,
    /// k, oscillators per token.
    pub width: usize,
    /// L.
    pub layers: usize,
    /// h, dividing k.
    pub heads: usize,
    /// Probability of dropping an attention weight or a coordinate of an increment while training.
    pub dropout: f64,
    /// What weighs phase alignment in the score.
    pub metric: Metric,
    /// Makes gates of their preactivations; only with `metric = "gates"`.
    pub gate_activation: GateActivation,
    /// Divides gates by their mean over the head; only with `metric = "gates"`.
    pub gate_normalization: bool,
    /// r of the low-rank frame; only with `metric = "transport"` or `"score-transport"`.
    pub transport_rank: usize,
    /// Every layer has gate maps of its own.
    pub per_layer_gates: bool,
    /// Every layer has query and key gate maps of its own, and all share one value gate map.
    #[serde(skip_serializing_if = "is_default")]
    pub per_layer_metric_gates: bool,
    /// How the score knows of positions.
    #[serde(skip_serializing_if = "is_default")]
    pub drift: Drift,
    /// Values are read in the receiver's rotating frame; only with `value = "circular"`.
    #[serde(skip_serializing_if = "is_default")]
    pub drift_in_values: bool,
    /// Phases are taken to (-pi, pi] at the start of each layer.
    #[serde(skip_serializing_if = "is_default")]
    pub wrapped_angles: bool,
    /// What attention averages.
    pub value: Value,
    /// Signed gate on the Kuramoto direction; only with `value = "circular"`.
    pub value_gate: bool,
    /// Bounds the attention increment.
    pub value_bound: bool,
    /// What computes the second update of Equation (1).
    pub feed_forward: FeedForward,
    /// One feed-forward block serves all layers.
    pub shared_feed_forward: bool,
    /// How logits are read.
    pub readout: Readout,
    /// Base of the geometric schedule the drift rates start from.
    pub rotary_base: f64,
    /// Where the parameters start.
    pub init: KuramotoInit,
}

impl Default for KuramotoConfig {
    fn default() -> Self {
        KuramotoConfig {
            vocab: 205,
            width: 176,
            layers: 4,
            heads: 1,
            dropout: 0.1,
            metric: Metric::Gates,
            gate_activation: GateActivation::Softplus,
            gate_normalization: true,
            transport_rank: 4,
            per_layer_gates: false,
            per_layer_metric_gates: false,
            drift: Drift::Learned,
            drift_in_values: false,
            wrapped_angles: false,
            value: Value::Circular,
            value_gate: true,
            value_bound: true,
            feed_forward: FeedForward::Swiglu,
            shared_feed_forward: false,
            readout: Readout::Phase,
            rotary_base: 10_000.0,
            init: KuramotoInit::default(),
        }
    }
}

impl KuramotoConfig {
    /// Says what is wrong, if anything.
    pub fn validate(&self) -> Result<()> {
        sizes(self.vocab, self.width, self.layers, self.heads, self.dropout, self.rotary_base)?;
        if matches!(self.metric, Metric::Transport | Metric::ScoreTransport) {
            within("transport-rank", self.transport_rank, 1..=self.width / self.heads)?;
        }
        let conflicts = [
            (
                self.feed_forward == FeedForward::None && self.shared_feed_forward,
                ["feed-forward = \"none\"", "shared-feed-forward = true"],
                "there is no feed-forward block to share; set shared-feed-forward = false",
            ),
            (
                self.per_layer_metric_gates && self.metric != Metric::Gates,
                ["per-layer-metric-gates = true", "a metric without gates"],
                "there are no query and key gates to give each layer; set metric = \"gates\"",
            ),
            (
                self.per_layer_metric_gates && self.per_layer_gates,
                ["per-layer-metric-gates = true", "per-layer-gates = true"],
                "the latter gives each layer all gates; choose one",
            ),
            (
                self.drift_in_values && self.value != Value::Circular,
                ["drift-in-values = true", "value = \"projection\""],
                "projected values are no phases; set value = \"circular\"",
            ),
            (
                self.drift_in_values && self.metric == Metric::Transport,
                ["drift-in-values = true", "metric = \"transport\""],
                "the frame transports values without drift; set metric = \"score-transport\"",
            ),
            (
                self.drift_in_values && self.drift == Drift::None,
                ["drift-in-values = true", "drift = \"none\""],
                "there is no drift for the values to have; choose one",
            ),
        ];
        if let Some((_, [first, second], why)) = conflicts.into_iter().find(|(found, ..)| *found) {
            return Err(Error::Conflict { first: first.into(), second: second.into(), why: why.into() });
        }
        positive("init.attention-radius", self.init.attention_radius)?;
        positive("init.feed-forward-radius", self.init.feed_forward_radius)
    }
}

/// The matched transformer. Defaults are the paper's at one million parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TransformerConfig {
    /// V, distinct bytes of the corpus.
    pub vocab: usize,
    /// d, channels per token.
    pub width: usize,
    /// L.
    pub layers: usize,
    /// h, dividing d.
    pub heads: usize,
    /// Probability of dropping an attention weight or a coordinate of an increment while training.
    pub dropout: f64,
    /// Base of the rotary angles.
    pub rotary_base: f64,
    /// Standard deviation the embedding starts with.
    pub embedding_spread: f64,
}

impl Default for TransformerConfig {
    fn default() -> Self {
        TransformerConfig {
            vocab: 205,
            width: 120,
            layers: 4,
            heads: 1,
            dropout: 0.1,
            rotary_base: 10_000.0,
            embedding_spread: 1.0,
        }
    }
}

impl TransformerConfig {
    /// Says what is wrong, if anything.
    pub fn validate(&self) -> Result<()> {
        sizes(self.vocab, self.width, self.layers, self.heads, self.dropout, self.rotary_base)
    }
}

/// Keys beyond the paper's switches are only saved where they are used, so that a configuration without them
/// stays what it was.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Checks a planned sequence length.
pub fn check_context(context: usize) -> Result<()> {
    within("context", context, 1..=MAX_CONTEXT)
}

fn sizes(
    vocab: usize,
    width: usize,
    layers: usize,
    heads: usize,
    dropout: f64,
    rotary_base: f64,
) -> Result<()> {
    within("vocab", vocab, 1..=MAX_VOCAB)?;
    within("width", width, 1..=MAX_WIDTH)?;
    within("layers", layers, 1..=MAX_LAYERS)?;
    within("heads", heads, 1..=width)?;
    if !width.is_multiple_of(heads) {
        let allowed = format!("it must divide width = {width}");
        return Err(Error::Field { field: "heads", value: heads.to_string(), allowed });
    }
    if !(0.0..1.0).contains(&dropout) {
        let allowed = "it must be at least 0 and less than 1".into();
        return Err(Error::Field { field: "dropout", value: dropout.to_string(), allowed });
    }
    positive("rotary-base", rotary_base)
}

fn positive(field: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::Field { field, value: value.to_string(), allowed: "it must be positive and finite".into() })
}
