//! The thirteen rows of the paper's Table 3, and variants beyond it, each one switch away from the reference.

use crate::config::{Drift, FeedForward, GateActivation, KuramotoConfig, Metric, Readout, Value};
use crate::error::{Error, Result};

/// One row of the ablation table, or a variant beyond it.
#[derive(Clone, Copy, Debug)]
pub struct Ablation {
    /// Name on the command line and in files.
    pub name: &'static str,
    /// The row's title in the paper, or what the variant changes.
    pub title: &'static str,
    /// What it switches; two ablations that switch the same thing contradict each other.
    axis: Axis,
    apply: fn(&mut KuramotoConfig),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Metric,
    GateShape,
    GateNormalization,
    GateSharing,
    Value,
    ValueGate,
    ValueBound,
    FeedForward,
    FeedForwardSharing,
    Readout,
    Drift,
    DriftInValues,
    Wrapping,
}

/// All rows of the paper's table, in its order.
pub const ABLATIONS: [Ablation; 13] = [
    row("low-rank-transport", "low-rank value transport", Axis::Metric, |c| c.metric = Metric::Transport),
    row("no-feed-forward", "remove feed-forward block", Axis::FeedForward, |c| {
        c.feed_forward = FeedForward::None
    }),
    row("value-projection", "learned value projection", Axis::Value, |c| c.value = Value::Projection),
    row("no-value-gate", "remove value gate", Axis::ValueGate, |c| c.value_gate = false),
    row("no-metric-gates", "remove metric gates", Axis::Metric, |c| c.metric = Metric::None),
    row("linear-feed-forward", "linear feed-forward map", Axis::FeedForward, |c| {
        c.feed_forward = FeedForward::Linear
    }),
    row("per-layer-gates", "per-layer (unshared) gates", Axis::GateSharing, |c| c.per_layer_gates = true),
    row("shared-feed-forward", "shared feed-forward block", Axis::FeedForwardSharing, |c| {
        c.shared_feed_forward = true
    }),
    row("no-gate-normalization", "remove gate normalization", Axis::GateNormalization, |c| {
        c.gate_normalization = false
    }),
    row("no-value-bound", "remove value bound", Axis::ValueBound, |c| c.value_bound = false),
    row("linear-readout", "linear readout", Axis::Readout, |c| c.readout = Readout::Linear),
    row("sigmoid-gates", "sigmoid metric gates", Axis::GateShape, |c| {
        c.gate_activation = GateActivation::Sigmoid
    }),
    row("linear-gates", "linear (signed) metric gates", Axis::GateShape, |c| {
        c.gate_activation = GateActivation::Linear
    }),
];

/// What the paper discusses and has no row for.
pub const VARIANTS: [Ablation; 8] = [
    row("no-drift", "remove drift", Axis::Drift, |c| c.drift = Drift::None),
    row("fixed-drift", "fixed rotary drift", Axis::Drift, |c| c.drift = Drift::Fixed),
    row("shared-drift", "one drift for all layers", Axis::Drift, |c| c.drift = Drift::Shared),
    row("drift-in-values", "drift in values", Axis::DriftInValues, |c| c.drift_in_values = true),
    row("wrapped-angles", "angles wrapped in each layer", Axis::Wrapping, |c| c.wrapped_angles = true),
    row("unshared-metric-gates", "per-layer query and key gates", Axis::GateSharing, |c| {
        c.per_layer_metric_gates = true
    }),
    row("score-transport", "low-rank transport in the score", Axis::Metric, |c| {
        c.metric = Metric::ScoreTransport
    }),
    row("phase-feed-forward", "feed-forward block on the lifted phases", Axis::FeedForward, |c| {
        c.feed_forward = FeedForward::PhaseSwiglu
    }),
];

const fn row(
    name: &'static str,
    title: &'static str,
    axis: Axis,
    apply: fn(&mut KuramotoConfig),
) -> Ablation {
    Ablation { name, title, axis, apply }
}

/// A name belongs to one row.
impl PartialEq for Ablation {
    fn eq(&self, other: &Ablation) -> bool {
        self.name == other.name
    }
}

impl Eq for Ablation {}

impl Ablation {
    /// The paper's rows, then the variants.
    pub fn all() -> impl Iterator<Item = Ablation> {
        ABLATIONS.into_iter().chain(VARIANTS)
    }

    /// Looks a row or variant up, or fails with the names there are.
    pub fn named(name: &str) -> Result<Ablation> {
        Ablation::all().find(|a| a.name == name).ok_or_else(|| Error::Field {
            field: "ablation",
            value: format!("{name:?}"),
            allowed: format!(
                "choose from {}, or beyond the paper's table {}",
                ABLATIONS.map(|a| a.name).join(", "),
                VARIANTS.map(|a| a.name).join(", ")
            ),
        })
    }
}

/// Switches `config` by every ablation of `names`, or says which two contradict each other.
pub fn apply(config: &mut KuramotoConfig, names: &[impl AsRef<str>]) -> Result<()> {
    let chosen = names.iter().map(|name| Ablation::named(name.as_ref())).collect::<Result<Vec<_>>>()?;
    for (i, first) in chosen.iter().enumerate() {
        for second in &chosen[i + 1..] {
            if let Some(why) = contradiction(first, second).or_else(|| contradiction(second, first)) {
                return Err(Error::Conflict {
                    first: first.name.into(),
                    second: second.name.into(),
                    why: why.into(),
                });
            }
        }
    }
    for ablation in chosen {
        (ablation.apply)(config);
    }
    config.validate()
}

/// Names of the rows and variants that `config` is switched by, in their order.
pub fn applied(config: &KuramotoConfig) -> Vec<&'static str> {
    let is_applied = |ablation: &Ablation| {
        let mut switched = config.clone();
        (ablation.apply)(&mut switched);
        switched == *config
    };
    Ablation::all().filter(is_applied).map(|ablation| ablation.name).collect()
}

/// Why `second` means nothing once `first` is applied.
fn contradiction(first: &Ablation, second: &Ablation) -> Option<&'static str> {
    match (first.name, second.axis) {
        _ if first.name == second.name => Some("the same ablation is named twice"),
        _ if first.axis == second.axis => Some("both change the same part in different ways; choose one"),
        (
            "low-rank-transport" | "no-metric-gates" | "score-transport",
            Axis::GateShape | Axis::GateNormalization,
        ) => Some("without query and key gates there is no gate to shape or normalize; choose one"),
        ("low-rank-transport" | "no-metric-gates" | "score-transport", _)
            if second.name == "unshared-metric-gates" =>
        {
            Some("without query and key gates there is nothing to give each layer; choose one")
        }
        ("value-projection", Axis::DriftInValues) => {
            Some("projected values are no phases that could drift; choose one")
        }
        ("low-rank-transport", Axis::DriftInValues) => {
            Some("the frame transports values without drift; choose one")
        }
        ("no-drift", Axis::DriftInValues) => Some("there is no drift for the values to have; choose one"),
        ("value-projection", Axis::ValueGate) => {
            Some("the value projection already replaces the value gate; drop it")
        }
        ("no-feed-forward", Axis::FeedForwardSharing) => {
            Some("there is no feed-forward block left to share; choose one")
        }
        _ => None,
    }
}
