//! The Kuramoto model as a plan: what is launched, in which order, on which buffers. `forward.rs` and
//! `backward.rs` have a function for each stage of Equation (1), named as in the model crate. An ablation is
//! a choice here, not another shader.

mod backward;
mod forward;
mod gates;

use crate::arenas::{Arenas, Mode, ModelPlan, Sizes, Traced};
use crate::builder::{Builder, Rows};
use crate::matrix::{Attention, Matrix};
use crate::places::Places;
use crate::plan::{Part, Plan};
use gates::{Sections, constants, has_frame};
use kuramoto_model::config::{Drift, FeedForward, Metric, Readout, Value};
use kuramoto_model::{Kuramoto, KuramotoConfig};

/// What a layer keeps for the backward pass; the names are those of the model crate's glossary.
struct LayerBuffers {
    psi: Part,
    pre: Part,
    query: Part,
    key: Part,
    coupling: Part,
    /// The resultant; with projected values the update itself.
    mean: Part,
    turned: Part,
    contracted_values: Part,
    contracted_mean: Part,
    middle: Part,
    middle_psi: Part,
    wide: Part,
    increment: Part,
}

/// What is used and forgotten; `dx` is the gradient of `x`.
struct Scratch {
    final_psi: Part,
    proto_psi: Part,
    logits: Part,
    fixed_omega: Part,
    dtheta: Part,
    dincrement: Part,
    dwide: Part,
    dpre: Part,
    dmean: Part,
    dcontracted_mean: Part,
    dcontracted_values: Part,
    along: Part,
    dscores: Part,
    dquery: Part,
    dkey: Part,
    dpsi: Part,
    angle: Part,
}

/// The plan in the making.
struct KuramotoPlan {
    config: KuramotoConfig,
    sizes: Sizes,
    sections: Sections,
    builder: Builder,
    arenas: Arenas,
    layers: Vec<LayerBuffers>,
    /// Phases before each layer and after the last; only a trace keeps them apart.
    states: Vec<Part>,
    scratch: Scratch,
}

/// The plan of a model for micro-batches of these sizes.
pub fn plan(network: &Kuramoto, sizes: Sizes) -> ModelPlan {
    let mut plan = KuramotoPlan::new(network, sizes);
    plan.forward();
    let forward = plan.builder.take();
    plan.losses();
    let losses = plan.builder.take();
    let (mut backward, mut finish, mut update) = (Vec::new(), Vec::new(), Vec::new());
    if sizes.training() {
        plan.backward();
        backward = plan.builder.take();
        plan.fold_prototypes();
        plan.arenas.reduce(&mut plan.builder);
        finish = plan.builder.take();
        plan.arenas.adamw(&mut plan.builder);
        update = plan.builder.take();
    }
    let omega = network.omega::<f32>(&vec![0.0; network.layout().count()], 0).into_owned();
    let constants = if plan.learns_drift() { Vec::new() } else { vec![(plan.scratch.fixed_omega, omega)] };
    let traced = Traced {
        states: plan.states,
        couplings: plan.layers.iter().map(|layer| layer.coupling).collect(),
        logits: plan.scratch.logits,
    };
    ModelPlan {
        plan: Plan { forward, losses, backward, finish, update, ..plan.builder.plan },
        arenas: plan.arenas,
        constants,
        traced: Some(traced),
    }
}

/// Columns of `scalars` of a layer: both radii, the score scale, and the frame's share of it.
const SCALARS: usize = 4;

impl KuramotoPlan {
    fn new(network: &Kuramoto, sizes: Sizes) -> KuramotoPlan {
        let config = network.config().clone();
        let sections = Sections::new(&config);
        let places = Places::new(network.layout());
        let (k, v, rows, layers) = (config.width, config.vocab, sizes.rows(), config.layers);
        let rank = if has_frame(&config) { config.transport_rank } else { 0 };
        let row = 2 * k + config.heads * 2 * rank;
        let constants = constants(&config, &sections, rank, row);
        let table = scalar_table(&config, &places);
        let prototypes = if config.readout == Readout::Phase { v * 2 * k } else { 0 };
        let columns = SCALARS * layers + 1;
        let (mut builder, arenas) = Arenas::new(places, &sizes, &constants, prototypes, columns, table);
        let b = &mut builder;
        let squares = sizes.sequences * config.heads * sizes.tokens * sizes.tokens;
        let transport = config.metric == Metric::Transport && config.value == Value::Circular;
        let frames = if transport { rows * config.heads * 2 * rank } else { 0 };
        let turned = if config.drift_in_values { rows * 2 * k } else { 0 };
        let lifted = if config.feed_forward.reads_lift() { rows * 2 * k } else { 0 };
        let wide = if config.feed_forward.is_swiglu() { rows * 4 * k } else { 0 };
        let mut per_layer =
            |name: &str, len: usize| b.per_layer(name, len, layers, sizes.mode != Mode::Evaluation);
        let buffers = [
            per_layer("psi", rows * 2 * k),
            per_layer("preactivations", rows * sections.total),
            per_layer("query", rows * row),
            per_layer("key", rows * row),
            per_layer("coupling", squares),
            per_layer("mean", rows * 2 * k),
            per_layer("turned", turned),
            per_layer("contracted values", frames),
            per_layer("contracted mean", frames),
            per_layer("middle", rows * k),
            per_layer("middle's psi", lifted),
            per_layer("gate and up", wide),
            per_layer("increment", rows * k),
        ];
        let layer = |i: usize| {
            let [psi, pre, query, key, coupling, mean, turned, values, means, block @ ..] =
                std::array::from_fn::<_, 13, _>(|which| buffers[which][i]);
            let [middle, middle_psi, wide, increment] = block;
            LayerBuffers {
                psi,
                pre,
                query,
                key,
                coupling,
                mean,
                turned,
                contracted_values: values,
                contracted_mean: means,
                middle,
                middle_psi,
                wide,
                increment,
            }
        };
        let layers = (0..layers).map(layer).collect();
        let states = b.per_layer("theta", rows * k, config.layers + 1, sizes.mode == Mode::Tracing);
        let trained = |len: usize| if sizes.training() { len } else { 0 };
        let scratch = Scratch {
            final_psi: b.buffer("final psi", rows * 2 * k),
            proto_psi: b.buffer("prototypes' psi", prototypes),
            logits: b.buffer("logits", rows * v),
            fixed_omega: b.buffer("fixed omega", k),
            dtheta: b.buffer("dtheta", trained(rows * k)),
            dincrement: b.buffer("dincrement", trained(rows * k)),
            dwide: b.buffer("dgate and dup", trained(wide)),
            dpre: b.buffer("dpreactivations", trained(rows * sections.total)),
            dmean: b.buffer("dmean", trained(rows * 2 * k)),
            dcontracted_mean: b.buffer("dcontracted mean", trained(frames)),
            dcontracted_values: b.buffer("dcontracted values", trained(frames)),
            along: b.buffer("along", trained(rows * config.heads)),
            dscores: b.buffer("dscores", trained(squares)),
            dquery: b.buffer("dquery", trained(rows * row)),
            dkey: b.buffer("dkey", trained(rows * row)),
            dpsi: b.buffer("dpsi", trained(rows * 2 * k)),
            angle: b.buffer("angle", trained(rows * k)),
        };
        KuramotoPlan { config, sizes, sections, builder, arenas, layers, states, scratch }
    }

    fn rank(&self) -> usize {
        if has_frame(&self.config) { self.config.transport_rank } else { 0 }
    }

    /// Values of a row of phasors in one head.
    fn phasor_width(&self) -> usize {
        2 * self.sizes.head() + 2 * self.rank()
    }

    fn is_circular(&self) -> bool {
        self.config.value == Value::Circular
    }

    fn transports_values(&self) -> bool {
        self.config.metric == Metric::Transport && self.is_circular()
    }

    fn learns_drift(&self) -> bool {
        matches!(self.config.drift, Drift::Learned | Drift::Shared)
    }

    /// The name of a layer's drift rates, where they are learned.
    fn omega_name(&self, layer: usize) -> String {
        if self.config.drift == Drift::Shared { "omega".into() } else { format!("layers.{layer}.omega") }
    }

    fn omega(&self, layer: usize) -> Part {
        if self.learns_drift() {
            self.arenas.parameter(&self.omega_name(layer), self.config.width)
        } else {
            self.scratch.fixed_omega
        }
    }

    fn tau(&self) -> Part {
        self.arenas.parameter("tau", 1)
    }

    /// The logarithm of a radius of a layer, 1 or 2.
    fn radius(&self, layer: usize, which: usize) -> Part {
        self.arenas.parameter(&format!("layers.{layer}.log_r{which}"), 1)
    }

    /// A column of `scalars` of a layer.
    fn scalar(&self, layer: usize, which: usize) -> Part {
        self.arenas.scalar(&self.sizes, SCALARS * layer + which)
    }

    /// The name of a layer's feed-forward block.
    fn feed_forward_name(&self, layer: usize) -> String {
        if self.config.shared_feed_forward { "ffn".into() } else { format!("layers.{layer}.ffn") }
    }

    /// What a layer's feed-forward block reads, bound as `features`, and how many of them a token has.
    fn features(&self, layer: usize) -> (Part, Matrix, usize) {
        let (buffers, inputs) = (&self.layers[layer], self.config.feed_forward.inputs(self.config.width));
        let read = if self.config.feed_forward.reads_lift() { buffers.middle_psi } else { buffers.middle };
        (read, Matrix::rows("features", inputs, 0), inputs)
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

    /// Query or key phasors of a head, bound as `name`.
    fn phasors(&self, name: &'static str) -> Matrix {
        let (row, width) = (self.sizes.heads * self.phasor_width(), self.phasor_width());
        Matrix::new(name, &format!("(z / HEADS * T + {{r}}) * {row}u + (z % HEADS) * {width}u + {{c}}"))
    }

    /// A head's columns of what attention averages, or of the averages: phasors or projected values, then
    /// contractions.
    fn values(&self, circular: &'static str, projected: Matrix, contracted: &'static str) -> Matrix {
        if !self.is_circular() {
            return projected;
        }
        let index = "(z / HEADS * T + {r}) * 2u * K + (z % HEADS) * KH + {c} + select(0u, K - KH, {c} >= KH)";
        let phasors = Matrix::new(circular, index);
        if !self.transports_values() {
            return phasors;
        }
        let extra = 2 * self.rank();
        let index = format!("((z / HEADS * T + {{r}}) * HEADS + z % HEADS) * {extra}u + {{c}}");
        phasors.beside(2 * self.sizes.head(), Matrix::new(contracted, &index))
    }

    /// A head's columns of a matrix with rows of `stride`, from `first` on.
    fn head_columns(&self, name: &'static str, stride: usize, first: usize) -> Matrix {
        Matrix::new(
            name,
            &format!("(z / HEADS * T + {{r}}) * {stride}u + {first}u + (z % HEADS) * KH + {{c}}"),
        )
    }

    /// Columns that attention averages in a head.
    fn value_width(&self) -> usize {
        let head = self.sizes.head();
        match (self.is_circular(), self.transports_values()) {
            (false, _) => head,
            (true, false) => 2 * head,
            (true, true) => 2 * head + 2 * self.rank(),
        }
    }

    /// The projected values within the preactivations, bound as `name`.
    fn projected(&self, name: &'static str) -> Matrix {
        self.head_columns(name, self.sections.total, self.sections.value.unwrap_or_default())
    }
}

/// Place, first column, columns and their distance of every scalar parameter.
fn scalar_table(config: &KuramotoConfig, places: &Places) -> Vec<[u32; 4]> {
    let mut table = Vec::new();
    let mut add = |name: String, first: usize, columns: usize| {
        table.push([places.start(&name), first, columns, SCALARS].map(|x| x as u32));
    };
    for i in 0..config.layers {
        if config.value_bound {
            add(format!("layers.{i}.log_r1"), SCALARS * i, 1);
        }
        if config.feed_forward != FeedForward::None {
            add(format!("layers.{i}.log_r2"), SCALARS * i + 1, 1);
        }
    }
    add("tau".into(), 2, config.layers);
    if has_frame(config) {
        // A second row for the same parameter: sums are added.
        add("tau".into(), 3, config.layers);
    }
    if config.readout == Readout::Phase {
        add("logit_scale".into(), SCALARS * config.layers, 1);
    }
    table
}
