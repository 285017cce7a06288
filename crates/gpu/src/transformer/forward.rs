//! From tokens to logits. The doc line of a stage says what it reads -> what it writes.

use super::TransformerPlan;
use crate::builder::{Rows, kernel};
use crate::matrix::{Matrix, map, swiglu_hidden};
use crate::plan::Part;

impl TransformerPlan {
    pub(super) fn forward(&mut self) {
        self.embed();
        for layer in 0..self.config.layers {
            let buffers = &self.layers[layer];
            let (normal, inverse_sd) = (buffers.normal1, buffers.inverse_sd1);
            let increment = layer.checked_sub(1).map(|before| (before, 2));
            self.normalize("norm 1", increment, normal, inverse_sd);
            self.map_and_rotate(layer);
            self.attend(layer);
            self.project(layer);
            let buffers = &self.layers[layer];
            let (normal, inverse_sd) = (buffers.normal2, buffers.inverse_sd2);
            self.normalize("norm 2", Some((layer, 1)), normal, inverse_sd);
            self.feed_forward(layer);
        }
        let last = Some((self.config.layers - 1, 2));
        self.normalize("final norm", last, self.scratch.final_normal, self.scratch.final_inverse_sd);
        self.read_out();
    }

    /// tokens -> stream
    fn embed(&mut self) {
        let emb = self.arenas.parameter("emb", self.config.vocab * self.config.width);
        let bindings = [("tokens", self.arenas.tokens), ("emb", emb), ("state", self.scratch.stream)];
        self.row_kernel("embed", kernel!("embed"), "forward", &["forward"], "", &bindings);
    }

    /// stream and, if there is one, the increment of a layer's block (1 attention, 2 SwiGLU) -> stream,
    /// normal, inverse_sd
    fn normalize(&mut self, name: &str, increment: Option<(usize, usize)>, normal: Part, inverse_sd: Part) {
        let mut bindings =
            vec![("stream", self.scratch.stream), ("normal", normal), ("inverse_sd", inverse_sd)];
        let mut flags = vec!["forward"];
        if let Some((layer, block)) = increment {
            flags.push("residual");
            bindings.push(("increment", self.scratch.increment));
            bindings.push(("keys", self.arenas.keys_of(&self.sizes, layer, block)));
        }
        self.row_kernel(name, kernel!("norm"), "forward", &flags, "", &bindings);
    }

    /// normal -> queries, keys, values; the first two turned by RoPE
    fn map_and_rotate(&mut self, layer: usize) {
        let (rows, d) = (self.sizes.rows(), self.config.width);
        let product = map(rows, 3 * d, d, &self.normalized(), &Matrix::rows("qkv", 3 * d, 0), true, &["qkv"]);
        let qkv = self.layers[layer].qkv;
        let bindings = [
            ("normal", self.layers[layer].normal1),
            ("norm_weight", self.parameter(layer, "ln1.weight", d)),
            ("norm_bias", self.parameter(layer, "ln1.bias", d)),
            ("w", self.parameter(layer, "wq.weight", 3 * d * d)),
            ("bias", self.parameter(layer, "wq.bias", 3 * d)),
            ("qkv", qkv),
        ];
        self.builder.products("queries, keys, values", &[product], &bindings);
        self.rotate("rotate", qkv, true);
    }

    /// Queries and keys turned in place.
    pub(super) fn rotate(&mut self, name: &str, qkv: Part, forward: bool) {
        let bindings = [("table", self.scratch.rope), ("qkv", qkv)];
        let constants = format!("const FORWARD: bool = {forward};");
        self.row_kernel(name, kernel!("rope"), "rotate", &[], &constants, &bindings);
    }

    /// queries, keys, values -> attention, mixed
    fn attend(&mut self, layer: usize) {
        let (attention, width) = (self.attention(), self.sizes.head());
        let scores = attention.scores(width, &self.section("qkv", 0), &self.section("qkv", 1));
        let mix = attention.mix(width, &self.section("qkv", 2), &self.head_columns("mixed"), &["mixed"]);
        let buffers = &self.layers[layer];
        let bindings = [("qkv", buffers.qkv), ("coupling", buffers.attention), ("mixed", buffers.mixed)];
        let (keys, coupling) = (self.arenas.keys_of(&self.sizes, layer, 0), buffers.attention);
        self.builder.products("scores", &[scores], &bindings);
        self.builder.rows(Rows {
            name: "softmax",
            text: kernel!("couple"),
            entry: "forward",
            flags: &[],
            constants: String::new(),
            bindings: &[("keys", keys), ("coupling", coupling)],
            groups: [self.sizes.tokens, self.sizes.sequences * self.sizes.heads, 1],
        });
        self.builder.products("mix", &[mix], &bindings);
    }

    /// mixed -> increment
    fn project(&mut self, layer: usize) {
        let (rows, d) = (self.sizes.rows(), self.config.width);
        let (mixed, increment) = (Matrix::rows("mixed", d, 0), Matrix::rows("increment", d, 0));
        let product = map(rows, d, d, &mixed, &increment, false, &["increment"]);
        let bindings = [
            ("mixed", self.layers[layer].mixed),
            ("w", self.parameter(layer, "wo.weight", d * d)),
            ("increment", self.scratch.increment),
        ];
        self.builder.products("project", &[product], &bindings);
    }

    /// normal -> gate and up, increment
    fn feed_forward(&mut self, layer: usize) {
        let (rows, d) = (self.sizes.rows(), self.config.width);
        let wide = map(rows, 8 * d, d, &self.normalized(), &Matrix::rows("wide", 8 * d, 0), false, &["wide"]);
        let increment = Matrix::rows("increment", d, 0);
        let down = map(rows, d, 4 * d, &swiglu_hidden(4 * d), &increment, true, &["increment"]);
        let first = [
            ("normal", self.layers[layer].normal2),
            ("norm_weight", self.parameter(layer, "ln2.weight", d)),
            ("norm_bias", self.parameter(layer, "ln2.bias", d)),
            ("w", self.parameter(layer, "ffn.gate.weight", 8 * d * d)),
            ("wide", self.layers[layer].wide),
        ];
        let second = [
            ("wide", self.layers[layer].wide),
            ("w", self.parameter(layer, "ffn.down.weight", 4 * d * d)),
            ("bias", self.parameter(layer, "ffn.down.bias", d)),
            ("increment", self.scratch.increment),
        ];
        self.builder.products("gate and up", &[wide], &first);
        self.builder.products("down", &[down], &second);
    }

    /// the last norm -> logits
    fn read_out(&mut self) {
        let (rows, d, v) = (self.sizes.rows(), self.config.width, self.config.vocab);
        let (x, y) = (Matrix::rows("normal", d, 0), Matrix::rows("logits", v, 0));
        let product = map(rows, v, d, &x, &y, true, &["logits"]);
        let bindings = [
            ("normal", self.scratch.final_normal),
            ("w", self.arenas.parameter("head.weight", v * d)),
            ("bias", self.arenas.parameter("head.bias", v)),
            ("logits", self.scratch.logits),
        ];
        self.builder.products("logits", &[product], &bindings);
    }

    /// logits -> losses; backwards also the gradient in place of the logits
    pub(super) fn cross_entropy(&mut self, name: &str, direction: &str) {
        let bindings = [
            ("targets", self.arenas.targets),
            ("losses", self.arenas.losses),
            ("logits", self.scratch.logits),
        ];
        self.row_kernel(name, kernel!("cross_entropy"), "cross_entropy", &[direction], "", &bindings);
    }
}
