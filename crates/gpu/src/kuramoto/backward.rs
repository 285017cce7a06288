//! From the loss back to every parameter. The doc line of a stage says what it reads -> what it writes, and
//! each is the derivative of the stage of the same name in `forward.rs`.

use super::KuramotoPlan;
use crate::builder::{Rows, kernel};
use crate::matrix::{Matrix, map_back, swiglu_gradient, weight_gradient};
use crate::plan::Part;
use crate::product::{Product, SLABS};
use kuramoto_model::config::{FeedForward, Readout};

impl KuramotoPlan {
    pub(super) fn backward(&mut self) {
        self.cross_entropy("cross-entropy", "backward");
        self.read_out_backward();
        for layer in (0..self.config.layers).rev() {
            self.state_backward(layer);
            self.feed_forward_backward(layer);
            self.step_backward(layer);
            self.expand_frames_backward(layer);
            self.turn_backward(layer, "turn means", true, self.layers[layer].mean, self.scratch.dmean);
            self.attend_backward(layer);
            self.turn_backward(layer, "turn values", false, self.layers[layer].turned, self.scratch.dpsi);
            self.contract_frames_backward(layer);
            self.phasors_backward(layer);
            self.sum_rates(layer);
            self.map_gates_backward(layer);
        }
        self.embed_backward();
        self.arenas.sum_scalars(&mut self.builder);
    }

    /// Section 2.0.4: dlogits -> dpsi (written), the readout's map
    fn read_out_backward(&mut self) {
        let (rows, k, v) = (self.sizes.rows(), self.config.width, self.config.vocab);
        let (dlogits, psi) = (Matrix::rows("logits", v, 0), Matrix::rows("psi", 2 * k, 0));
        let (dw, bias) = match self.config.readout {
            Readout::Phase => (self.arenas.table_gradients(v * 2 * k), None),
            Readout::Linear => {
                let bias = self.arenas.distance("head.weight", "head.bias");
                (self.arenas.gradients("head.weight", v * 2 * k), Some(bias))
            }
        };
        let products = [
            weight_gradient(rows, v, 2 * k, &dlogits, &psi, bias),
            map_back(rows, v, 2 * k, &dlogits, &Matrix::rows("dpsi", 2 * k, 0), &["dpsi"]),
        ];
        let bindings = [
            ("logits", self.scratch.logits),
            ("psi", self.scratch.final_psi),
            ("w", self.readout_map()),
            ("dw", dw),
            ("dpsi", self.scratch.dpsi),
        ];
        self.builder.products("readout back", &products, &bindings);
    }

    /// Section 2 and Section 2.0.3, bound: dpsi of the state after a layer -> its dtheta (of the last state
    /// written, else added), dincrement (written), the radius
    fn state_backward(&mut self, layer: usize) {
        let later = layer + 1 < self.config.layers;
        let constants = format!("const ACCUMULATE: bool = {later};");
        let psi = self.next_psi(layer);
        if self.config.feed_forward == FeedForward::None {
            return self.lift_backward(psi, &constants);
        }
        let bindings = [
            ("x", self.layers[layer].increment),
            ("log_radius", self.radius(layer, 2)),
            ("keys", self.arenas.keys_of(&self.sizes, layer, 2)),
            ("psi", psi),
            ("dpsi", self.scratch.dpsi),
            ("dtheta", self.scratch.dtheta),
            ("dx", self.scratch.dincrement),
            ("scalars", self.scalar(layer, 1)),
        ];
        self.row_kernel("bound back", kernel!("bound"), "backward", &["backward"], &constants, &bindings);
    }

    fn lift_backward(&mut self, psi: Part, constants: &str) {
        let bindings = [("psi", psi), ("dpsi", self.scratch.dpsi), ("dtheta", self.scratch.dtheta)];
        self.row_kernel("lift back", kernel!("lift"), "backward", &["backward"], constants, &bindings);
    }

    /// Section 2.0.3: dincrement, middle or its psi, gate and up -> dtheta (added), the block's maps; dpsi is
    /// scratch
    fn feed_forward_backward(&mut self, layer: usize) {
        let (rows, k, name) = (self.sizes.rows(), self.config.width, self.feed_forward_name(layer));
        let lifted = self.config.feed_forward.reads_lift();
        let (read, features, inputs) = self.features(layer);
        let dincrement = Matrix::rows("dincrement", k, 0);
        let dfeatures = Matrix::rows("dfeatures", inputs, 0);
        let dfeatures = if lifted { dfeatures } else { dfeatures.added() };
        let bindings = [
            ("dincrement", self.scratch.dincrement),
            ("features", read),
            ("wide", self.layers[layer].wide),
            ("dwide", self.scratch.dwide),
            ("dfeatures", if lifted { self.scratch.dpsi } else { self.scratch.dtheta }),
        ];
        let named = |end: &str| format!("{name}.{end}");
        let with = |weight: &str, len: usize| {
            let (w, dw) =
                (self.arenas.parameter(&named(weight), len), self.arenas.gradients(&named(weight), len));
            [&bindings[..], &[("w", w), ("dw", dw)]].concat()
        };
        match self.config.feed_forward {
            FeedForward::Swiglu | FeedForward::PhaseSwiglu => {
                let bias = self.arenas.distance(&named("down.weight"), &named("down.bias"));
                let down = [
                    map_back(rows, k, 2 * k, &dincrement, &swiglu_gradient(2 * k), &["dwide"]),
                    weight_gradient(rows, k, 2 * k, &dincrement, &self.hidden(), Some(bias)),
                ];
                let dwide = Matrix::rows("dwide", 4 * k, 0);
                let first = [
                    map_back(rows, 4 * k, inputs, &dwide, &dfeatures, &["dfeatures"]),
                    weight_gradient(rows, 4 * k, inputs, &dwide, &features, None),
                ];
                let (down_bound, first_bound) =
                    (with("down.weight", 2 * k * k), with("gate.weight", 4 * k * inputs));
                self.builder.products("down back", &down, &down_bound);
                self.builder.products("gate and up back", &first, &first_bound);
                if lifted {
                    self.lift_backward(self.layers[layer].middle_psi, "const ACCUMULATE: bool = true;");
                }
            }
            FeedForward::Linear => {
                let bias = self.arenas.distance(&named("weight"), &named("bias"));
                let products = [
                    map_back(rows, k, k, &dincrement, &dfeatures, &["dfeatures"]),
                    weight_gradient(rows, k, k, &dincrement, &features, Some(bias)),
                ];
                let bindings = with("weight", k * k);
                self.builder.products("linear map back", &products, &bindings);
            }
            FeedForward::None => {}
        }
    }

    /// Equation (1), the first residual update: dtheta of the middle -> dmean, the value section of dpre,
    /// along (written), dtheta (added), the radius
    fn step_backward(&mut self, layer: usize) {
        let buffers = &self.layers[layer];
        let mut bindings = vec![
            ("mean", buffers.mean),
            ("keys", self.arenas.keys_of(&self.sizes, layer, 1)),
            ("psi", buffers.psi),
            ("pre", buffers.pre),
            ("dtheta", self.scratch.dtheta),
            ("dmean", self.scratch.dmean),
            ("along", self.scratch.along),
            ("scalars", self.scalar(layer, 0)),
            ("dpre", self.scratch.dpre),
        ];
        if self.config.value_bound {
            bindings.push(("log_radius", self.radius(layer, 1)));
        }
        let flags = [vec!["backward"], self.step_flags()].concat();
        self.row_kernel("step back", kernel!("step"), "backward", &flags, "", &bindings);
    }

    /// Table 3, low-rank value transport: dmean -> dcontracted mean, the frame section of dpre (both written)
    fn expand_frames_backward(&mut self, layer: usize) {
        if !self.transports_values() {
            return;
        }
        let buffers = &self.layers[layer];
        let bindings = [
            ("pre", buffers.pre),
            ("contracted", buffers.contracted_mean),
            ("dmean", self.scratch.dmean),
            ("dcontracted", self.scratch.dcontracted_mean),
            ("dpre", self.scratch.dpre),
        ];
        let (text, entry) = (kernel!("frame"), "expand_backward");
        self.row_kernel("expand frames back", text, entry, &[entry], "", &bindings);
    }

    /// With drift in values: z and its gradient -> its gradient before the turn (in place), angle (written
    /// for means, added for values)
    fn turn_backward(&mut self, layer: usize, name: &str, means: bool, z: Part, dz: Part) {
        if !self.config.drift_in_values {
            return;
        }
        let flags: &[&str] = if self.learns_drift() { &["backward", "angle"] } else { &["backward"] };
        let bindings = [("omega", self.omega(layer)), ("z", z), ("out", dz), ("angle", self.scratch.angle)];
        let constants = format!("const FORWARD: bool = {means};");
        self.row_kernel(&format!("{name} back"), kernel!("turn"), "turn", flags, &constants, &bindings);
    }

    /// Equation (1), A and G: dmean, phasors, values, coupling -> dquery, dkey, dvalues (all written)
    fn attend_backward(&mut self, layer: usize) {
        let (attention, width, value_width) = (self.attention(), self.phasor_width(), self.value_width());
        let values = self.values("psi", self.projected("pre"), "values");
        let dmeans = self.values("dmean", self.head_columns("dmean", self.config.width, 0), "dmeans");
        let dvalues = self.values("dpsi", self.projected("dpre"), "dvalues");
        let (query, key) = (self.phasors("query"), self.phasors("key"));
        let (dquery, dkey) = (self.phasors("dquery"), self.phasors("dkey"));
        let products: [Product; 3] = [
            attention.query_gradient(width, &key, &dquery, &["dquery"]),
            attention.key_gradient(width, &query, &dkey, &["dkey"]),
            attention.value_gradient(value_width, &dmeans, &dvalues, &["dpsi", "dpre", "dvalues"]),
        ];
        let buffers = &self.layers[layer];
        let bindings = [
            ("dmean", self.scratch.dmean),
            ("dmeans", self.scratch.dcontracted_mean),
            ("psi", self.averaged(layer)),
            ("pre", buffers.pre),
            ("values", buffers.contracted_values),
            ("coupling", buffers.coupling),
            ("along", self.scratch.along),
            ("dscores", self.scratch.dscores),
            ("query", buffers.query),
            ("key", buffers.key),
            ("dquery", self.scratch.dquery),
            ("dkey", self.scratch.dkey),
            ("dpsi", self.scratch.dpsi),
            ("dpre", self.scratch.dpre),
            ("dvalues", self.scratch.dcontracted_values),
        ];
        let scores = attention.score_gradient(value_width, &dmeans, &values);
        self.builder.products("scores back", &[scores], &bindings);
        self.builder.products("phasors and values back", &products, &bindings);
    }

    /// Table 3, low-rank value transport: dquery, dkey of the contractions, dcontracted values -> dkey of the
    /// phasors (added), dpsi (added), the frame section of dpre, the score scale
    fn contract_frames_backward(&mut self, layer: usize) {
        if self.rank() == 0 {
            return;
        }
        let buffers = &self.layers[layer];
        let bindings = [
            ("pre", buffers.pre),
            ("tau", self.tau()),
            ("key", buffers.key),
            ("dquery", self.scratch.dquery),
            ("dkey", self.scratch.dkey),
            ("dpre", self.scratch.dpre),
            ("scalars", self.scalar(layer, 3)),
            ("psi", buffers.psi),
            ("dcontracted", self.scratch.dcontracted_values),
            ("dpsi", self.scratch.dpsi),
        ];
        let entry = "contract_backward";
        let flags: &[&str] = if self.transports_values() { &[entry, "transport"] } else { &[entry] };
        self.row_kernel("contract frames back", kernel!("frame"), entry, flags, "", &bindings);
    }

    /// Equation (1), the factors of the score: dquery, dkey -> the gates' sections of dpre (written), dtheta
    /// (added), angle, the score scale
    fn phasors_backward(&mut self, layer: usize) {
        let buffers = &self.layers[layer];
        let bindings = [
            ("psi", buffers.psi),
            ("pre", buffers.pre),
            ("omega", self.omega(layer)),
            ("tau", self.tau()),
            ("dquery", self.scratch.dquery),
            ("dkey", self.scratch.dkey),
            ("dtheta", self.scratch.dtheta),
            ("scalars", self.scalar(layer, 2)),
            ("dpre", self.scratch.dpre),
            ("angle", self.scratch.angle),
        ];
        let mut flags = [vec!["backward"], self.gate_flags()].concat();
        if self.learns_drift() {
            flags.push("angle");
        }
        let constants = format!("const ACCUMULATE: bool = {};", self.config.drift_in_values);
        self.row_kernel("phasors back", kernel!("phasor"), "backward", &flags, &constants, &bindings);
    }

    /// Section 3.5: angle -> omega
    fn sum_rates(&mut self, layer: usize) {
        if !self.learns_drift() {
            return;
        }
        let (k, name) = (self.config.width, self.omega_name(layer));
        let slabs = self.arenas.gradients(&name, k);
        self.builder.rows(Rows {
            name: "rates",
            text: kernel!("columns"),
            entry: "columns",
            flags: &["rates"],
            constants: String::new(),
            bindings: &[("x", self.scratch.angle), ("slabs", slabs)],
            groups: [k.div_ceil(32), SLABS, 1],
        });
    }

    /// Equation (1), the arguments of the gates: dpre -> dpsi (added; with projected values written first),
    /// the maps
    fn map_gates_backward(&mut self, layer: usize) {
        let (rows, k, total) = (self.sizes.rows(), self.config.width, self.sections.total);
        for (i, set) in self.gate_sets(layer).into_iter().enumerate() {
            let dpre = Matrix::rows("dpre", total, set.first);
            let dpsi = Matrix::rows("dpsi", 2 * k, 0);
            let dpsi = if i == 0 && !self.is_circular() { dpsi } else { dpsi.added() };
            let bias = self.arenas.distance(&set.weight, &set.bias);
            let psi = Matrix::rows("psi", 2 * k, 0);
            let products = [
                map_back(rows, set.columns, 2 * k, &dpre, &dpsi, &["dpsi"]),
                weight_gradient(rows, set.columns, 2 * k, &dpre, &psi, Some(bias)),
            ];
            let len = set.columns * 2 * k;
            let bindings = [
                ("dpre", self.scratch.dpre),
                ("dpsi", self.scratch.dpsi),
                ("psi", self.layers[layer].psi),
                ("w", self.arenas.parameter(&set.weight, len)),
                ("dw", self.arenas.gradients(&set.weight, len)),
            ];
            self.builder.products("gates back", &products, &bindings);
        }
    }

    /// dpsi of the first state -> dtheta (added), the embedding
    fn embed_backward(&mut self) {
        self.lift_backward(self.layers[0].psi, "const ACCUMULATE: bool = true;");
        let demb = self.arenas.gradients("emb", self.config.vocab * self.config.width);
        self.builder.rows(Rows {
            name: "embed back",
            text: kernel!("embed"),
            entry: "backward",
            flags: &["backward"],
            constants: String::new(),
            bindings: &[("tokens", self.arenas.tokens), ("dstate", self.scratch.dtheta), ("demb", demb)],
            groups: [self.config.vocab, SLABS, 1],
        });
    }

    /// The prototypes' psi, its gradient in every slab -> the prototypes
    pub(super) fn fold_prototypes(&mut self) {
        if self.config.readout != Readout::Phase {
            return;
        }
        let constants = format!(
            "const TABLE: u32 = {}u;\nconst PROTO: u32 = {}u;",
            self.arenas.places.padded,
            self.arenas.places.start("proto")
        );
        self.builder.rows(Rows {
            name: "fold prototypes",
            text: kernel!("lift"),
            entry: "fold",
            flags: &["fold"],
            constants,
            bindings: &[("psi", self.scratch.proto_psi), ("slabs", self.arenas.slabs)],
            groups: [self.config.vocab, SLABS, 1],
        });
    }
}
