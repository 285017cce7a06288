//! The gate maps of Equation (1) and what they make: columns of the preactivations, sets of stacked weights,
//! constants of the kernels.

use super::KuramotoPlan;
use kuramoto_model::KuramotoConfig;
use kuramoto_model::config::{GateActivation, Metric, Value};

/// Columns of the gate maps' joint output, in this order; absent maps are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sections {
    pub query: Option<usize>,
    pub key: Option<usize>,
    pub frame: Option<usize>,
    pub value: Option<usize>,
    pub total: usize,
}

impl Sections {
    pub fn new(config: &KuramotoConfig) -> Sections {
        let mut total = 0;
        let mut add = |present: bool, columns: usize| {
            let start = total;
            total += if present { columns } else { 0 };
            present.then_some(start)
        };
        let (k, gates) = (config.width, config.metric == Metric::Gates);
        let (query, key) = (add(gates, k), add(gates, k));
        let frame = add(has_frame(config), k * config.transport_rank);
        let value = add(config.value_gate || config.value == Value::Projection, k);
        Sections { query, key, frame, value, total }
    }
}

/// True if the score has a low-rank frame.
pub fn has_frame(config: &KuramotoConfig) -> bool {
    matches!(config.metric, Metric::Transport | Metric::ScoreTransport)
}

/// Gate maps whose weights are stacked.
#[derive(Clone, Debug)]
pub struct GateSet {
    /// Names of its first map's weight and bias.
    pub weight: String,
    pub bias: String,
    /// Where its outputs start in a row of preactivations, and how many there are.
    pub first: usize,
    pub columns: usize,
}

impl KuramotoPlan {
    /// The sets of gate maps of a layer that have outputs.
    pub(super) fn gate_sets(&self, layer: usize) -> Vec<GateSet> {
        let (config, sections, k) = (&self.config, self.sections, self.config.width);
        let value = if self.is_circular() { "wv" } else { "wval" };
        let metric = [
            (sections.query, "wq", k),
            (sections.key, "wk", k),
            (sections.frame, "wf", k * config.transport_rank),
        ];
        let own = format!("layers.{layer}.");
        let set = |prefix: &str, maps: &[(Option<usize>, &str, usize)]| {
            let present: Vec<_> =
                maps.iter().filter_map(|&(first, name, columns)| Some((first?, name, columns))).collect();
            let &(first, name, _) = present.first()?;
            Some(GateSet {
                weight: format!("{prefix}gates.{name}.weight"),
                bias: format!("{prefix}gates.{name}.bias"),
                first,
                columns: present.iter().map(|(.., columns)| columns).sum(),
            })
        };
        let value = [(sections.value, value, k)];
        let sets = if config.per_layer_metric_gates {
            [set("", &value), set(&own, &metric)]
        } else {
            let prefix = if config.per_layer_gates { &own } else { "" };
            [set(prefix, &[&metric[..], &value[..]].concat()), None]
        };
        sets.into_iter().flatten().collect()
    }
}

/// WGSL constants of the gates, frames and phasors; a row of phasors has `row` values.
pub fn constants(config: &KuramotoConfig, sections: &Sections, rank: usize, row: usize) -> String {
    let activation = match config.gate_activation {
        GateActivation::Softplus => 0,
        GateActivation::Sigmoid => 1,
        GateActivation::Linear => 2,
    };
    let integers = [
        ("PRE", sections.total),
        ("QUERY", sections.query.unwrap_or_default()),
        ("KEY", sections.key.unwrap_or_default()),
        ("FRAME", sections.frame.unwrap_or_default()),
        ("VALUE", sections.value.unwrap_or_default()),
        ("RANK", rank),
        ("EXTRA", 2 * rank),
        ("ROW", row),
        ("ACTIVATION", activation),
    ];
    let mut text: String =
        integers.iter().map(|(name, value)| format!("const {name}: u32 = {value}u;\n")).collect();
    for (name, value) in [("NORMALIZE", config.gate_normalization), ("WRAP", config.wrapped_angles)] {
        text.push_str(&format!("const {name}: bool = {value};\n"));
    }
    text
}
