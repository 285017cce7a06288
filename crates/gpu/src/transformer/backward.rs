//! From the loss back to every parameter. The doc line of a stage says what it reads -> what it writes.

use super::TransformerPlan;
use crate::builder::{Rows, kernel};
use crate::matrix::{Matrix, map_back, swiglu_gradient, swiglu_hidden, weight_gradient};
use crate::plan::Part;
use crate::product::{Product, SLABS};

/// A norm on its way back.
struct Norm {
    normal: Part,
    inverse_sd: Part,
    /// The layer and name of its scale; the last norm has none.
    affine: Option<(usize, &'static str)>,
    /// The layer and block (1 attention, 2 SwiGLU) whose increment it read; the first norm reads the
    /// embedding.
    increment: Option<(usize, usize)>,
}

impl TransformerPlan {
    pub(super) fn backward(&mut self) {
        self.cross_entropy("cross-entropy", "backward");
        self.read_out_backward();
        let (normal, inverse_sd) = (self.scratch.final_normal, self.scratch.final_inverse_sd);
        let increment = Some((self.config.layers - 1, 2));
        self.norm_backward("final norm back", &Norm { normal, inverse_sd, affine: None, increment });
        for layer in (0..self.config.layers).rev() {
            let buffers = &self.layers[layer];
            let second = Norm {
                normal: buffers.normal2,
                inverse_sd: buffers.inverse_sd2,
                affine: Some((layer, "ln2")),
                increment: Some((layer, 1)),
            };
            let first = Norm {
                normal: buffers.normal1,
                inverse_sd: buffers.inverse_sd1,
                affine: Some((layer, "ln1")),
                increment: layer.checked_sub(1).map(|before| (before, 2)),
            };
            self.feed_forward_backward(layer);
            self.norm_backward("norm 2 back", &second);
            self.project_backward(layer);
            self.attend_backward(layer);
            self.map_backward(layer);
            self.norm_backward("norm 1 back", &first);
        }
        self.embed_backward();
    }

    /// dlogits, the last norm -> dnormalized (written), the readout's map
    fn read_out_backward(&mut self) {
        let (rows, d, v) = (self.sizes.rows(), self.config.width, self.config.vocab);
        let (dlogits, normal) = (Matrix::rows("logits", v, 0), Matrix::rows("normal", d, 0));
        let bias = self.arenas.distance("head.weight", "head.bias");
        let products = [
            map_back(rows, v, d, &dlogits, &Matrix::rows("dnormalized", d, 0), &["dnormalized"]),
            weight_gradient(rows, v, d, &dlogits, &normal, Some(bias)),
        ];
        let bindings = [
            ("logits", self.scratch.logits),
            ("normal", self.scratch.final_normal),
            ("w", self.arenas.parameter("head.weight", v * d)),
            ("dw", self.arenas.gradients("head.weight", v * d)),
            ("dnormalized", self.scratch.dnormalized),
        ];
        self.builder.products("readout back", &products, &bindings);
    }

    /// dnormalized -> dstream (of the last norm written, else added), dincrement (written), the norm's scale
    /// and bias
    fn norm_backward(&mut self, name: &str, norm: &Norm) {
        let mut bindings = vec![
            ("dy", self.scratch.dnormalized),
            ("normal", norm.normal),
            ("inverse_sd", norm.inverse_sd),
            ("dstream", self.scratch.dstream),
        ];
        let mut flags = vec!["backward"];
        if let Some((layer, block)) = norm.increment {
            flags.push("residual");
            bindings.push(("keys", self.arenas.keys_of(&self.sizes, layer, block)));
            bindings.push(("dincrement", self.scratch.dincrement));
        }
        if let Some((layer, name)) = norm.affine {
            flags.push("affine");
            bindings.push(("weight", self.parameter(layer, &format!("{name}.weight"), self.config.width)));
            self.sum_norm(layer, name, norm.normal);
        }
        let constants = format!("const ACCUMULATE: bool = {};", norm.affine.is_some());
        self.row_kernel(name, kernel!("norm"), "backward", &flags, &constants, &bindings);
    }

    /// dnormalized, normal -> the norm's scale and bias
    fn sum_norm(&mut self, layer: usize, name: &str, normal: Part) {
        let (d, weight) = (self.config.width, format!("layers.{layer}.{name}.weight"));
        let bias = self.arenas.distance(&weight, &format!("layers.{layer}.{name}.bias"));
        let slabs = self.arenas.gradients(&weight, d);
        self.builder.rows(Rows {
            name: "norm sums",
            text: kernel!("columns"),
            entry: "columns",
            flags: &["norm"],
            constants: format!("const BIAS: u32 = {bias}u;"),
            bindings: &[("x", self.scratch.dnormalized), ("normal", normal), ("slabs", slabs)],
            groups: [d.div_ceil(32), SLABS, 1],
        });
    }

    /// Adds a launch of the two products of a layer's map on its way back.
    fn map_products(
        &mut self,
        name: &str,
        layer: usize,
        weight: &str,
        len: usize,
        products: &[Product],
        bindings: &[(&str, Part)],
    ) {
        let weight = format!("layers.{layer}.{weight}");
        let own = [("w", self.arenas.parameter(&weight, len)), ("dw", self.arenas.gradients(&weight, len))];
        self.builder.products(name, products, &[bindings, &own].concat());
    }

    /// dincrement, what the SwiGLU saved -> dnormalized (written), the block's maps
    fn feed_forward_backward(&mut self, layer: usize) {
        let (rows, d) = (self.sizes.rows(), self.config.width);
        let dincrement = Matrix::rows("dincrement", d, 0);
        let named = |name: &str| format!("layers.{layer}.{name}");
        let bias = self.arenas.distance(&named("ffn.down.weight"), &named("ffn.down.bias"));
        let down = [
            map_back(rows, d, 4 * d, &dincrement, &swiglu_gradient(4 * d), &["dwide"]),
            weight_gradient(rows, d, 4 * d, &dincrement, &swiglu_hidden(4 * d), Some(bias)),
        ];
        let dwide = Matrix::rows("dwide", 8 * d, 0);
        let dnormalized = Matrix::rows("dnormalized", d, 0);
        let first = [
            map_back(rows, 8 * d, d, &dwide, &dnormalized, &["dnormalized"]),
            weight_gradient(rows, 8 * d, d, &dwide, &self.normalized(), None),
        ];
        let bindings = [
            ("dincrement", self.scratch.dincrement),
            ("wide", self.layers[layer].wide),
            ("dwide", self.scratch.dwide),
            ("dnormalized", self.scratch.dnormalized),
            ("normal", self.layers[layer].normal2),
            ("norm_weight", self.parameter(layer, "ln2.weight", d)),
            ("norm_bias", self.parameter(layer, "ln2.bias", d)),
        ];
        self.map_products("down back", layer, "ffn.down.weight", 4 * d * d, &down, &bindings);
        self.map_products("gate and up back", layer, "ffn.gate.weight", 8 * d * d, &first, &bindings);
    }

    /// dincrement, mixed -> dmixed (written), the output projection
    fn project_backward(&mut self, layer: usize) {
        let (rows, d) = (self.sizes.rows(), self.config.width);
        let (dincrement, mixed) = (Matrix::rows("dincrement", d, 0), Matrix::rows("mixed", d, 0));
        let products = [
            map_back(rows, d, d, &dincrement, &Matrix::rows("dmixed", d, 0), &["dmixed"]),
            weight_gradient(rows, d, d, &dincrement, &mixed, None),
        ];
        let bindings = [
            ("dincrement", self.scratch.dincrement),
            ("mixed", self.layers[layer].mixed),
            ("dmixed", self.scratch.dnormalized),
        ];
        self.map_products("project back", layer, "wo.weight", d * d, &products, &bindings);
    }

    /// dmixed, queries, keys, values, attention -> their gradients before RoPE (written)
    fn attend_backward(&mut self, layer: usize) {
        let (attention, width) = (self.attention(), self.sizes.head());
        let dmixed = self.head_columns("dmixed");
        let scores = attention.score_gradient(width, &dmixed, &self.section("qkv", 2));
        let written = &["dqkv"];
        let products = [
            attention.query_gradient(width, &self.section("qkv", 1), &self.section("dqkv", 0), written),
            attention.key_gradient(width, &self.section("qkv", 0), &self.section("dqkv", 1), written),
            attention.value_gradient(width, &dmixed, &self.section("dqkv", 2), written),
        ];
        let buffers = &self.layers[layer];
        let bindings = [
            ("dmixed", self.scratch.dnormalized),
            ("qkv", buffers.qkv),
            ("coupling", buffers.attention),
            ("along", self.scratch.along),
            ("dscores", self.scratch.dscores),
            ("dqkv", self.scratch.dqkv),
        ];
        let along =
            [("mean", buffers.mixed), ("dmean", self.scratch.dnormalized), ("along", self.scratch.along)];
        self.row_kernel("along", kernel!("along"), "backward", &[], "", &along);
        self.builder.products("scores back", &[scores], &bindings);
        self.builder.products("queries, keys, values back", &products, &bindings);
        self.rotate("rotate back", self.scratch.dqkv, false);
    }

    /// dqueries, dkeys, dvalues -> dnormalized (written), their maps
    fn map_backward(&mut self, layer: usize) {
        let (rows, d) = (self.sizes.rows(), self.config.width);
        let dqkv = Matrix::rows("dqkv", 3 * d, 0);
        let named = |name: &str| format!("layers.{layer}.{name}");
        let bias = self.arenas.distance(&named("wq.weight"), &named("wq.bias"));
        let products = [
            map_back(rows, 3 * d, d, &dqkv, &Matrix::rows("dnormalized", d, 0), &["dnormalized"]),
            weight_gradient(rows, 3 * d, d, &dqkv, &self.normalized(), Some(bias)),
        ];
        let bindings = [
            ("dqkv", self.scratch.dqkv),
            ("dnormalized", self.scratch.dnormalized),
            ("normal", self.layers[layer].normal1),
            ("norm_weight", self.parameter(layer, "ln1.weight", d)),
            ("norm_bias", self.parameter(layer, "ln1.bias", d)),
        ];
        self.map_products("maps back", layer, "wq.weight", 3 * d * d, &products, &bindings);
    }

    /// dstream -> the embedding
    fn embed_backward(&mut self) {
        let demb = self.arenas.gradients("emb", self.config.vocab * self.config.width);
        self.builder.rows(Rows {
            name: "embed back",
            text: kernel!("embed"),
            entry: "backward",
            flags: &["backward"],
            constants: String::new(),
            bindings: &[("tokens", self.arenas.tokens), ("dstate", self.scratch.dstream), ("demb", demb)],
            groups: [self.config.vocab, SLABS, 1],
        });
    }
}
