//! A text that a model read, kept because the next question is mostly about nearly the same text.

use crate::error::Result;
use kuramoto_phase::intervention::{Change, Intervening, Intervention};
use kuramoto_phase::{KuramotoWeights, KuramotoWorkspace, Trace};

/// What a model left of a text.
pub(crate) struct Reading {
    work: KuramotoWorkspace,
    /// The text; empty if there is none, or if what is left of it cannot be trusted.
    tokens: Vec<u8>,
    /// Phases, couplings and gates.
    pub trace: Trace<f32>,
    /// n x vocabulary.
    pub logits: Vec<f32>,
}

impl Reading {
    /// Room for a text.
    pub fn new(weights: &KuramotoWeights) -> Reading {
        let trace = Trace::new(weights.network());
        Reading { work: weights.workspace(), tokens: vec![], trace, logits: vec![] }
    }

    /// Reads a text with the weights and interventions it was read with before: only what follows the first
    /// change is computed.
    pub fn update(
        &mut self,
        weights: &KuramotoWeights,
        interventions: &[Intervention],
        tokens: &[u8],
    ) -> Result<()> {
        let same = self.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        if same == tokens.len() && same == self.tokens.len() {
            return Ok(());
        }
        // A text that became shorter still needs its last position's row, with nothing after it.
        let kept = same.min(tokens.len().saturating_sub(1));
        self.tokens.clear();
        let (network, work) = (weights.network(), &mut self.work);
        if kept == 0 {
            let mut hooks = Intervening::new(network, interventions, &mut self.trace);
            weights.forward(tokens, work, &mut hooks)?;
        } else {
            let rest = self.trace.extending(kept, tokens.len());
            let mut hooks = Intervening::new(network, interventions, rest).starting_at(kept);
            weights.extend(tokens, kept, work, &mut hooks)?;
        }
        self.logits = weights.logits(tokens.len(), work);
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }
}

/// A model that is intervened in, and the text it read last.
pub(crate) struct Touched {
    /// Changed parameters.
    weights: KuramotoWeights,
    interventions: Vec<Intervention>,
    changes: Vec<Change>,
    reading: Reading,
}

impl Touched {
    /// A copy of a model, without interventions yet.
    pub fn new(original: &KuramotoWeights) -> Touched {
        let reading = Reading::new(original);
        Touched { weights: original.clone(), interventions: vec![], changes: vec![], reading }
    }

    /// Reads a text with these interventions and changes of the original.
    pub fn read(
        &mut self,
        original: &KuramotoWeights,
        interventions: &[Intervention],
        changes: &[Change],
        tokens: &[u8],
    ) -> Result<&Reading> {
        let Touched { weights, reading, .. } = self;
        if self.changes != changes {
            reading.tokens.clear();
            weights.edit(|_, parameters| parameters.copy_from_slice(original.parameters()));
            changes.iter().for_each(|change| change.apply(weights));
            self.changes = changes.to_vec();
        }
        if self.interventions != interventions {
            reading.tokens.clear();
            self.interventions = interventions.to_vec();
        }
        reading.update(weights, interventions, tokens)?;
        Ok(reading)
    }
}
