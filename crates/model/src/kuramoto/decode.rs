//! Cached decoding: each token leaves its key phasors and its values behind, layer by layer.

use super::workspace::{Layer, Scratch, Sizes};
use super::{Kuramoto, Pass, Tables};
use crate::error::{Error, Result};
use crate::hooks::NoHooks;
use crate::network::{Decoder, Draw, Network};
use kuramoto_kernels::{AlignedVec, Real, couple, linear};

/// What the past left in one layer.
#[derive(Debug)]
struct Past<F> {
    /// k~ (T x row).
    key: AlignedVec<F>,
    /// psi (T x 2k), or projected values (T x k).
    values: AlignedVec<F>,
    /// F^T psi (T x 2rh).
    framed: AlignedVec<F>,
}

/// Decodes one byte at a time.
#[derive(Debug)]
pub struct KuramotoDecoder<F: Real> {
    model: Kuramoto,
    parameters: Vec<F>,
    tables: Tables<F>,
    past: Vec<Past<F>>,
    /// The current token's activations, one layer at a time.
    layer: Layer<F>,
    scratch: Scratch<F>,
    weights: AlignedVec<F>,
    logits: AlignedVec<F>,
    len: usize,
}

impl<F: Real> KuramotoDecoder<F> {
    pub(super) fn new(model: &Kuramoto, parameters: &[F]) -> Self {
        let sizes = Sizes::of_one(model);
        let (t, heads, k) = (model.context, model.heads(), model.config.width);
        let mut scratch = Scratch::new(&sizes);
        scratch.ones.fill(F::ONE);
        let mut tables = Tables::new(model);
        model.prepare(parameters, &mut tables);
        let values = if model.circular() { 2 * k } else { k };
        let past = || Past {
            key: AlignedVec::zeros(t * heads.row()),
            values: AlignedVec::zeros(t * values),
            framed: AlignedVec::zeros(t * heads.heads * heads.extra),
        };
        KuramotoDecoder {
            model: model.clone(),
            parameters: parameters[..model.layout.count()].to_vec(),
            tables,
            past: (0..model.config.layers).map(|_| past()).collect(),
            layer: Layer::new(&sizes),
            scratch,
            weights: AlignedVec::zeros(t),
            logits: AlignedVec::zeros(model.config.vocab),
            len: 0,
        }
    }

    /// q of the current token, the past and itself -> u
    fn attend(&mut self, index: usize) {
        let (model, layer, past) = (&self.model, &mut self.layer, &mut self.past[index]);
        let (k, heads, sections) = (model.config.width, model.heads(), model.slots.sections);
        let (kh, width, row, n) = (heads.kh(), heads.width(), heads.row(), self.len + 1);
        let frames = heads.heads * heads.extra;
        past.key[self.len * row..][..row].copy_from_slice(&self.scratch.key);
        past.framed[self.len * frames..][..frames].copy_from_slice(&layer.framed);
        let (own, stride): (&[F], usize) = match sections.value {
            Some(first) if !model.circular() => (&layer.pre[first..first + k], k),
            _ => (&layer.psi, 2 * k),
        };
        past.values[self.len * stride..][..stride].copy_from_slice(own);
        layer.g.fill(F::ZERO);
        layer.u.fill(F::ZERO);
        layer.framed_mean.fill(F::ZERO);
        for head in 0..heads.heads {
            let weights = &mut self.weights[..n];
            linear::apply_rows(&past.key[head * width..], row, &self.scratch.q[head * width..][..width], weights);
            couple::row(weights);
            if !model.circular() {
                let mean = &mut layer.u[head * kh..][..kh];
                linear::combine_rows(&past.values[head * kh..], stride, weights, mean);
                continue;
            }
            for (first, width) in model.value_columns(head) {
                let mean = &mut layer.g[first..first + width];
                linear::combine_rows(&past.values[first..], stride, weights, mean);
            }
            if heads.extra > 0 {
                let mean = &mut layer.framed_mean[head * heads.extra..][..heads.extra];
                linear::combine_rows(&past.framed[head * heads.extra..], frames, weights, mean);
            }
        }
        model.direction(1, &self.scratch.ones, layer);
    }
}

impl<F: Real> Decoder<F> for KuramotoDecoder<F> {
    fn push(&mut self, token: u8) -> Result<&[F]> {
        Network::<F>::check(&self.model, &[token])?;
        if self.len == self.model.context {
            return Err(Error::TooLong { length: self.len + 1, context: self.model.context });
        }
        let (k, tokens) = (self.model.config.width, &[token]);
        linear::gather(k, self.model.slots.emb.of(&self.parameters), tokens, &mut self.scratch.theta);
        for index in 0..self.model.config.layers {
            let KuramotoDecoder { model, parameters, tables, layer, scratch, .. } = self;
            let pass = Pass { parameters, tables, tokens, draw: Draw::EVALUATION };
            if index == 0 {
                linear::gather(2 * k, &tables.emb_psi, tokens, &mut layer.psi);
                linear::gather(model.slots.sections.total, &tables.emb_pre, tokens, &mut layer.pre);
            } else {
                model.lift_and_map(&pass, index, &scratch.theta, layer);
            }
            model.gates(1, layer);
            model.phasors(&pass, index, self.len, layer, scratch);
            self.attend(index);
            let KuramotoDecoder { model, parameters, tables, layer, scratch, .. } = self;
            let pass = Pass { parameters, tables, tokens, draw: Draw::EVALUATION };
            model.step(&pass, index, layer, scratch, &mut NoHooks);
        }
        let KuramotoDecoder { model, parameters, tables, scratch, logits, .. } = self;
        model.read_out(&Pass { parameters, tables, tokens, draw: Draw::EVALUATION }, scratch, logits);
        let scale = self.model.logit_scale(&self.parameters);
        self.logits.iter_mut().for_each(|x| *x *= scale);
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
