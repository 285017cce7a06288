//! What was measured, in a few lines for a person.

use super::{Diagnostics, NEAR_ONE, Statement};
use crate::surrogate::Surrogate;
use crate::survey::Survey;
use kuramoto_report::statistics::mean;

/// How synchronized the model is, where, against what, how far it couples, its metric, and what the paper says.
pub fn summary(diagnostics: &Diagnostics) -> Vec<String> {
    let mut lines = vec![
        local(diagnostics),
        global(diagnostics),
        against(diagnostics),
        reach(diagnostics),
        metric(diagnostics),
    ];
    lines.extend(scale(diagnostics.tau));
    lines.extend(statements(diagnostics));
    lines
}

fn by_layer(diagnostics: &Diagnostics, measure: &str) -> Vec<f64> {
    let survey = &diagnostics.surveys.trained;
    (0..survey.layers).map(|layer| survey.mean_of(measure, layer)).collect()
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

/// A number in this format, or `-` where the text was too short for it.
fn number(x: f64, format: impl Fn(f64) -> String) -> String {
    if x.is_nan() { "-".into() } else { format(x) }
}

/// Local order of the last layer, and what it is without the token itself and in surrogates.
fn against(diagnostics: &Diagnostics) -> String {
    let Diagnostics { surveys, untrained, .. } = diagnostics;
    let last = surveys.trained.layers.saturating_sub(1);
    let value = |survey: &Survey, measure: &str| number(survey.mean_of(measure, last), |x| format!("{x:.2}"));
    let mut parts = vec![
        format!("without itself {}", value(&surveys.trained, "neighbour-order")),
        format!("untrained {}", value(untrained, "local-order")),
    ];
    let others = surveys.against.iter().filter(|(surrogate, _)| *surrogate != Surrogate::Untrained);
    parts.extend(others.map(|(surrogate, null)| format!("{surrogate} {}", value(null, "local-order"))));
    format!("Baselines of local order {}: {}.", value(&surveys.trained, "local-order"), parts.join(", "))
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

/// How far the metric of Appendix A is from flat.
fn metric(diagnostics: &Diagnostics) -> String {
    let [size, anisotropy, variation, positive] =
        ["metric-size", "metric-anisotropy", "metric-variation", "metric-positive"]
            .map(|measure| mean(&by_layer(diagnostics, measure)));
    if size.is_nan() {
        return "Metric: none that is diagonal; the score has a low-rank frame in place of gates.".into();
    }
    let percent = |x: f64| number(x, |x| format!("{:.0}%", 100.0 * x));
    let signs = match positive {
        share if share < 1.0 => format!("; {:.1}% of it is not positive", 100.0 * (1.0 - share)),
        _ => String::new(),
    };
    format!(
        "Metric: mean {size:.3}; it differs by {} over oscillators and by {} over tokens (flat: 0%){signs}.",
        percent(anisotropy),
        percent(variation)
    )
}

/// A warning, if the score scale is not what the paper assumes.
fn scale(tau: f64) -> Option<String> {
    let assumed = tau > 0.0;
    (!assumed).then(|| {
        format!("Scale: tau = {tau:.4} is not positive, as Proposition 1 and Appendix A assume; see docs/phase.md.")
    })
}

/// The verdicts on the paper's figures, and on its text.
fn statements(diagnostics: &Diagnostics) -> Vec<String> {
    let verdicts = |part: &dyn Fn(&Statement) -> Option<&'static str>| {
        let words = diagnostics
            .statements
            .iter()
            .filter_map(|statement| Some(format!("{} {}", part(statement)?, statement.verdict.words())));
        words.collect::<Vec<String>>().join(", ")
    };
    let figures = verdicts(&|statement| statement.topic.is_none().then_some(statement.place));
    let topics = verdicts(&|statement| statement.topic);
    vec![format!("Paper: {figures}."), format!("Paper, in words: {topics}.")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_that_is_not_positive_is_named() {
        assert_eq!(scale(0.1), None);
        for tau in [0.0, -0.25, f64::NAN] {
            let line = scale(tau).unwrap();
            assert!(line.contains("is not positive") && line.len() <= 120, "{line}");
        }
    }
}
