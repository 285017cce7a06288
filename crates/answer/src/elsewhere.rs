//! What something else, such as a graphics card, left of a text that the model as it is read.

use crate::error::{Error, Result};
use crate::model::Model;
use crate::question::Question;
use kuramoto_phase::Trace;

/// A text and what is left of it: phases, couplings and logits, but no gates.
pub(crate) struct Elsewhere {
    pub tokens: Vec<u8>,
    pub trace: Trace<f32>,
    pub logits: Vec<f32>,
}

impl Model {
    /// Takes what was computed elsewhere of the text of a question: states (L + 1 x n x k), couplings
    /// (L x h x n x context, of which what lies after the diagonal means nothing) and logits before their scale
    /// (n x V), as little-endian numbers one after the other.
    pub fn take(&mut self, question: &Question, values: &[u8]) -> Result<()> {
        let (tokens, network) = (question.tokens(self)?, self.weights.network());
        let config = network.config();
        let (n, k, stride) = (tokens.len(), config.width, self.context());
        let states = (config.layers + 1) * n * k;
        let couplings = config.layers * config.heads * n * stride;
        let expected = states + couplings + n * config.vocab;
        if values.len() != 4 * expected {
            return Err(Error::Elsewhere { found: values.len(), expected: 4 * expected });
        }
        let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let values: Vec<f32> = values.chunks_exact(4).map(number).collect();
        let (states, rest) = values.split_at(states);
        let (couplings, logits) = rest.split_at(couplings);
        let mut trace = Trace::new(network);
        trace.n = n;
        for (state, own) in trace.states.iter_mut().zip(states.chunks_exact(n * k)) {
            state.extend_from_slice(own);
        }
        for (attention, own) in
            trace.attention.iter_mut().zip(couplings.chunks_exact(config.heads * n * stride))
        {
            for (row, own) in own.chunks_exact(stride).enumerate() {
                let past = row % n + 1;
                attention.extend_from_slice(&own[..past]);
                attention.resize(attention.len() + n - past, 0.0);
            }
        }
        let scale: f32 = network.logit_scale(self.weights.parameters());
        let logits = logits.iter().map(|logit| scale * logit).collect();
        self.elsewhere = Some(Elsewhere { tokens, trace, logits });
        Ok(())
    }
}
