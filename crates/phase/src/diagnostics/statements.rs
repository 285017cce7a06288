//! The paper's statements about its trained model (Figures 1 and 2, Section 4.4), judged for this one.

use super::Profile;
use super::verdict::{Evidence, NEAR_ONE, ORDER_MARGIN, OTHERS_MARGIN, RANGE_MARGIN, RATE_MARGIN, Verdict};
use kuramoto_model::config::Drift;
use kuramoto_report::statistics::{kendall, mean};
use serde::Serialize;

/// One of the paper's statements about its trained model.
#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    /// Where the paper makes it.
    pub place: &'static str,
    /// Its subject, where the paper shows no figure of it.
    pub topic: Option<&'static str>,
    /// What it states.
    pub text: &'static str,
    /// Whether this model shows it.
    pub verdict: Verdict,
    /// The numbers.
    pub because: String,
}

/// What a model is judged by.
pub struct Case<'a> {
    /// The trained model.
    pub trained: &'a Profile,
    /// The same model before training.
    pub untrained: &'a Profile,
    /// Which of its rates are learned.
    pub drift: Drift,
}

/// Every statement, judged.
pub fn statements(case: &Case<'_>) -> Vec<Statement> {
    [local_order, global_order, departure, rate_by_depth, range_by_depth, rate_and_range, alignment]
        .map(|judge| judge(case))
        .into()
}

fn list(values: &[f64]) -> String {
    values.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ")
}

fn all(values: &[f64], is: impl Fn(f64) -> bool) -> bool {
    !values.is_empty() && values.iter().all(|&x| is(x))
}

fn near_one(x: f64) -> bool {
    x >= NEAR_ONE
}

fn local_order(case: &Case<'_>) -> Statement {
    let Case { trained, untrained, .. } = case;
    let evidence = Evidence {
        stated: near_one(trained.least),
        part: all(&trained.local, near_one),
        beyond_start: mean(&trained.local) - mean(&untrained.local) >= ORDER_MARGIN,
        beyond_self: all(&trained.neighbours, near_one),
    };
    Statement {
        place: "Figure 1a",
        topic: None,
        text: "local order stays near one at every layer and position",
        verdict: evidence.verdict(),
        because: format!(
            "by layer {}, the least over layers and positions {:.3}; untrained {}, the least {:.3}; without the token \
             itself {} (its coupling with itself, which alone would give 1: {})",
            list(&trained.local),
            trained.least,
            list(&untrained.local),
            untrained.least,
            list(&trained.neighbours),
            list(&trained.self_coupling)
        ),
    }
}

fn global_order(case: &Case<'_>) -> Statement {
    let Case { trained, untrained, .. } = case;
    let falls = trained.fall() >= ORDER_MARGIN && trained.slope.high < 0.0;
    // Of the states that enter a layer: the last state has no neighbours.
    let gap = match (trained.neighbours.last(), trained.global.iter().rev().nth(1)) {
        (Some(neighbours), Some(global)) => neighbours - global,
        _ => f64::NAN,
    };
    let evidence = Evidence {
        stated: falls && all(&trained.local, near_one),
        part: falls,
        beyond_start: trained.fall() - untrained.fall() >= ORDER_MARGIN,
        beyond_self: all(&trained.neighbours, near_one) && gap >= ORDER_MARGIN,
    };
    Statement {
        place: "Figure 1b",
        topic: None,
        text: "global order falls with depth while local order stays high",
        verdict: evidence.verdict(),
        because: format!(
            "global order by layer and after the last {} (slope {} a layer, 95% interval), a fall of {:.3}; \
             untrained {}, a fall of {:.3}; local order {}, without the token itself {}, which in the last layer is \
             {:+.3} above global order",
            list(&trained.global),
            trained.slope,
            trained.fall(),
            list(&untrained.global),
            untrained.fall(),
            list(&trained.local),
            list(&trained.neighbours),
            gap
        ),
    }
}

/// True if a difference of rates counts; without drift there is none.
fn differs(difference: f64, initial_rate: f64) -> bool {
    difference > 0.0 && difference >= RATE_MARGIN * initial_rate
}

/// True if every layer couples enough with other tokens for its rates to have an effect.
fn drift_counts(profile: &Profile) -> bool {
    all(&profile.self_coupling, |own| 1.0 - own >= OTHERS_MARGIN)
}

fn departure(case: &Case<'_>) -> Statement {
    let departed = |moved: f64| moved >= RATE_MARGIN;
    let found = &case.trained.departures;
    let evidence = Evidence {
        stated: all(found, departed),
        part: found.iter().any(|&moved| departed(moved)),
        // The untrained model departs by 0: the margin is all there is to exceed.
        beyond_start: true,
        beyond_self: drift_counts(case.trained),
    };
    Statement {
        place: "Figure 2a",
        topic: None,
        text: "the spectra of rates depart from their rotary initialization",
        verdict: evidence.verdict(),
        because: format!(
            "mean distance of the sorted rates from their start by layer, as a share of the mean rate {:.3} at \
             the start: {}; untrained 0; coupling with other tokens {}{}",
            case.trained.initial_rate,
            list(found),
            with_others(case.trained),
            how_learned(case.drift)
        ),
    }
}

fn rate_by_depth(case: &Case<'_>) -> Statement {
    let Profile { rates, initial_rate, .. } = case.trained;
    let fall = fall(rates);
    let falls = differs(fall, *initial_rate);
    let evidence = Evidence {
        stated: falls && rates.is_sorted_by(|a, b| a > b),
        part: falls,
        // All layers of the untrained model have the same rates.
        beyond_start: true,
        beyond_self: drift_counts(case.trained),
    };
    Statement {
        place: "Figure 2b",
        topic: None,
        text: "the mean rate falls with depth",
        verdict: evidence.verdict(),
        because: format!(
            "by layer {}, a fall of {fall:.4}{}; untrained {initial_rate:.3} in every layer; coupling with other \
             tokens {}{}",
            list(rates),
            by_chance(rates.len()),
            with_others(case.trained),
            how_learned(case.drift)
        ),
    }
}

fn range_by_depth(case: &Case<'_>) -> Statement {
    let Case { trained, untrained, .. } = case;
    let rise = rise(&trained.range);
    let evidence = Evidence {
        stated: trained.range.is_sorted_by(|a, b| a < b) && rise >= RANGE_MARGIN,
        part: rise >= RANGE_MARGIN,
        beyond_start: rise >= RANGE_MARGIN * self::rise(&untrained.range),
        beyond_self: self::rise(&trained.neighbour_range) >= RANGE_MARGIN,
    };
    Statement {
        place: "Figure 2b",
        topic: Some("range by depth"),
        text: "early layers couple short-range and later layers long-range",
        verdict: evidence.verdict(),
        because: format!(
            "bytes back by layer {}, {rise:.2} times as far in the last as in the first{}; untrained {}, {:.2} \
             times; without the token itself {}, {:.2} times",
            list(&trained.range),
            by_chance(trained.range.len()),
            list(&untrained.range),
            self::rise(&untrained.range),
            list(&trained.neighbour_range),
            self::rise(&trained.neighbour_range)
        ),
    }
}

fn rate_and_range(case: &Case<'_>) -> Statement {
    let Profile { rates, range, neighbour_range, initial_rate, .. } = case.trained;
    let differ = differs(spread(rates), *initial_rate) && ratio(range) >= RANGE_MARGIN;
    let (order, without_self) = (kendall(rates, range), kendall(rates, neighbour_range));
    let evidence = Evidence {
        stated: differ && order == -1.0,
        part: differ && order < 0.0,
        // All layers of the untrained model have the same rates.
        beyond_start: true,
        beyond_self: without_self == -1.0,
    };
    Statement {
        place: "Section 4.4",
        topic: Some("rate and range"),
        text: "layers with higher rates couple shorter-range",
        verdict: evidence.verdict(),
        because: format!(
            "mean rate by layer {}, bytes back {}: Kendall's tau {order:.2} (-1: the opposite order), without the \
             token itself {without_self:.2}; untrained: the same rates in every layer{}",
            list(rates),
            list(range),
            if differ { "" } else { "; rates or ranges hardly differ between layers" }
        ),
    }
}

fn alignment(case: &Case<'_>) -> Statement {
    let Case { trained, untrained, .. } = case;
    let evidence = Evidence {
        stated: all(&trained.alignment, near_one),
        part: trained.alignment.iter().any(|&x| near_one(x)),
        beyond_start: mean(&trained.alignment) - mean(&untrained.alignment) >= ORDER_MARGIN,
        beyond_self: all(&trained.neighbour_alignment, near_one),
    };
    Statement {
        place: "Section 4.4",
        topic: Some("alignment"),
        text: "each token's phase aligns with the mean it attends to",
        verdict: evidence.verdict(),
        because: format!(
            "mean cosine by layer {}; untrained {}; without the token itself {}",
            list(&trained.alignment),
            list(&untrained.alignment),
            list(&trained.neighbour_alignment)
        ),
    }
}

/// Share of the coupling that other tokens have, by layer.
fn with_others(profile: &Profile) -> String {
    list(&profile.self_coupling.iter().map(|own| 1.0 - own).collect::<Vec<f64>>())
}

/// How often so many layers are in a given order by chance: one run says little of few layers.
fn by_chance(layers: usize) -> String {
    let orders: f64 = (1..=layers).map(|layer| layer as f64).product();
    format!(" (an order that {layers} layers have by chance once in {orders})")
}

fn how_learned(drift: Drift) -> &'static str {
    match drift {
        Drift::Learned => "",
        Drift::Shared => "; all layers of this model share one set of rates",
        Drift::Fixed => "; the rates of this model are fixed",
        Drift::None => "; this model has no drift",
    }
}

/// From the first to the last.
fn fall(values: &[f64]) -> f64 {
    match values {
        [first, .., last] => first - last,
        _ => 0.0,
    }
}

/// Between the largest and the smallest.
fn spread(values: &[f64]) -> f64 {
    let (low, high) = ends(values);
    high - low
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)))
}

/// Below a hundredth of a byte ranges are alike.
const LEAST_RANGE: f64 = 0.01;

/// How many times as far the last range is as the first.
fn rise(ranges: &[f64]) -> f64 {
    match ranges {
        [first, .., last] => last.max(LEAST_RANGE) / first.max(LEAST_RANGE),
        _ => 1.0,
    }
}

/// How many times as far the longest range is as the shortest.
fn ratio(ranges: &[f64]) -> f64 {
    let (low, high) = ends(ranges);
    high.max(LEAST_RANGE) / low.max(LEAST_RANGE)
}
