//! The matched transformer as a plan: what is launched, in which order, on which buffers.

mod backward;
mod forward;

use crate::arenas::{Arenas, Mode, ModelPlan, Sizes};
use crate::builder::{Builder, Rows};
use crate::matrix::{Attention, Matrix};
use crate::places::Places;
use crate::plan::{Part, Plan};
use kuramoto_kernels::rope;
use kuramoto_model::{Transformer, TransformerConfig};

/// What a layer keeps for the backward pass; the names are those of the model crate's glossary.
struct LayerBuffers {
    normal1: Part,
    inverse_sd1: Part,
    qkv: Part,
    attention: Part,
    mixed: Part,
    normal2: Part,
    inverse_sd2: Part,
    wide: Part,
}

/// What is used and forgotten; `dx` is the gradient of `x`.
struct Scratch {
    stream: Part,
    increment: Part,
    final_normal: Part,
    final_inverse_sd: Part,
    logits: Part,
    rope: Part,
    dstream: Part,
    dincrement: Part,
    /// Of a norm's output, or of `mixed`.
    dnormalized: Part,
    dwide: Part,
    along: Part,
    dscores: Part,
    dqkv: Part,
}

/// The plan in the making.
struct TransformerPlan {
    config: TransformerConfig,
    sizes: Sizes,
    builder: Builder,
    arenas: Arenas,
    layers: Vec<LayerBuffers>,
    scratch: Scratch,
}

/// The plan of a model for micro-batches of these sizes.
pub fn plan(network: &Transformer, sizes: Sizes) -> ModelPlan {
    let mut plan = TransformerPlan::new(network, sizes);
    plan.forward();
    let forward = plan.builder.take();
    plan.cross_entropy("losses", "forward");
    let losses = plan.builder.take();
    let (mut backward, mut finish, mut update) = (Vec::new(), Vec::new(), Vec::new());
    if sizes.training() {
        plan.backward();
        backward = plan.builder.take();
        plan.arenas.reduce(&mut plan.builder);
        finish = plan.builder.take();
        plan.arenas.adamw(&mut plan.builder);
        update = plan.builder.take();
    }
    let constants = vec![(plan.scratch.rope, plan.rope_table())];
    ModelPlan {
        plan: Plan { forward, losses, backward, finish, update, ..plan.builder.plan },
        arenas: plan.arenas,
        constants,
        traced: None,
    }
}

impl TransformerPlan {
    fn new(network: &Transformer, sizes: Sizes) -> TransformerPlan {
        let config = network.config().clone();
        let (d, rows, layers) = (config.width, sizes.rows(), config.layers);
        let places = Places::new(network.layout());
        let (mut builder, arenas) = Arenas::new(places, &sizes, "", 0, 0, Vec::new());
        let b = &mut builder;
        let squares = sizes.sequences * config.heads * sizes.tokens * sizes.tokens;
        let mut per_layer =
            |name: &str, len: usize| b.per_layer(name, len, layers, sizes.mode != Mode::Evaluation);
        let buffers = [
            per_layer("normal 1", rows * d),
            per_layer("inverse sd 1", rows),
            per_layer("queries, keys, values", rows * 3 * d),
            per_layer("attention", squares),
            per_layer("mixed", rows * d),
            per_layer("normal 2", rows * d),
            per_layer("inverse sd 2", rows),
            per_layer("gate and up", rows * 8 * d),
        ];
        let layer = |i: usize| {
            let [normal1, inverse_sd1, qkv, attention, mixed, normal2, inverse_sd2, wide] =
                std::array::from_fn(|which| buffers[which][i]);
            LayerBuffers { normal1, inverse_sd1, qkv, attention, mixed, normal2, inverse_sd2, wide }
        };
        let layers = (0..layers).map(layer).collect();
        let trained = |len: usize| if sizes.training() { len } else { 0 };
        let scratch = Scratch {
            stream: b.buffer("stream", rows * d),
            increment: b.buffer("increment", rows * d),
            final_normal: b.buffer("final normal", rows * d),
            final_inverse_sd: b.buffer("final inverse sd", rows),
            logits: b.buffer("logits", rows * config.vocab),
            rope: b.buffer("rotary table", 2 * sizes.tokens * (sizes.head() / 2)),
            dstream: b.buffer("dstream", trained(rows * d)),
            dincrement: b.buffer("dincrement", trained(rows * d)),
            dnormalized: b.buffer("dnormalized", trained(rows * d)),
            dwide: b.buffer("dgate and dup", trained(rows * 8 * d)),
            along: b.buffer("along", trained(rows * config.heads)),
            dscores: b.buffer("dscores", trained(squares)),
            dqkv: b.buffer("dqueries, dkeys, dvalues", trained(rows * 3 * d)),
        };
        TransformerPlan { config, sizes, builder, arenas, layers, scratch }
    }

    /// cos and sin of RoPE (T x half), in pairs.
    fn rope_table(&self) -> Vec<f32> {
        let (t, half) = (self.sizes.tokens, self.sizes.head() / 2);
        let (mut cos, mut sin) = (vec![0.0; t * half], vec![0.0; t * half]);
        rope::table(self.config.rotary_base, half, 0, &mut cos, &mut sin);
        cos.into_iter().zip(sin).flat_map(|(cos, sin)| [cos, sin]).collect()
    }

    /// A parameter of a layer.
    fn parameter(&self, layer: usize, name: &str, len: usize) -> Part {
        self.arenas.parameter(&format!("layers.{layer}.{name}"), len)
    }

    /// Adds a launch with a workgroup for each row.
    fn row_kernel(
        &mut self,
        name: &str,
        text: &str,
        entry: &str,
        flags: &[&str],
        constants: &str,
        bindings: &[(&str, Part)],
    ) {
        let groups = [self.sizes.rows(), 1, 1];
        self.builder.rows(Rows { name, text, entry, flags, constants: constants.into(), bindings, groups });
    }

    fn attention(&self) -> Attention {
        Attention { tokens: self.sizes.tokens, batch: self.sizes.sequences * self.sizes.heads }
    }

    /// A head's queries (0), keys (1) or values (2) in what is bound as `name`.
    fn section(&self, name: &'static str, part: usize) -> Matrix {
        let first = part * self.config.width;
        Matrix::new(name, &format!("(z / HEADS * T + {{r}}) * 3u * K + {first}u + (z % HEADS) * KH + {{c}}"))
    }

    /// A head's columns of rows of d.
    fn head_columns(&self, name: &'static str) -> Matrix {
        Matrix::new(name, "(z / HEADS * T + {r}) * K + (z % HEADS) * KH + {c}")
    }

    /// A norm with its scale and bias, from what is bound as `normal`, `norm_weight` and `norm_bias`.
    fn normalized(&self) -> Matrix {
        let read = "fma(normal[({r}) * K + ({c})], norm_weight[{c}], norm_bias[{c}])";
        Matrix::computed(&["normal", "norm_weight", "norm_bias"], read)
    }
}
