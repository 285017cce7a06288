//! Writing on, byte by byte.

use crate::error::{Error, Result};
use crate::message::Message;
use crate::model::Model;
use crate::question::{Question, context};
use crate::reading::Reading;
use kuramoto_model::sampling::{Drawer, Sampling};
use serde::Deserialize;

/// Asks a model to write on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteQuestion {
    /// The text to go on from.
    pub question: Question,
    bytes: usize,
    sampling: Sampling,
}

/// Bytes that one request may generate.
const MOST_BYTES: usize = 2000;

/// A text that is being written.
pub struct Writer {
    question: Question,
    history: Vec<u8>,
    drawer: Drawer,
    /// Bytes still to write.
    left: usize,
}

impl Writer {
    /// Says what is wrong with the question, if anything, before the first byte is written.
    pub fn new(model: &Model, asked: &WriteQuestion) -> Result<Writer> {
        if asked.bytes > MOST_BYTES {
            return Err(Error::Bytes { bytes: asked.bytes, most: MOST_BYTES });
        }
        let history = asked.question.tokens(model)?;
        let drawer = Drawer::new(&asked.sampling)?;
        asked.question.check(model)?;
        Ok(Writer { question: asked.question.clone(), history, drawer, left: asked.bytes })
    }

    /// Writes the next byte, with the model it began with: a message with `byte` (1) and its phases, `phase`
    /// (L + 1 x k). None at the end.
    pub fn next(&mut self, model: &mut Model) -> Result<Option<Message>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let Writer { question, history, drawer, .. } = self;
        // A full context goes on with its second half, as `kuramoto generate` does.
        let context = context(model);
        if history.len() >= context {
            history.drain(..context / 2);
            question.forget(context / 2);
        }
        let Reading { trace, logits, .. } = question.run(model, history)?;
        let (n, k) = (trace.n, trace.k);
        let token = drawer.draw(&logits[(n - 1) * logits.len() / n..]);
        history.push(token);
        let mut message = Message::default();
        let phases = trace.states.iter().flat_map(|state| &state[(n - 1) * k..]);
        message.floats("phase", &[trace.states.len(), k], phases.copied());
        message.bytes("byte", &[1], &[model.corpus.vocabulary[usize::from(token)]]);
        Ok(Some(message))
    }
}
