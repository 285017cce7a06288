//! Everything the page shows of a text: phases, couplings, order and probabilities, with and without
//! interventions.

use crate::error::Result;
use crate::message::Message;
use crate::model::Model;
use crate::question::{Part, Question};
use crate::reading::Reading;
use kuramoto_phase::Trace;
use kuramoto_phase::order::{Attended, global_order};
use kuramoto_phase::prediction::{likeliest, probabilities};
use kuramoto_phase::radius::radii;
use serde_json::json;
use std::f64::consts::LN_2;

/// Probabilities that are sent of every position.
const LIKELY: usize = 8;

/// The parts of a text that a question asks for, as a message; if the model is touched, of both.
pub fn inspect(model: &mut Model, question: &Question) -> Result<Message> {
    let tokens = question.tokens(model)?;
    question.check(model)?;
    let mut message = Message::default();
    let (corpus, parts) = (model.corpus.clone(), &question.parts);
    // Gates and the phases after synchronization are not among what is computed elsewhere.
    let more = parts.contains(&Part::Middle) || parts.contains(&Part::Gates);
    let known = model.elsewhere.take_if(|elsewhere| elsewhere.tokens == tokens && !more);
    let (trace, logits) = match &known {
        Some(elsewhere) => (&elsewhere.trace, &elsewhere.logits),
        None => {
            let Reading { trace, logits, .. } = question.untouched().run(model, &tokens)?;
            (trace, logits)
        }
    };
    add(&mut message, "", trace, logits, parts, &tokens, &corpus.vocabulary);
    let (n, k, heads, layers) = (tokens.len(), trace.k, trace.heads, trace.layers());
    if question.is_touched() {
        let Reading { trace, logits, .. } = question.run(model, &tokens)?;
        add(&mut message, "touched.", trace, logits, parts, &tokens, &corpus.vocabulary);
    }
    if parts.contains(&Part::Omega) {
        let network = model.weights.network();
        let omega = |layer: usize| network.omega(model.weights.parameters(), layer).into_owned();
        message.floats("omega", &[layers, k], (0..layers).flat_map(omega));
    }
    message.meta(json!({
        "step": model.step,
        "n": n,
        "k": k,
        "heads": heads,
        "layers": layers,
        "tau": model.weights.parameter("tau").map(|tau| tau[0]),
        "radii": radii(&model.weights),
        "touched": question.is_touched(),
        "drift_in_values": model.weights.network().config().drift_in_values,
        "elsewhere": known.is_some(),
    }));
    // Another question about the same text may follow.
    model.elsewhere = known.or(model.elsewhere.take());
    Ok(message)
}

fn add(
    message: &mut Message,
    prefix: &str,
    trace: &Trace<f32>,
    logits: &[f32],
    parts: &[Part],
    tokens: &[u8],
    vocabulary: &[u8],
) {
    let (n, k, layers) = (trace.n, trace.k, trace.layers());
    let name = |name: &str| format!("{prefix}{name}");
    let wants = |part: Part| parts.contains(&part);
    if wants(Part::Phase) {
        message.floats(&name("phase"), &[layers + 1, n, k], trace.states.iter().flatten().copied());
    }
    if wants(Part::Middle) {
        message.floats(&name("phase_mid"), &[layers, n, k], trace.middles.iter().flatten().copied());
    }
    if wants(Part::Gates) {
        for (gate, of) in
            [("query_gate", &trace.query), ("key_gate", &trace.key), ("value_gate", &trace.value)]
        {
            if of.iter().all(|gates| gates.len() == n * k) {
                message.floats(&name(gate), &[layers, n, k], of.iter().flatten().copied());
            }
        }
    }
    if wants(Part::Coupling) {
        let couplings = trace.attention.iter().flatten().copied();
        message.floats(&name("coupling"), &[layers, trace.heads, n, n], couplings);
    }
    if wants(Part::Order) {
        let attended: Vec<Attended<f32>> = (0..layers).map(|layer| Attended::of(trace, layer)).collect();
        let each = |of: fn(&Attended<f32>, usize) -> f64| {
            let rows = attended.iter().flat_map(move |layer| (0..n).map(move |t| of(layer, t) as f32));
            rows.collect::<Vec<f32>>()
        };
        message.floats(&name("local"), &[layers, n], each(Attended::local_order));
        message.floats(&name("alignment"), &[layers, n], each(Attended::alignment));
        let global = trace.states.iter().map(|state| global_order(state, k) as f32);
        message.floats(&name("global"), &[layers + 1], global);
    }
    if wants(Part::Logits) {
        message.floats(&name("logits"), &[n, logits.len() / n], logits.iter().copied());
    }
    if !wants(Part::Bits) && !wants(Part::Likely) {
        return;
    }
    let chances: Vec<Vec<f64>> = logits.chunks_exact(logits.len() / n).map(probabilities).collect();
    if wants(Part::Bits) {
        let bits = |t: usize| match tokens.get(t + 1) {
            Some(&next) => (-chances[t][usize::from(next)].ln() / LN_2) as f32,
            None => f32::NAN,
        };
        message.floats(&name("bits"), &[n], (0..n).map(bits));
    }
    if wants(Part::Likely) {
        let likely: Vec<(f32, f32)> =
            chances.iter().flat_map(|chances| likeliest_bytes(chances, vocabulary)).collect();
        message.floats(&name("likely"), &[n, LIKELY], likely.iter().map(|pair| pair.0));
        message.floats(&name("chance"), &[n, LIKELY], likely.iter().map(|pair| pair.1));
    }
}

/// Bytes and their probabilities, likeliest first; filled up with -1 if the vocabulary is smaller.
fn likeliest_bytes(chances: &[f64], vocabulary: &[u8]) -> Vec<(f32, f32)> {
    let pair = |(token, chance): (usize, f64)| (f32::from(vocabulary[token]), chance as f32);
    let mut pairs: Vec<(f32, f32)> = likeliest(chances).into_iter().map(pair).collect();
    pairs.resize(LIKELY, (-1.0, 0.0));
    pairs
}
