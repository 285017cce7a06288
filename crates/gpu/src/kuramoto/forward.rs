//! From tokens to logits. The doc line of a stage says what it reads -> what it writes.

use super::KuramotoPlan;
use crate::builder::{Rows, kernel};
use crate::matrix::{Matrix, map, swiglu_hidden};
use crate::plan::Part;
use kuramoto_model::config::{FeedForward, Readout};

impl KuramotoPlan {
    pub(super) fn forward(&mut self) {
        self.embed();
        self.lift_prototypes();
        for layer in 0..self.config.layers {
            self.map_gates(layer);
            self.phasor_stage(layer);
            self.contract_frames(layer);
            self.turn_values(layer);
            self.attend(layer);
            self.turn_means_back(layer);
            self.expand_frames(layer);
            self.synchronize(layer);
            self.lift_features(layer);
            self.feed_forward(layer);
        }
        self.read_out();
    }

    /// psi of the state that a layer writes.
    pub(super) fn next_psi(&self, layer: usize) -> Part {
        self.layers.get(layer + 1).map_or(self.scratch.final_psi, |next| next.psi)
    }

    /// tokens -> theta, psi of the first layer
    fn embed(&mut self) {
        let emb = self.arenas.parameter("emb", self.config.vocab * self.config.width);
        let bindings = [
            ("tokens", self.arenas.tokens),
            ("emb", emb),
            ("state", self.states[0]),
            ("psi", self.layers[0].psi),
        ];
        self.row_kernel("embed", kernel!("embed"), "forward", &["forward", "lift"], "", &bindings);
    }

    /// Section 2.0.4: prototypes -> their psi
    fn lift_prototypes(&mut self) {
        if self.config.readout != Readout::Phase {
            return;
        }
        let proto = self.arenas.parameter("proto", self.config.vocab * self.config.width);
        self.builder.rows(Rows {
            name: "lift prototypes",
            text: kernel!("lift"),
            entry: "forward",
            flags: &["forward"],
            constants: String::new(),
            bindings: &[("theta", proto), ("psi", self.scratch.proto_psi)],
            groups: [self.config.vocab, 1, 1],
        });
    }

    /// Equation (1), the arguments of the gates: psi -> preactivations
    fn map_gates(&mut self, layer: usize) {
        let (rows, k, total) = (self.sizes.rows(), self.config.width, self.sections.total);
        for set in self.gate_sets(layer) {
            let (x, y) = (Matrix::rows("psi", 2 * k, 0), Matrix::rows("pre", total, set.first));
            let product = map(rows, set.columns, 2 * k, &x, &y, true, &["pre"]);
            let bindings = [
                ("psi", self.layers[layer].psi),
                ("w", self.arenas.parameter(&set.weight, set.columns * 2 * k)),
                ("bias", self.arenas.parameter(&set.bias, set.columns)),
                ("pre", self.layers[layer].pre),
            ];
            self.builder.products("gates", &[product], &bindings);
        }
    }

    /// Which parts of the phasor kernels the configuration has.
    pub(super) fn gate_flags(&self) -> Vec<&'static str> {
        if self.sections.query.is_some() { vec!["gates"] } else { Vec::new() }
    }

    /// Equation (1), the factors of the score; Sections 2.0.1 and 3.5: psi, preactivations -> query, key
    fn phasor_stage(&mut self, layer: usize) {
        let buffers = &self.layers[layer];
        let bindings = [
            ("psi", buffers.psi),
            ("pre", buffers.pre),
            ("omega", self.omega(layer)),
            ("tau", self.tau()),
            ("query", buffers.query),
            ("key", buffers.key),
        ];
        let flags = [vec!["forward"], self.gate_flags()].concat();
        self.row_kernel("phasors", kernel!("phasor"), "forward", &flags, "", &bindings);
    }

    /// Table 3, low-rank value transport: phasors, psi -> their contractions
    fn contract_frames(&mut self, layer: usize) {
        if self.rank() == 0 {
            return;
        }
        let buffers = &self.layers[layer];
        let bindings = [
            ("pre", buffers.pre),
            ("tau", self.tau()),
            ("query", buffers.query),
            ("key", buffers.key),
            ("psi", buffers.psi),
            ("contracted", buffers.contracted_values),
        ];
        let flags: &[&str] =
            if self.transports_values() { &["contract", "transport"] } else { &["contract"] };
        self.row_kernel("contract frames", kernel!("frame"), "contract", flags, "", &bindings);
    }

    /// With drift in values: psi -> turned
    fn turn_values(&mut self, layer: usize) {
        if !self.config.drift_in_values {
            return;
        }
        let buffers = &self.layers[layer];
        let bindings = [("omega", self.omega(layer)), ("psi", buffers.psi), ("out", buffers.turned)];
        let constants = "const FORWARD: bool = true;";
        self.row_kernel("turn values", kernel!("turn"), "turn", &["values"], constants, &bindings);
    }

    /// What attention averages: psi, turned where values drift.
    pub(super) fn averaged(&self, layer: usize) -> Part {
        let buffers = &self.layers[layer];
        if self.config.drift_in_values { buffers.turned } else { buffers.psi }
    }

    /// Equation (1), A and G: query, key, values -> coupling, mean
    fn attend(&mut self, layer: usize) {
        let (attention, width) = (self.attention(), self.phasor_width());
        let scores = attention.scores(width, &self.phasors("query"), &self.phasors("key"));
        let values = self.values("psi", self.projected("pre"), "values");
        let means = self.values("mean", self.head_columns("mean", self.config.width, 0), "means");
        let mix = attention.mix(self.value_width(), &values, &means, &["mean", "means"]);
        let buffers = &self.layers[layer];
        let bindings = [
            ("query", buffers.query),
            ("key", buffers.key),
            ("coupling", buffers.coupling),
            ("psi", self.averaged(layer)),
            ("pre", buffers.pre),
            ("mean", buffers.mean),
            ("values", buffers.contracted_values),
            ("means", buffers.contracted_mean),
        ];
        let keys = self.arenas.keys_of(&self.sizes, layer, 0);
        let coupling = buffers.coupling;
        self.builder.products("scores", &[scores], &bindings);
        self.builder.rows(Rows {
            name: "couple",
            text: kernel!("couple"),
            entry: "forward",
            flags: &[],
            constants: String::new(),
            bindings: &[("keys", keys), ("coupling", coupling)],
            groups: [self.sizes.tokens, self.sizes.sequences * self.sizes.heads, 1],
        });
        self.builder.products("mix", &[mix], &bindings);
    }

    /// With drift in values: mean -> mean in each token's own frame
    fn turn_means_back(&mut self, layer: usize) {
        if !self.config.drift_in_values {
            return;
        }
        let bindings = [("omega", self.omega(layer)), ("out", self.layers[layer].mean)];
        let constants = "const FORWARD: bool = false;";
        self.row_kernel("turn means back", kernel!("turn"), "turn", &["means"], constants, &bindings);
    }

    /// Table 3, low-rank value transport: contracted mean -> mean += F contracted mean
    fn expand_frames(&mut self, layer: usize) {
        if !self.transports_values() {
            return;
        }
        let buffers = &self.layers[layer];
        let bindings =
            [("pre", buffers.pre), ("contracted", buffers.contracted_mean), ("mean", buffers.mean)];
        self.row_kernel("expand frames", kernel!("frame"), "expand", &["expand"], "", &bindings);
    }

    /// Which parts of the step kernels the configuration has.
    pub(super) fn step_flags(&self) -> Vec<&'static str> {
        let choices = [
            (self.is_circular(), "circular"),
            (!self.is_circular(), "projection"),
            (self.is_circular() && self.config.value_gate, "value"),
            (self.config.value_bound, "bounded"),
        ];
        choices.iter().filter(|(chosen, _)| *chosen).map(|(_, flag)| *flag).collect()
    }

    /// Equation (1), v . a and the first residual update; Lemma 2, Section 2.0.2: theta, mean -> middle
    fn synchronize(&mut self, layer: usize) {
        let buffers = &self.layers[layer];
        let mut bindings = vec![
            ("mean", buffers.mean),
            ("keys", self.arenas.keys_of(&self.sizes, layer, 1)),
            ("psi", buffers.psi),
            ("pre", buffers.pre),
            ("theta", self.states[layer]),
            ("middle", buffers.middle),
        ];
        if self.config.value_bound {
            bindings.push(("log_radius", self.radius(layer, 1)));
        }
        let flags = [vec!["forward"], self.step_flags()].concat();
        self.row_kernel("step", kernel!("step"), "forward", &flags, "", &bindings);
    }

    /// silu(gate) up of the SwiGLU, from what is bound as `wide`.
    pub(super) fn hidden(&self) -> Matrix {
        swiglu_hidden(2 * self.config.width)
    }

    /// With a feed-forward block on the lifted phases: middle -> its psi
    fn lift_features(&mut self, layer: usize) {
        if !self.config.feed_forward.reads_lift() {
            return;
        }
        let bindings = [("theta", self.layers[layer].middle), ("psi", self.layers[layer].middle_psi)];
        self.row_kernel("lift middle", kernel!("lift"), "forward", &["forward"], "", &bindings);
    }

    /// Equation (1), the second residual update; Section 2.0.3: middle or its psi -> increment, theta, psi of
    /// the next layer
    fn feed_forward(&mut self, layer: usize) {
        let (rows, k, name) = (self.sizes.rows(), self.config.width, self.feed_forward_name(layer));
        let (read, features, inputs) = self.features(layer);
        let increment = Matrix::rows("increment", k, 0);
        let buffers = &self.layers[layer];
        let parameter = |end: &str, len: usize| self.arenas.parameter(&format!("{name}.{end}"), len);
        let mut bindings = vec![("features", read), ("wide", buffers.wide), ("increment", buffers.increment)];
        match self.config.feed_forward {
            FeedForward::Swiglu | FeedForward::PhaseSwiglu => {
                let first = parameter("gate.weight", 4 * k * inputs);
                let second =
                    [("w", parameter("down.weight", 2 * k * k)), ("bias", parameter("down.bias", k))];
                let wide = Matrix::rows("wide", 4 * k, 0);
                let wide = map(rows, 4 * k, inputs, &features, &wide, false, &["wide"]);
                let down = map(rows, k, 2 * k, &self.hidden(), &increment, true, &["increment"]);
                self.builder.products("gate and up", &[wide], &[&bindings[..], &[("w", first)]].concat());
                bindings.extend(second);
                self.builder.products("down", &[down], &bindings);
            }
            FeedForward::Linear => {
                bindings.extend([("w", parameter("weight", k * k)), ("bias", parameter("bias", k))]);
                let map = map(rows, k, k, &features, &increment, true, &["increment"]);
                self.builder.products("linear map", &[map], &bindings);
            }
            FeedForward::None => return self.lift_middle(layer),
        }
        let buffers = &self.layers[layer];
        let bindings = [
            ("x", buffers.increment),
            ("log_radius", self.radius(layer, 2)),
            ("keys", self.arenas.keys_of(&self.sizes, layer, 2)),
            ("middle", buffers.middle),
            ("theta", self.states[layer + 1]),
            ("psi", self.next_psi(layer)),
        ];
        self.row_kernel("bound", kernel!("bound"), "forward", &["forward"], "", &bindings);
    }

    /// Without a feed-forward block: middle -> theta, psi of the next layer
    fn lift_middle(&mut self, layer: usize) {
        let bindings = [
            ("theta", self.layers[layer].middle),
            ("state", self.states[layer + 1]),
            ("psi", self.next_psi(layer)),
        ];
        self.row_kernel("lift", kernel!("lift"), "forward", &["forward", "state"], "", &bindings);
    }

    /// Section 2.0.4: psi of the last state -> logits, before their scale
    fn read_out(&mut self) {
        let (rows, k, v) = (self.sizes.rows(), self.config.width, self.config.vocab);
        let linear = self.config.readout == Readout::Linear;
        let (x, y) = (Matrix::rows("psi", 2 * k, 0), Matrix::rows("logits", v, 0));
        let product = map(rows, v, 2 * k, &x, &y, linear, &["logits"]);
        let mut bindings = vec![("psi", self.scratch.final_psi), ("logits", self.scratch.logits)];
        bindings.push(("w", self.readout_map()));
        if linear {
            bindings.push(("bias", self.arenas.parameter("head.bias", v)));
        }
        self.builder.products("logits", &[product], &bindings);
    }

    /// The readout's map (V x 2k).
    pub(super) fn readout_map(&self) -> Part {
        match self.config.readout {
            Readout::Phase => self.scratch.proto_psi,
            Readout::Linear => {
                self.arenas.parameter("head.weight", 2 * self.config.vocab * self.config.width)
            }
        }
    }

    /// logits -> losses
    pub(super) fn losses(&mut self) {
        self.cross_entropy("losses", "forward");
    }

    /// logits -> losses; backwards also the gradient in place of the logits
    pub(super) fn cross_entropy(&mut self, name: &str, direction: &str) {
        let scaled = self.config.readout == Readout::Phase;
        let mut bindings = vec![
            ("targets", self.arenas.targets),
            ("losses", self.arenas.losses),
            ("logits", self.scratch.logits),
        ];
        let mut flags = vec![direction];
        if scaled {
            flags.push("scale");
            bindings.push(("logit_scale", self.arenas.parameter("logit_scale", 1)));
            if self.sizes.training() {
                bindings.push(("scalars", self.scalar(self.config.layers, 0)));
            }
        }
        self.row_kernel(name, kernel!("cross_entropy"), "cross_entropy", &flags, "", &bindings);
    }
}
