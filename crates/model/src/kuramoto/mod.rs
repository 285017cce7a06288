//! The Kuramoto Attention model.
//!
//! The glossary from names in the code to symbols of the paper is on the first page of [this crate](crate).
//!
//! A layer is a sequence of stages, one for each part of Equation (1), in `forward.rs`; `backward.rs` has
//! their derivatives in reverse, `decode.rs` runs them for one token, and `extend.rs` for the end of a
//! sequence. A stage takes what it reads as shared slices and what it writes as mutable ones.
//!
//! Two exact savings: layer 0's preactivations depend on the byte alone, so they are a table of V rows
//! ([`Tables`]); and tiles above the causal diagonal are never computed.

mod attention_backward;
mod backward;
mod decode;
mod extend;
mod forward;
mod groups;
mod slots;
mod tables;
mod workspace;

pub use decode::Cache;
pub use tables::Tables;
pub use workspace::Workspace;

use crate::config::{Drift, GateActivation, KuramotoConfig, Metric, Readout, Value, check_context};
use crate::error::Result;
use crate::hooks::Hooks;
use crate::init::{self, Start};
use crate::layout::{Layout, ParameterKind};
use crate::network::{self, Network, for_each_float};
use kuramoto_kernels::drift::Heads;
use kuramoto_kernels::gate::Activation;
use kuramoto_kernels::{Real, cross_entropy, rope};
use slots::{GateSlots, Slots};
use std::borrow::Cow;

/// What a pass of this model is given.
type Pass<'a, F> = network::Pass<'a, F, Tables<F>>;

/// The model for one configuration and planned context.
#[derive(Clone, Debug)]
pub struct Kuramoto {
    config: KuramotoConfig,
    context: usize,
    layout: Layout,
    slots: Slots,
}

impl Kuramoto {
    /// Checks the configuration and lays the parameters out.
    pub fn new(config: KuramotoConfig, context: usize) -> Result<Self> {
        config.validate()?;
        check_context(context)?;
        let (layout, slots) = slots::lay_out(&config);
        Ok(Kuramoto { config, context, layout, slots })
    }

    /// What the model was made from; it is valid.
    pub fn config(&self) -> &KuramotoConfig {
        &self.config
    }

    /// Names and places of the parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The shape of rows of query and key phasors.
    fn heads(&self) -> Heads {
        Heads { k: self.config.width, heads: self.config.heads, extra: 2 * self.rank() }
    }

    /// Columns of the transport frame; 0 without one.
    fn rank(&self) -> usize {
        if self.slots.sections.frame.is_some() { self.config.transport_rank } else { 0 }
    }

    /// Values of contracted frames per token that attention averages; 0 unless values are transported.
    fn value_frames(&self) -> usize {
        if self.transports_values() { self.config.heads * self.heads().extra } else { 0 }
    }

    fn transports_values(&self) -> bool {
        self.config.metric == Metric::Transport && self.circular()
    }

    /// The drift rates of a layer, learned or not.
    pub fn omega<'a, F: Real>(&self, parameters: &'a [F], layer: usize) -> Cow<'a, [F]> {
        match self.slots.omega.get(layer).or(self.slots.omega.first()) {
            Some(slot) => slot.slice(parameters).into(),
            None => self.initial_omega().into(),
        }
    }

    /// The rates that every layer starts with.
    fn initial_omega<F: Real>(&self) -> Vec<F> {
        let rate = |j: usize| match self.config.drift {
            Drift::None => F::ZERO,
            Drift::Learned | Drift::Shared | Drift::Fixed => {
                let period = self.heads().kh();
                F::from_f64(rope::rate(self.config.rotary_base, j % period, period))
            }
        };
        (0..self.config.width).map(rate).collect()
    }

    /// Tables of drift: of every layer, or one for all.
    fn drift_tables(&self) -> usize {
        if self.config.drift == Drift::Learned { self.config.layers } else { 1 }
    }

    /// The gradient of a layer's drift rates, or `unused` where they are not learned.
    fn domega<'a, F>(&self, layer: usize, gradient: &'a mut [F], unused: &'a mut [F]) -> &'a mut [F] {
        match self.slots.omega.get(layer).or(self.slots.omega.first()) {
            Some(slot) => slot.slice_mut(gradient),
            None => unused,
        }
    }

    /// The sets of gate maps of a layer that have outputs.
    fn gate_sets(&self, layer: usize) -> impl Iterator<Item = (usize, GateSlots)> {
        let sets = self.slots.layers[layer].gates.into_iter().flatten();
        sets.map(|set| (set, self.slots.gates[set])).filter(|(_, slots)| slots.columns > 0)
    }

    fn activation(&self) -> Activation {
        match self.config.gate_activation {
            GateActivation::Softplus => Activation::Softplus,
            GateActivation::Sigmoid => Activation::Sigmoid,
            GateActivation::Linear => Activation::Linear,
        }
    }

    fn circular(&self) -> bool {
        self.config.value == Value::Circular
    }

    /// Length of a row of the coupling: odd in cache lines, so that a column does not fall on few cache sets.
    fn attention_stride(&self) -> usize {
        attention_stride(self.context)
    }

    /// The score scale of Equation (1) with k / h coordinates per head, a factor of the query phasors.
    fn score_scale<F: Real>(&self, parameters: &[F]) -> F {
        F::from_f64(parameters[self.slots.tau.start].to_f64() / self.root_of_head())
    }

    fn root_of_head(&self) -> f64 {
        (self.heads().kh() as f64).sqrt()
    }

    /// What raw logits are multiplied by (Section 2.0.4 leaves it open).
    pub fn logit_scale<F: Real>(&self, parameters: &[F]) -> F {
        match self.config.readout {
            Readout::Phase => F::from_f64(
                parameters[self.slots.logit_scale.start].to_f64() / (self.config.width as f64).sqrt(),
            ),
            Readout::Linear => F::ONE,
        }
    }
}

/// The parameters of a valid configuration.
pub(crate) fn layout(config: &KuramotoConfig) -> Layout {
    slots::lay_out(config).0
}

/// Outputs of all gate maps of a layer together.
pub(crate) fn gate_outputs(config: &KuramotoConfig) -> usize {
    slots::sections(config).total
}

/// A row length of at least `n`, a multiple of 16 but not of 32.
pub(crate) fn attention_stride(n: usize) -> usize {
    let lines = n.div_ceil(16);
    16 * (lines + 1 - lines % 2)
}

for_each_float! {

impl Network<F> for Kuramoto {
    type Tables = Tables<F>;
    type Workspace = Workspace<F>;
    type Cache = Cache<F>;

    fn layout(&self) -> &Layout {
        &self.layout
    }
    fn vocab(&self) -> usize {
        self.config.vocab
    }
    fn context(&self) -> usize {
        self.context
    }
    fn dropout(&self) -> f64 {
        self.config.dropout
    }

    fn initialize(&self, seed: u64, parameters: &mut [F]) {
        let start = &self.config.init;
        let k = self.config.width;
        for tensor in self.layout.tensors() {
            let last = tensor.name.rsplit('.').next().unwrap_or_default();
            let how = match (tensor.kind, last) {
                (ParameterKind::Phase, "emb") => Start::Normal(start.embedding_spread),
                (ParameterKind::Phase, _) => Start::Normal(start.prototype_spread),
                (ParameterKind::Rate, _) => {
                    Start::Rotary { base: self.config.rotary_base, period: k / self.config.heads }
                }
                (ParameterKind::Scalar, "tau") => Start::Constant(start.self_score / self.root_of_head()),
                (ParameterKind::Scalar, "logit_scale") => Start::Constant(start.logit_scale),
                (ParameterKind::Scalar, "log_r1") => Start::Constant(start.attention_radius.ln()),
                (ParameterKind::Scalar, _) => Start::Constant(start.feed_forward_radius.ln()),
                (ParameterKind::Bias, _) if tensor.name.ends_with("wv.bias") => {
                    Start::Constant(start.value_gate_bias)
                }
                (ParameterKind::Weight, _) if tensor.name.ends_with("wf.weight") => {
                    Start::Normal(start.frame_spread)
                }
                (ParameterKind::Weight, _) => init::linear(tensor.shape[1]),
                (ParameterKind::Bias | ParameterKind::Norm, _) => Start::Constant(0.0),
            };
            init::fill(seed, tensor, how, parameters);
        }
    }

    fn gradient_len(&self) -> usize {
        self.slots.gradient_len
    }
    fn table_bytes(&self) -> usize {
        Tables::<F>::floats(self) * size_of::<F>()
    }
    fn workspace_bytes(&self) -> usize {
        Workspace::<F>::bytes(self)
    }
    fn tables(&self) -> Tables<F> {
        Tables::new(self)
    }
    fn workspace(&self) -> Workspace<F> {
        Workspace::new(self)
    }
    fn prepare(&self, parameters: &[F], tables: &mut Tables<F>) {
        self.derive_tables(parameters, tables);
    }

    fn forward(&self, pass: &Pass<'_, F>, work: &mut Workspace<F>, hooks: &mut dyn Hooks<F>) {
        self.run_forward(pass, work, hooks);
    }

    fn logits(&self, parameters: &[F], work: &Workspace<F>, n: usize) -> Vec<F> {
        let scale = self.logit_scale(parameters);
        work.logits[..n * self.config.vocab].iter().map(|&x| scale * x).collect()
    }

    fn losses<'w>(&self, parameters: &[F], work: &'w mut Workspace<F>, targets: &[u8]) -> &'w [f64] {
        let (vocab, scale) = (self.config.vocab, self.logit_scale(parameters));
        let logits = &mut work.logits[..targets.len() * vocab];
        cross_entropy::forward(vocab, scale, targets, logits, &mut work.losses);
        &work.losses[..targets.len()]
    }

    fn backward(
        &self,
        pass: &Pass<'_, F>,
        work: &mut Workspace<F>,
        targets: &[u8],
        weight: f64,
        gradient: &mut [F],
    ) -> f64 {
        self.run_backward(pass, work, targets, weight, gradient);
        work.losses[..targets.len()].iter().sum()
    }

    fn finish(&self, _parameters: &[F], tables: &mut Tables<F>, gradient: &mut [F]) {
        self.fold_tables(tables, gradient);
    }

    fn cache(&self) -> Cache<F> {
        Cache::new(self)
    }

    fn decode<'c>(&self, pass: &Pass<'_, F>, position: usize, cache: &'c mut Cache<F>) -> &'c [F] {
        self.decode_token(pass, position, cache)
    }
}

}
