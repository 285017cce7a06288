//! Cached decoding: each token leaves its keys and values behind, layer by layer.

use super::workspace::{Layer, Scratch, Sizes};
use super::{Pass, Tables, Transformer};
use crate::error::{Error, Result};
use crate::hooks::NoHooks;
use crate::network::{Decoder, Draw, Network};
use kuramoto_kernels::{AlignedVec, Real, couple, linear};

/// Decodes one byte at a time.
#[derive(Debug)]
pub struct TransformerDecoder<F: Real> {
    model: Transformer,
    parameters: Vec<F>,
    tables: Tables<F>,
    /// Keys and values (T x 2d) of every layer.
    past: Vec<AlignedVec<F>>,
    /// The current token's activations, one layer at a time.
    layer: Layer<F>,
    scratch: Scratch<F>,
    weights: AlignedVec<F>,
    logits: AlignedVec<F>,
    len: usize,
}

impl<F: Real> TransformerDecoder<F> {
    pub(super) fn new(model: &Transformer, parameters: &[F]) -> Self {
        let sizes = Sizes::of_one(model);
        let mut tables = Tables::new(model);
        model.prepare(parameters, &mut tables);
        let past = || AlignedVec::zeros(model.context * 2 * model.config.width);
        TransformerDecoder {
            model: model.clone(),
            parameters: parameters[..model.layout.count()].to_vec(),
            tables,
            past: (0..model.config.layers).map(|_| past()).collect(),
            layer: Layer::new(&sizes),
            scratch: Scratch::new(&sizes),
            weights: AlignedVec::zeros(model.context),
            logits: AlignedVec::zeros(model.config.vocab),
            len: 0,
        }
    }

    /// q of the current token, the past and itself -> o
    fn attend(&mut self, index: usize) {
        let (d, width, n) = (self.model.config.width, self.model.head_width(), self.len + 1);
        let (layer, past) = (&mut self.layer, &mut self.past[index]);
        past[self.len * 2 * d..][..2 * d].copy_from_slice(&layer.qkv[d..]);
        layer.o.fill(F::ZERO);
        for head in 0..self.model.config.heads {
            let weights = &mut self.weights[..n];
            let (q, o) = (&layer.qkv[head * width..][..width], &mut layer.o[head * width..][..width]);
            linear::apply_rows(&past[head * width..], 2 * d, q, weights);
            couple::row(weights);
            linear::combine_rows(&past[d + head * width..], 2 * d, weights, o);
        }
    }
}

impl<F: Real> Decoder<F> for TransformerDecoder<F> {
    fn push(&mut self, token: u8) -> Result<&[F]> {
        Network::<F>::check(&self.model, &[token])?;
        if self.len == self.model.context {
            return Err(Error::TooLong { length: self.len + 1, context: self.model.context });
        }
        let (d, tokens) = (self.model.config.width, &[token]);
        linear::gather(d, self.model.slots.emb.of(&self.parameters), tokens, &mut self.scratch.x);
        for index in 0..self.model.config.layers {
            let TransformerDecoder { model, parameters, tables, layer, scratch, .. } = self;
            let pass = Pass { parameters, tables, tokens, draw: Draw::EVALUATION };
            if index == 0 {
                linear::gather(3 * d, &tables.emb_qkv, tokens, &mut layer.qkv);
            } else {
                model.normalize_and_map(&pass, index, layer, scratch);
            }
            model.turn(tables, self.len, &mut layer.qkv);
            self.attend(index);
            let TransformerDecoder { model, parameters, tables, layer, scratch, .. } = self;
            let pass = Pass { parameters, tables, tokens, draw: Draw::EVALUATION };
            model.step(&pass, index, layer, scratch, &mut NoHooks);
        }
        let TransformerDecoder { model, parameters, tables, scratch, logits, .. } = self;
        model.read_out(&Pass { parameters, tables, tokens, draw: Draw::EVALUATION }, scratch, logits);
        self.len += 1;
        Ok(&self.logits)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.len = 0;
    }
}
