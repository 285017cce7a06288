//! What is measured, as tables: for a terminal and for other programs.

use super::Drift;
use crate::circular::Resultant;
use crate::measure::{MEASURES, Measure};
use crate::surrogate::Surrogate;
use crate::survey::{Estimate, Survey, Surveys};
use kuramoto_report::csv::{number, optional};
use kuramoto_report::statistics::mean;
use kuramoto_report::{Csv, TextTable};

/// A number with this format, or `-` for NaN.
fn shown(x: f64, format: impl Fn(f64) -> String) -> String {
    if x.is_nan() { "-".into() } else { format(x) }
}

/// Distance beyond which its size says nothing more.
const FAR: f64 = 100.0;

/// A distance to a surrogate, in standard deviations.
pub fn distance(z: f64) -> String {
    match z {
        z if z > FAR => format!("> {FAR}"),
        z if z < -FAR => format!("< -{FAR}"),
        z => shown(z, |z| format!("{z:+.1}")),
    }
}

/// Every measure with its formula and what it says.
pub fn explained() -> String {
    let one =
        |measure: &Measure| format!("{}\n    {}\n    {}\n", measure.name, measure.formula, measure.meaning);
    MEASURES.iter().map(one).collect()
}

/// Measures down, layers across.
pub fn measures(ours: &Survey) -> TextTable {
    let head: Vec<String> = (0..ours.layers).map(|layer| format!("layer {layer}")).collect();
    let head: Vec<&str> = ["measure"].into_iter().chain(head.iter().map(String::as_str)).collect();
    let mut table = TextTable::new(&head);
    for (place, measure) in MEASURES.iter().enumerate() {
        let cell = |layer: usize| shown(mean(ours.values(place, layer)), |x| format!("{x:.3}"));
        table.row([measure.name.to_string()].into_iter().chain((0..ours.layers).map(cell)));
    }
    table
}

/// Measures down, surrogates across: the distance to each, from the first layer to the last.
pub fn distances(surveys: &Surveys) -> TextTable {
    let names = surveys.against.iter().map(|(surrogate, _)| surrogate.name());
    let mut table = TextTable::new(&["z against"].into_iter().chain(names).collect::<Vec<_>>());
    let ours = &surveys.trained;
    for (place, measure) in MEASURES.iter().enumerate() {
        let cell = |(_, null): &(Surrogate, Survey)| {
            let z = |layer: usize| distance(ours.z(null, place, layer));
            (0..ours.layers).map(z).collect::<Vec<_>>().join(", ")
        };
        table.row([measure.name.to_string()].into_iter().chain(surveys.against.iter().map(cell)));
    }
    table
}

/// A row for each measure and layer.
pub fn measures_csv(surveys: &Surveys) -> String {
    let mut head: Vec<String> = ["measure", "layer", "mean", "sd", "low", "high"].map(String::from).into();
    for (surrogate, _) in &surveys.against {
        head.extend([format!("z_{surrogate}"), format!("{surrogate}_mean")]);
    }
    let mut table = Csv::new(head);
    let ours = &surveys.trained;
    for (place, measure) in MEASURES.iter().enumerate() {
        for layer in 0..ours.layers {
            let Estimate { mean: center, sd, interval } = Estimate::of(ours.values(place, layer));
            let mut row = vec![measure.name.to_string(), layer.to_string()];
            row.extend([center, sd, interval.low, interval.high].map(number));
            for (_, null) in &surveys.against {
                row.extend([ours.z(null, place, layer), mean(null.values(place, layer))].map(number));
            }
            table.row(row);
        }
    }
    table.finish()
}

/// Circular statistics of every oscillator over all tokens that were read.
pub fn oscillators_csv(found: &[Vec<Resultant>], drift: &Drift) -> String {
    let mut table = Csv::new([
        "layer",
        "oscillator",
        "rate",
        "length",
        "mean",
        "variance",
        "deviation",
        "rayleigh_z",
        "rayleigh_p",
    ]);
    for (layer, resultants) in found.iter().enumerate() {
        for (j, resultant) in resultants.iter().enumerate() {
            // The last state enters no layer and drifts no further.
            let rate = optional(drift.rates.get(layer).map(|rates| rates[j]));
            let (z, p) = resultant.rayleigh();
            let angles = [resultant.length(), resultant.mean(), resultant.variance(), resultant.deviation()]
                .map(|x| format!("{x:.6}"));
            let places = [layer.to_string(), j.to_string(), rate].into_iter();
            table.row(places.chain(angles).chain([format!("{z:.3}"), format!("{p:.3e}")]));
        }
    }
    table.finish()
}

/// A row for each layer and pair of oscillators; matrices (k x k) by layer.
pub fn locking_csv(locking: &[Vec<f64>]) -> String {
    let mut table = Csv::new(["layer", "oscillator", "other", "locking"]);
    for (layer, matrix) in locking.iter().enumerate() {
        let k = matrix.len().isqrt();
        for (i, j) in (0..k).flat_map(|i| (0..i).map(move |j| (i, j))) {
            table.row([layer.to_string(), i.to_string(), j.to_string(), format!("{:.5}", matrix[i * k + j])]);
        }
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_distances_are_only_huge() {
        let shown = [27.84, 100.0, 100.1, -15_930.1, f64::INFINITY, f64::NAN].map(distance);
        assert_eq!(shown, ["+27.8", "+100.0", "> 100", "< -100", "> 100", "-"]);
    }

    #[test]
    fn pairs_are_listed_once() {
        let text = locking_csv(&[vec![1.0, 0.25, 0.25, 1.0], vec![1.0, 0.5, 0.5, 1.0]]);
        assert_eq!(text, "layer,oscillator,other,locking\n0,1,0,0.25000\n1,1,0,0.50000\n");
    }

    #[test]
    fn the_last_state_has_no_rate() {
        let how = kuramoto_model::config::Drift::Learned;
        let drift = Drift { rates: vec![vec![0.5]], initial: vec![1.0], how };
        let resultant = || vec![Resultant::of([0.0, 0.0])];
        let text = oscillators_csv(&[resultant(), resultant()], &drift);
        let rows: Vec<&str> = text.lines().collect();
        assert!(
            rows[1].starts_with("0,0,0.5,1.000000,0.000000,") && rows[2].starts_with("1,0,,1.000000,"),
            "{text}"
        );
    }
}
