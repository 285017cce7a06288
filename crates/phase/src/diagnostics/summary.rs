//! What was measured, in five lines for a person.

use super::{Diagnostics, NEAR_ONE, Statement};
use crate::surrogate::Surrogate;
use crate::survey::Survey;
use kuramoto_report::statistics::mean;

/// Five lines: how synchronized the model is, where, against what, how far it couples, and what the paper says.
pub fn summary(diagnostics: &Diagnostics) -> [String; 5] {
    [
        local(diagnostics),
        global(diagnostics),
        against(diagnostics),
        reach(diagnostics),
        statements(diagnostics),
    ]
}

fn by_layer(diagnostics: &Diagnostics, measure: &str) -> Vec<f64> {
    let survey = &diagnostics.surveys.trained;
    (0..survey.layers).map(|layer| mean(survey.named(measure, layer))).collect()
}

/// `0.98 in layer 0, 0.81 in layer 2`.
fn first_and_last(values: &[f64]) -> String {
    match values {
        [] => "-".into(),
        [only] => format!("{only:.2}"),
        [first, .., last] => format!("{first:.2} in layer 0, {last:.2} in layer {}", values.len() - 1),
    }
}

fn local(diagnostics: &Diagnostics) -> String {
    let orders = by_layer(diagnostics, "local-order");
    let word = match mean(&orders) {
        x if x >= NEAR_ONE => "almost in phase",
        x if x >= 0.6 => "largely in phase",
        x if x >= 0.3 => "partly in phase",
        _ => "hardly in phase",
    };
    format!("Near: attended tokens are {word}: local order {} (of 0 to 1).", first_and_last(&orders))
}

fn global(diagnostics: &Diagnostics) -> String {
    let survey = &diagnostics.surveys.trained;
    let orders = by_layer(diagnostics, "global-order");
    let tokens = survey.local_by_position.first().map_or(1, Vec::len).max(1);
    format!(
        "Far: over all {tokens} tokens, global order {}, {:.2} at the end; by chance {:.2}.",
        first_and_last(&orders),
        mean(&survey.last_global_order),
        0.886 / (tokens as f64).sqrt()
    )
}

fn against(diagnostics: &Diagnostics) -> String {
    let surveys = &diagnostics.surveys;
    if surveys.against.is_empty() {
        return "Baselines: none were measured (--against).".into();
    }
    let last = surveys.trained.layers.saturating_sub(1);
    let value = |survey: &Survey| format!("{:.2}", mean(survey.named("local-order", last)));
    let part = |(surrogate, null): &(Surrogate, Survey)| {
        let what = match surrogate {
            Surrogate::Untrained => "untrained",
            Surrogate::Shuffled => "shuffled bytes",
            Surrogate::Permuted => "permuted phases",
            Surrogate::Uniform => "uniform coupling",
        };
        format!("{what} {}", value(null))
    };
    let parts: Vec<String> = surveys.against.iter().map(part).collect();
    format!("Baselines of local order {}: {}.", value(&surveys.trained), parts.join(", "))
}

fn reach(diagnostics: &Diagnostics) -> String {
    let [tokens, range, alone] = ["coupled-tokens", "coupling-range", "self-coupling"]
        .map(|measure| by_layer(diagnostics, measure))
        .map(|values| (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0)));
    format!(
        "Reach: a token couples with {:.0} to {:.0} tokens, {:.1} to {:.1} bytes back; {:.0}% to {:.0}% of it with \
         itself.",
        tokens.0,
        tokens.1,
        range.0,
        range.1,
        100.0 * alone.0,
        100.0 * alone.1
    )
}

fn statements(diagnostics: &Diagnostics) -> String {
    let part = |statement: &Statement| format!("{} {}", statement.place, statement.shown.words());
    let parts: Vec<String> = diagnostics.statements.iter().map(part).collect();
    format!("Paper: {}.", parts.join(", "))
}
