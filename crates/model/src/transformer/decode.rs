//! Cached decoding: each token leaves its keys and values behind, layer by layer.

use super::workspace::{Layer, Scratch, Sizes};
use super::{Pass, Transformer};
use crate::network::Purpose;
use kuramoto_kernels::{AlignedVec, Real, couple, linear};

/// What decoding keeps of the bytes so far.
#[derive(Debug)]
pub struct Cache<F> {
    /// Keys and values (T x 2d) of every layer.
    past: Vec<AlignedVec<F>>,
    /// The current token's activations, one layer at a time.
    layer: Layer<F>,
    scratch: Scratch<F>,
    /// The current token's row of the attention (T).
    attention_row: AlignedVec<F>,
    logits: AlignedVec<F>,
}

impl<F: Real> Cache<F> {
    pub(super) fn new(model: &Transformer) -> Self {
        let sizes = Sizes::for_one_token(model);
        let past = || AlignedVec::zeros(model.context * 2 * model.config.width);
        Cache {
            past: (0..model.config.layers).map(|_| past()).collect(),
            layer: Layer::new(&sizes),
            scratch: Scratch::new(&sizes),
            attention_row: AlignedVec::zeros(model.context),
            logits: AlignedVec::zeros(model.config.vocab),
        }
    }
}

impl Transformer {
    pub(super) fn decode_token<'c, F: Real>(
        &self,
        pass: &Pass<'_, F>,
        position: usize,
        cache: &'c mut Cache<F>,
    ) -> &'c [F] {
        let Pass { parameters, tables, tokens, .. } = *pass;
        let d = self.config.width;
        let Cache { past, layer, scratch, attention_row, logits } = cache;
        let Scratch { stream, normalized, increment, hidden, final_normal, final_inverse_sd, .. } = scratch;
        let Layer { normal1, inverse_sd1, qkv, mixed, normal2, inverse_sd2, gate_up, .. } = layer;
        linear::gather(d, self.slots.emb.slice(parameters), tokens, stream);
        for (index, past) in past.iter_mut().enumerate() {
            if index == 0 {
                linear::gather(3 * d, &tables.emb_qkv, tokens, qkv);
            } else {
                self.normalize_and_map(pass, index, stream, normal1, inverse_sd1, normalized, qkv);
            }
            self.rotate(tables, position, qkv);
            past[position * 2 * d..][..2 * d].copy_from_slice(&qkv[d..]);
            self.attend_past(position, &qkv[..d], past, attention_row, mixed);
            self.project(pass, index, mixed, increment);
            self.add_increment(pass, index, Purpose::FirstIncrement, increment, stream, normalized);
            self.normalize_middle(pass, index, stream, normal2, inverse_sd2, normalized);
            self.feed_forward(pass, index, normalized, gate_up, hidden, increment);
            self.add_increment(pass, index, Purpose::SecondIncrement, increment, stream, normalized);
        }
        self.read_out(pass, stream, final_normal, final_inverse_sd, logits);
        logits
    }

    /// query of the current token, the past and itself -> its row of the attention, mixed
    fn attend_past<F: Real>(
        &self,
        position: usize,
        query: &[F],
        past: &[F],
        attention_row: &mut [F],
        mixed: &mut [F],
    ) {
        let (d, width) = (self.config.width, self.head_width());
        let attention = &mut attention_row[..=position];
        mixed.fill(F::ZERO);
        for head in 0..self.config.heads {
            let (query, mixed) = (&query[head * width..][..width], &mut mixed[head * width..][..width]);
            linear::apply_rows(&past[head * width..], 2 * d, query, attention);
            couple::row(attention);
            linear::combine_rows(&past[d + head * width..], 2 * d, attention, mixed);
        }
    }
}
