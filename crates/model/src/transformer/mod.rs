//! The parameter-matched transformer of Appendix B (`app:experimental`): RoPE attention, SwiGLU, pre-norm.
//!
//! Names in the code; n tokens, d channels, h heads. The paper gives this model no symbols of its own.
//!
//! | here | shape | meaning |
//! |---|---|---|
//! | `stream` | n x d | residual stream |
//! | `normal1`, `normal2`, `final_normal` | n x d | layer-normalized stream, before scale and bias |
//! | `inverse_sd1`, `inverse_sd2`, `final_inverse_sd` | n | what it was multiplied by |
//! | `normalized` | n x d | normalized stream after scale and bias |
//! | `qkv` | n x 3d | queries, keys (both turned by RoPE; queries carry 1 / sqrt(d / h)) and values |
//! | `attention` | h x n x n | causal softmax attention |
//! | `mixed` | n x d | attention-weighted values, heads side by side |
//! | `gate_up` | n x 8d | gate and up of the SwiGLU |
//! | `increment` | n x d | output of attention's projection or of the SwiGLU, before dropout |
//!
//! As in the Kuramoto model, layer 0's queries, keys and values before RoPE depend on the byte alone and are
//! a table of V rows.

mod backward;
mod decode;
mod forward;
mod tables;
mod workspace;

pub use decode::Cache;
pub use tables::Tables;
pub use workspace::Workspace;

use crate::config::{TransformerConfig, check_context};
use crate::error::Result;
use crate::hooks::Hooks;
use crate::init::{self, Start};
use crate::kuramoto::attention_stride;
use crate::layout::{Layout, ParameterKind, Slot};
use crate::network::{self, Network, for_each_float};
use kuramoto_kernels::{Real, cross_entropy};

/// Where a layer's parameters lie.
#[derive(Clone, Copy, Debug)]
struct LayerSlots {
    ln1: [Slot; 2],
    /// wq, wk, wv stacked (3d x d).
    qkv: Slot,
    qkv_bias: Slot,
    wo: Slot,
    ln2: [Slot; 2],
    /// gate and up stacked (8d x d).
    gate_up: Slot,
    down: Slot,
    down_bias: Slot,
}

#[derive(Clone, Debug)]
struct Slots {
    emb: Slot,
    layers: Vec<LayerSlots>,
    head: Slot,
    head_bias: Slot,
    /// In a lane's gradient, after the parameters: layer 0's table of queries, keys and values (V x 3d).
    table_qkv: Slot,
}

/// What a pass of this model is given.
type Pass<'a, F> = network::Pass<'a, F, Tables<F>>;

/// The model for one configuration and planned context.
#[derive(Clone, Debug)]
pub struct Transformer {
    config: TransformerConfig,
    context: usize,
    layout: Layout,
    slots: Slots,
}

impl Transformer {
    /// Checks the configuration and lays the parameters out.
    pub fn new(config: TransformerConfig, context: usize) -> Result<Self> {
        config.validate()?;
        check_context(context)?;
        let (layout, slots) = lay_out(&config);
        Ok(Transformer { config, context, layout, slots })
    }

    /// What the model was made from; it is valid.
    pub fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// Names and places of the parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// d / h.
    fn head_width(&self) -> usize {
        self.config.width / self.config.heads
    }

    /// 1 / sqrt(d / h), which queries carry.
    fn score_scale<F: Real>(&self) -> F {
        F::from_f64(1.0 / (self.head_width() as f64).sqrt())
    }

    fn attention_stride(&self) -> usize {
        attention_stride(self.context)
    }
}

fn lay_out(config: &TransformerConfig) -> (Layout, Slots) {
    let (v, d) = (config.vocab, config.width);
    let mut layout = Layout::default();
    let emb = layout.add("emb", &[v, d], ParameterKind::Weight);
    let mut layers = Vec::new();
    for i in 0..config.layers {
        let norm = |layout: &mut Layout, name: &str| {
            let weight = layout.add(format!("layers.{i}.{name}.weight"), &[d], ParameterKind::Norm);
            [weight, layout.add(format!("layers.{i}.{name}.bias"), &[d], ParameterKind::Bias)]
        };
        let stack =
            |layout: &mut Layout, names: &[&str], what: &str, shape: &[usize], kind: ParameterKind| {
                names.iter().fold(Slot::default(), |slot, name| {
                    slot.join(layout.add(format!("layers.{i}.{name}.{what}"), shape, kind))
                })
            };
        let ln1 = norm(&mut layout, "ln1");
        let qkv = stack(&mut layout, &["wq", "wk", "wv"], "weight", &[d, d], ParameterKind::Weight);
        let qkv_bias = stack(&mut layout, &["wq", "wk", "wv"], "bias", &[d], ParameterKind::Bias);
        let wo = layout.add(format!("layers.{i}.wo.weight"), &[d, d], ParameterKind::Weight);
        let ln2 = norm(&mut layout, "ln2");
        let gate_up =
            stack(&mut layout, &["ffn.gate", "ffn.up"], "weight", &[4 * d, d], ParameterKind::Weight);
        let down = layout.add(format!("layers.{i}.ffn.down.weight"), &[d, 4 * d], ParameterKind::Weight);
        let down_bias = layout.add(format!("layers.{i}.ffn.down.bias"), &[d], ParameterKind::Bias);
        layers.push(LayerSlots { ln1, qkv, qkv_bias, wo, ln2, gate_up, down, down_bias });
    }
    let head = layout.add("head.weight", &[v, d], ParameterKind::Weight);
    let head_bias = layout.add("head.bias", &[v], ParameterKind::Bias);
    let table_qkv = Slot { start: layout.count(), len: v * 3 * d };
    (layout, Slots { emb, layers, head, head_bias, table_qkv })
}

/// The parameters of a valid configuration.
pub(crate) fn layout(config: &TransformerConfig) -> Layout {
    lay_out(config).0
}

for_each_float! {

impl Network<F> for Transformer {
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
        for tensor in self.layout.tensors() {
            let how = match tensor.kind {
                ParameterKind::Weight if tensor.name == "emb" => Start::Normal(self.config.embedding_spread),
                ParameterKind::Weight => init::linear(tensor.shape[1]),
                ParameterKind::Norm => Start::Constant(1.0),
                _ => Start::Constant(0.0),
            };
            init::fill(seed, tensor, how, parameters);
        }
    }

    fn gradient_len(&self) -> usize {
        self.slots.table_qkv.start + self.slots.table_qkv.len
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

    fn logits(&self, _parameters: &[F], work: &Workspace<F>, n: usize) -> Vec<F> {
        work.logits[..n * self.config.vocab].to_vec()
    }

    fn losses<'w>(&self, _parameters: &[F], work: &'w mut Workspace<F>, targets: &[u8]) -> &'w [f64] {
        let logits = &mut work.logits[..targets.len() * self.config.vocab];
        cross_entropy::forward(self.config.vocab, F::ONE, targets, logits, &mut work.losses);
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

    fn finish(&self, parameters: &[F], tables: &mut Tables<F>, gradient: &mut [F]) {
        self.fold_tables(parameters, tables, gradient);
    }

    fn cache(&self) -> Cache<F> {
        Cache::new(self)
    }

    fn decode<'c>(&self, pass: &Pass<'_, F>, position: usize, cache: &'c mut Cache<F>) -> &'c [F] {
        self.decode_token(pass, position, cache)
    }
}

}
