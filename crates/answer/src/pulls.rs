//! Who pulls a byte.

use crate::error::{Error, Result};
use crate::model::Model;
use crate::question::Question;
use kuramoto_phase::coalition::coalitions;
use kuramoto_phase::pull::Pulls;
use kuramoto_phase::radius::radii;
use serde::Deserialize;
use serde_json::{Value, json};

/// Asks who pulls a byte.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PullQuestion {
    /// The text.
    pub question: Question,
    token: usize,
    /// Locking from which tokens form a coalition.
    locking: f64,
}

/// The pulls on a token in every layer, and the coalition it is in; if the model is touched, of both.
pub fn pulls(model: &mut Model, asked: &PullQuestion) -> Result<Value> {
    let tokens = asked.question.tokens(model)?;
    if asked.token >= tokens.len() {
        return Err(Error::Token { token: asked.token, length: tokens.len() });
    }
    asked.question.check(model)?;
    Pulls::check(model.weights.network())?;
    let radii = radii(&model.weights);
    let mut of = |question: &Question| -> Result<Value> {
        let trace = &question.run(model, &tokens)?.trace;
        let layers = (0..trace.layers()).map(|layer| {
            let pulls = Pulls::on(trace, layer, asked.token, radii[layer].0);
            pulls.strongest(trace, layer)
        });
        let groups = coalitions(trace, asked.locking);
        let own = groups.iter().map(|groups| groups.iter().find(|group| group.tokens.contains(&asked.token)));
        Ok(json!({ "layers": layers.collect::<Vec<_>>(), "coalition": own.collect::<Vec<_>>() }))
    };
    let mut answer = of(&asked.question.untouched())?;
    if asked.question.is_touched() {
        answer["touched"] = of(&asked.question)?;
    }
    Ok(answer)
}
