//! The paper's diagnostics of a trained model: its Figures 1 and 2, what they are said to show, and other
//! measures.

mod figures;
mod summary;
mod tables;

pub use figures::figures;

use crate::error::Result;
use crate::survey::{Survey, SurveyRequest, Surveys, survey};
use kuramoto_kernels::Real;
use kuramoto_model::{Kuramoto, Network, Weights};
use kuramoto_report::statistics::{kendall, mean, mean_interval};
use kuramoto_report::{wrap, write};
use serde::Serialize;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Everything that is measured on a model at once.
pub struct Diagnostics {
    /// Measures of the model and of its surrogates.
    pub surveys: Surveys,
    /// Its drift rates.
    pub drift: Drift,
    /// What the paper says of its model, for this one.
    pub statements: Vec<Statement>,
}

impl Diagnostics {
    /// Measures a model.
    pub fn of(request: &SurveyRequest<'_>) -> Result<Diagnostics> {
        let surveys = survey(request)?;
        let drift = Drift::of(request.weights);
        let statements = statements(&surveys.trained, &drift);
        Ok(Diagnostics { surveys, drift, statements })
    }

    /// Five lines for a person: how synchronized the model is, where, and against what.
    pub fn summary(&self) -> [String; 5] {
        summary::summary(self)
    }

    /// Writes `diagnostics.txt`, `measures.csv`, `oscillator-locking.csv`, `oscillators.csv`, `diagnostics.json` and the figures
    /// into a folder.
    pub fn write(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let Diagnostics { surveys, drift, statements } = self;
        let json = serde_json::json!({ "statements": statements, "drift": drift, "survey": surveys.trained });
        let json = serde_json::to_string_pretty(&json)? + "\n";
        let mut files = vec![
            write(folder, "diagnostics.txt", self.text())?,
            write(folder, "measures.csv", tables::measures_csv(surveys))?,
            write(folder, "oscillator-locking.csv", tables::locking_csv(&surveys.locking))?,
            write(folder, "oscillators.csv", tables::oscillators_csv(&surveys.oscillators, drift))?,
            write(folder, "diagnostics.json", &json)?,
        ];
        for figure in figures(&surveys.trained, drift) {
            files.extend(figure.save(folder)?);
        }
        Ok(files)
    }

    /// Tables and statements as text, with what every measure means.
    pub fn text(&self) -> String {
        let mut text = format!("Measures by layer\n\n{}\n", tables::measures(&self.surveys.trained));
        if !self.surveys.against.is_empty() {
            text += "Distance to surrogates, in standard deviations of their windows, from the first layer to \
                     the last\n\n";
            writeln!(text, "{}", tables::distances(&self.surveys)).ok();
        }
        text += "What the paper says of its model, and this one\n\n";
        for Statement { place, text: stated, shown, because } in &self.statements {
            writeln!(text, "{place}: {stated}: {}", shown.words()).ok();
            wrap(because, 96).iter().for_each(|line| writeln!(text, "    {line}").unwrap_or_default());
        }
        write!(text, "\nWhat the measures mean (more in docs/phase.md#measures)\n\n{}", tables::explained())
            .ok();
        text
    }
}

/// Learned drift rates.
#[derive(Clone, Debug, Serialize)]
pub struct Drift {
    /// |omega_j| by layer.
    pub rates: Vec<Vec<f64>>,
    /// The rotary schedule they started from.
    pub initial: Vec<f64>,
}

impl Drift {
    /// Of a model.
    pub fn of<F: Real>(weights: &Weights<F, Kuramoto>) -> Drift
    where
        Kuramoto: Network<F>,
    {
        let network = weights.network();
        let mut start = vec![F::ZERO; network.layout().count()];
        // Rates start from a schedule, not from the seed.
        network.initialize(0, &mut start);
        let sizes = |arena: &[F], layer: usize| -> Vec<f64> {
            network.omega(arena, layer).iter().map(|x| x.to_f64().abs()).collect()
        };
        let layers = network.config().layers;
        Drift {
            rates: (0..layers).map(|layer| sizes(weights.parameters(), layer)).collect(),
            initial: sizes(&start, 0),
        }
    }

    /// Mean rate of every layer.
    pub fn means(&self) -> Vec<f64> {
        self.rates.iter().map(|rates| mean(rates)).collect()
    }

    /// How far each layer's rates moved: mean_j |log10(|omega_j| / its start)|, in decades.
    pub fn departures(&self) -> Vec<f64> {
        let moved = |rates: &Vec<f64>| {
            let decades: Vec<f64> = rates
                .iter()
                .zip(&self.initial)
                .map(|(x, start)| (x.max(1e-12) / start.max(1e-12)).log10().abs())
                .collect();
            mean(&decades)
        };
        self.rates.iter().map(moved).collect()
    }
}

/// Whether a model shows what the paper says of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// As stated.
    Yes,
    /// The trend, but not throughout.
    InPart,
    /// No.
    No,
}

impl Shown {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Shown::Yes => "shown",
            Shown::InPart => "shown in part",
            Shown::No => "not here",
        }
    }

    fn of(all: bool, part: bool) -> Shown {
        match (all, part) {
            (true, _) => Shown::Yes,
            (false, true) => Shown::InPart,
            (false, false) => Shown::No,
        }
    }
}

/// One of the paper's statements about its trained model.
#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    /// Where the paper makes it.
    pub place: &'static str,
    /// What it states.
    pub text: &'static str,
    /// Whether this model shows it.
    pub shown: Shown,
    /// The numbers.
    pub because: String,
}

/// What "near one" means here.
pub const NEAR_ONE: f64 = 0.9;
/// Decades by which rates must have moved on average to have departed from their start; a tenth is about a
/// quarter.
pub const DEPARTED: f64 = 0.1;

fn list(values: &[f64]) -> String {
    values.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ")
}

/// The four statements of the paper's Figures 1 and 2, for this model.
pub fn statements(survey: &Survey, drift: &Drift) -> Vec<Statement> {
    let layers = 0..survey.layers;
    let means =
        |name: &str| layers.clone().map(|layer| mean(survey.named(name, layer))).collect::<Vec<f64>>();
    let (local, global, alone) = (means("local-order"), means("global-order"), means("self-coupling"));
    let least = survey.local_by_position.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    // Per window, the least-squares slope of global order over layers.
    let windows = survey.named("global-order", 0).len();
    let depth: Vec<f64> = layers.clone().map(|layer| layer as f64).collect();
    let slope = |window: usize| {
        let values: Vec<f64> =
            layers.clone().map(|layer| survey.named("global-order", layer)[window]).collect();
        slope(&depth, &values)
    };
    let slopes: Vec<f64> = (0..windows).map(slope).collect();
    let (fall, interval) = (mean(&slopes), mean_interval(&slopes));
    let apart = local.iter().zip(&global).all(|(local, global)| local > global);
    let high = local.iter().all(|&order| order >= NEAR_ONE);
    let (rates, departures) = (drift.means(), drift.departures());
    let trend = kendall(&depth, &rates);
    vec![
        Statement {
            place: "Figure 1a",
            text: "local order stays near one at every layer and position",
            shown: Shown::of(least >= NEAR_ONE, high),
            because: format!(
                "by layer {}; least over layers and positions {least:.3} (near one: {NEAR_ONE}); share of a \
                 token's coupling with itself, which alone would give 1: {}",
                list(&local),
                list(&alone)
            ),
        },
        Statement {
            place: "Figure 1b",
            text: "global order falls with depth while local order stays high",
            shown: Shown::of(interval.high < 0.0 && apart && high, fall < 0.0 && apart),
            because: format!(
                "by layer {}, after the last {:.3}; slope {fall:+.4} a layer (95% interval {interval}); \
                 local order is {} it in every layer, and {} {NEAR_ONE} throughout",
                list(&global),
                mean(&survey.last_global_order),
                if apart { "above" } else { "not above" },
                if high { "at least" } else { "not" }
            ),
        },
        Statement {
            place: "Figure 2a",
            text: "the spectra of rates depart from their rotary initialization",
            shown: Shown::of(
                departures.iter().all(|&moved| moved > DEPARTED),
                departures.iter().any(|&moved| moved > DEPARTED),
            ),
            because: format!(
                "mean departure by layer, in decades: {} (departed: {DEPARTED})",
                list(&departures)
            ),
        },
        Statement {
            place: "Figure 2b",
            text: "the mean rate falls with depth",
            shown: Shown::of(trend == -1.0, rates.last() < rates.first()),
            because: format!("by layer {}", list(&rates)),
        },
    ]
}

fn slope(x: &[f64], y: &[f64]) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    let (above, below) =
        x.iter().zip(y).fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - mx) * (y - my), b + (x - mx) * (x - mx)));
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes() {
        assert!((slope(&[0.0, 1.0, 2.0], &[3.0, 1.0, -1.0]) + 2.0).abs() < 1e-12);
        assert_eq!(slope(&[0.0], &[3.0]), 0.0);
    }
}
