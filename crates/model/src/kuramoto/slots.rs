//! Where each parameter of the Kuramoto model lies in the arena.

use crate::config::{Drift, FeedForward, KuramotoConfig, Metric, Readout, Value};
use crate::layout::{Layout, ParameterKind, Slot};

/// Columns of the gate maps' joint output `preactivations`, in this order; absent maps are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sections {
    pub query: Option<usize>,
    pub key: Option<usize>,
    pub frame: Option<usize>,
    /// The value gate, or the projected values.
    pub value: Option<usize>,
    /// m, all columns together.
    pub total: usize,
}

/// Gate maps side by side: weights stacked (columns x 2k), biases stacked (columns).
#[derive(Clone, Copy, Debug)]
pub struct GateSlots {
    /// Where their outputs start in a row of `preactivations`.
    pub first: usize,
    pub columns: usize,
    pub weight: Slot,
    pub bias: Slot,
}

/// One feed-forward block.
#[derive(Clone, Copy, Debug)]
pub enum FeedForwardSlots {
    /// gate and up stacked (4k x k, or 4k x 2k of lifted phases), down (k x 2k) and its bias.
    Swiglu { gate_up: Slot, down: Slot, bias: Slot },
    /// (k x k) and its bias.
    Linear { weight: Slot, bias: Slot },
}

/// What a layer owns, and which of the gate and feed-forward sets it uses.
#[derive(Clone, Copy, Debug)]
pub struct LayerSlots {
    pub log_r1: Option<usize>,
    pub log_r2: Option<usize>,
    /// The sets of gate maps whose outputs make up `preactivations`.
    pub gates: [Option<usize>; 2],
    pub feed_forward: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub enum ReadoutSlots {
    Phase { proto: Slot },
    Linear { weight: Slot, bias: Slot },
}

#[derive(Clone, Debug)]
pub struct Slots {
    pub emb: Slot,
    pub tau: Slot,
    pub sections: Sections,
    pub gates: Vec<GateSlots>,
    /// Drift rates that are learned: of each layer, one set for all, or none.
    pub omega: Vec<Slot>,
    pub feed_forward: Vec<FeedForwardSlots>,
    pub layers: Vec<LayerSlots>,
    pub readout: ReadoutSlots,
    pub logit_scale: Slot,
    /// In a lane's gradient, after the parameters: the lifted prototypes (V x 2k);
    /// empty with a linear readout.
    pub table_proto: Slot,
    /// In a lane's gradient, at its end: layer 0's table of `preactivations` (V x m).
    pub table_preactivations: Slot,
    pub gradient_len: usize,
}

/// Sections of `preactivations` that the configuration has.
pub fn sections(config: &KuramotoConfig) -> Sections {
    let k = config.width;
    let mut sections = Sections::default();
    let mut add = |present: bool, columns: usize| {
        let start = sections.total;
        sections.total += if present { columns } else { 0 };
        present.then_some(start)
    };
    let gates = config.metric == Metric::Gates;
    let (query, key) = (add(gates, k), add(gates, k));
    let frames = matches!(config.metric, Metric::Transport | Metric::ScoreTransport);
    let frame = add(frames, k * config.transport_rank);
    let value = add(config.value_gate || config.value == Value::Projection, k);
    Sections { query, key, frame, value, ..sections }
}

/// Which gate maps a set holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Maps {
    All,
    Metric,
    Value,
}

fn add_gates(layout: &mut Layout, prefix: &str, maps: Maps, config: &KuramotoConfig) -> GateSlots {
    let (k, sections) = (config.width, sections(config));
    let value = if config.value == Value::Circular { "wv" } else { "wval" };
    let metric = [
        (sections.query, "wq", k),
        (sections.key, "wk", k),
        (sections.frame, "wf", k * config.transport_rank),
    ];
    let value = [(sections.value, value, k)];
    let metric = metric.iter().filter(|_| maps != Maps::Value);
    let value = value.iter().filter(|_| maps != Maps::Metric);
    let present = metric.chain(value).filter_map(|&(first, name, rows)| Some((first?, name, rows)));
    let first = present.clone().next().map_or(0, |(first, ..)| first);
    let columns = present.clone().map(|(.., rows)| rows).sum();
    let mut weight = Slot::default();
    for (_, name, rows) in present.clone() {
        weight = weight.join(layout.add(
            format!("{prefix}gates.{name}.weight"),
            &[rows, 2 * k],
            ParameterKind::Weight,
        ));
    }
    let mut bias = Slot::default();
    for (_, name, rows) in present {
        bias = bias.join(layout.add(format!("{prefix}gates.{name}.bias"), &[rows], ParameterKind::Bias));
    }
    GateSlots { first, columns, weight, bias }
}

fn add_feed_forward(layout: &mut Layout, prefix: &str, config: &KuramotoConfig) -> Option<FeedForwardSlots> {
    let k = config.width;
    match config.feed_forward {
        FeedForward::Swiglu | FeedForward::PhaseSwiglu => {
            let shape = [2 * k, config.feed_forward.inputs(k)];
            let gate = layout.add(format!("{prefix}ffn.gate.weight"), &shape, ParameterKind::Weight);
            let up = layout.add(format!("{prefix}ffn.up.weight"), &shape, ParameterKind::Weight);
            let down = layout.add(format!("{prefix}ffn.down.weight"), &[k, 2 * k], ParameterKind::Weight);
            let bias = layout.add(format!("{prefix}ffn.down.bias"), &[k], ParameterKind::Bias);
            Some(FeedForwardSlots::Swiglu { gate_up: gate.join(up), down, bias })
        }
        FeedForward::Linear => {
            let weight = layout.add(format!("{prefix}ffn.weight"), &[k, k], ParameterKind::Weight);
            let bias = layout.add(format!("{prefix}ffn.bias"), &[k], ParameterKind::Bias);
            Some(FeedForwardSlots::Linear { weight, bias })
        }
        FeedForward::None => None,
    }
}

/// Lays the parameters out in the order of the paper's count: embedding, shared gates, tau, layers, readout.
pub fn lay_out(config: &KuramotoConfig) -> (Layout, Slots) {
    let (vocab, k) = (config.vocab, config.width);
    let mut layout = Layout::default();
    let emb = layout.add("emb", &[vocab, k], ParameterKind::Phase);
    let mut gates = Vec::new();
    let mut omega = Vec::new();
    let mut feed_forward = Vec::new();
    let (shared, own) = match (config.per_layer_gates, config.per_layer_metric_gates) {
        (true, _) => (None, Some(Maps::All)),
        (false, true) => (Some(Maps::Value), Some(Maps::Metric)),
        (false, false) => (Some(Maps::All), None),
    };
    gates.extend(shared.map(|maps| add_gates(&mut layout, "", maps, config)));
    let shared = shared.map(|_| 0);
    let tau = layout.add("tau", &[], ParameterKind::Scalar);
    if config.drift == Drift::Shared {
        omega.push(layout.add("omega", &[k], ParameterKind::Rate));
    }
    if config.shared_feed_forward {
        feed_forward.extend(add_feed_forward(&mut layout, "", config));
    }
    let mut layers = Vec::new();
    for i in 0..config.layers {
        let prefix = format!("layers.{i}.");
        gates.extend(own.map(|maps| add_gates(&mut layout, &prefix, maps, config)));
        let own = own.map(|_| gates.len() - 1);
        if config.drift == Drift::Learned {
            omega.push(layout.add(format!("{prefix}omega"), &[k], ParameterKind::Rate));
        }
        if !config.shared_feed_forward {
            feed_forward.extend(add_feed_forward(&mut layout, &prefix, config));
        }
        let mut radius = |present: bool, name: &str| {
            present.then(|| layout.add(format!("{prefix}{name}"), &[], ParameterKind::Scalar).start)
        };
        let log_r1 = radius(config.value_bound, "log_r1");
        let log_r2 = radius(config.feed_forward != FeedForward::None, "log_r2");
        let feed_forward = feed_forward.len().checked_sub(1);
        layers.push(LayerSlots { log_r1, log_r2, gates: [shared, own], feed_forward });
    }
    let (readout, logit_scale) = match config.readout {
        Readout::Phase => {
            let proto = layout.add("proto", &[vocab, k], ParameterKind::Phase);
            (ReadoutSlots::Phase { proto }, layout.add("logit_scale", &[], ParameterKind::Scalar))
        }
        Readout::Linear => {
            let weight = layout.add("head.weight", &[vocab, 2 * k], ParameterKind::Weight);
            let bias = layout.add("head.bias", &[vocab], ParameterKind::Bias);
            (ReadoutSlots::Linear { weight, bias }, Slot::default())
        }
    };
    let sections = sections(config);
    let proto_len = if config.readout == Readout::Phase { vocab * 2 * k } else { 0 };
    let table_proto = Slot { start: layout.count(), len: proto_len };
    let table_preactivations =
        Slot { start: table_proto.start + table_proto.len, len: vocab * sections.total };
    let gradient_len = table_preactivations.start + table_preactivations.len;
    let slots = Slots {
        emb,
        tau,
        sections,
        gates,
        omega,
        feed_forward,
        layers,
        readout,
        logit_scale,
        table_proto,
        table_preactivations,
        gradient_len,
    };
    (layout, slots)
}
