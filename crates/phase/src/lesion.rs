//! Dose and response: how bits per byte change as part of a model is taken away.

use crate::KuramotoWeights;
use crate::circular::Resultant;
use crate::error::{Error, Result};
use crate::intervention::{Action, Change, Intervening, Intervention, Point, choose};
use crate::survey::oscillators;
use crate::windows::{Text, Workers, over_windows};
use kuramoto_model::{KuramotoConfig, NoHooks};
use kuramoto_report::csv::number;
use kuramoto_report::figure::{Corner, Figure, Line, Panel, Points, colour};
use kuramoto_report::statistics::{Interval, bootstrap};
use kuramoto_report::{Csv, TextTable};
use serde::Serialize;
use std::f64::consts::LN_2;

/// What is taken away.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Lesion {
    /// A share of the oscillators entering a layer, drawn at random, is held at its mean phase.
    Oscillators,
    /// A share of a layer's synchronization step is taken back.
    Synchronization,
    /// A share of a layer's feed-forward step is taken back.
    FeedForward,
    /// A share of both steps of a layer is taken back.
    Layer,
    /// A share of a layer's coupling is replaced by uniform coupling.
    Coupling,
    /// A layer's rates go a share of the way back to the schedule they started from.
    FreezeOmega,
    /// A share of a layer's rates, drawn at random, is permuted among its oscillators.
    PermuteOmega,
    /// tau of all layers is multiplied by the dose: 1 is the intact model.
    Tau,
}

impl Lesion {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Doses that show its course.
    pub fn doses(self) -> &'static [f64] {
        match self {
            Lesion::Tau => &[0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0],
            _ => &[0.0, 0.125, 0.25, 0.5, 0.75, 1.0],
        }
    }

    /// True if it acts on one layer at a time.
    pub fn is_of_a_layer(self) -> bool {
        self != Lesion::Tau
    }

    /// True if it can be confined to some oscillators.
    pub fn is_of_oscillators(self) -> bool {
        !matches!(self, Lesion::FreezeOmega | Lesion::PermuteOmega | Lesion::Tau)
    }

    /// Says so if a dose means nothing.
    pub fn check_doses(self, doses: &[f64]) -> Result<()> {
        let (top, allowed) = match self {
            Lesion::Tau => (f64::MAX, "a dose is at least 0"),
            _ => (1.0, "a dose is from 0 to 1"),
        };
        match doses.iter().find(|dose| !(0.0..=top).contains(*dose)) {
            Some(dose) => Err(refused("doses", dose, allowed)),
            None => Ok(()),
        }
    }

    /// Where it acts: in some layers of a model, none named for each in turn, and in one head if one is named.
    pub fn sites(self, config: &KuramotoConfig, layers: &[usize], head: Option<usize>) -> Result<Vec<Site>> {
        let (all, heads, k) = (config.layers, config.heads, config.width);
        if let Some(head) = head.filter(|_| !self.is_of_oscillators()) {
            return Err(refused("head", head, format!("{} acts on all heads: leave it out", self.name())));
        }
        if let Some(head) = head.filter(|&head| head >= heads) {
            return Err(refused("head", head, format!("the model has heads 0 to {}", heads - 1)));
        }
        if let Some(layer) = layers.iter().find(|&&layer| layer >= all) {
            return Err(refused("layers", layer, format!("the model has layers 0 to {}", all - 1)));
        }
        let oscillators = head.map(|head| (head * k / heads..(head + 1) * k / heads).collect());
        let chosen = match (layers, self.is_of_a_layer()) {
            (_, false) => vec![0],
            ([], true) => (0..all).collect(),
            (some, true) => some.to_vec(),
        };
        Ok(chosen.into_iter().map(|layer| Site { layer, oscillators: oscillators.clone() }).collect())
    }

    /// True if which part is taken depends on a draw.
    pub fn is_drawn(self) -> bool {
        matches!(self, Lesion::Oscillators | Lesion::PermuteOmega)
    }
}

fn refused(field: &'static str, value: impl ToString, allowed: impl Into<String>) -> Error {
    kuramoto_model::Error::Field { field, value: value.to_string(), allowed: allowed.into() }.into()
}

/// What part of the model a lesion is for.
#[derive(Clone, Debug)]
pub struct Site {
    /// Which layer, for lesions of a layer.
    pub layer: usize,
    /// Only these oscillators, such as those of a head.
    pub oscillators: Option<Vec<usize>>,
}

/// The response to one dose.
#[derive(Clone, Debug, Serialize)]
pub struct Response {
    /// Which layer, for lesions of a layer.
    pub layer: Option<usize>,
    /// How much.
    pub dose: f64,
    /// Bits per byte.
    pub bits_per_byte: f64,
    /// How much that is above the intact model.
    pub rise: f64,
    /// 95% bootstrap interval of the rise over windows.
    pub interval: Interval,
}

/// A model and a text to try lesions on.
pub struct Trial<'a> {
    /// The model.
    pub weights: &'a KuramotoWeights,
    /// The text.
    pub windows: &'a [Text<'a>],
    /// Draws of lesions that are drawn.
    pub repeats: u64,
    /// Seed of the draws.
    pub seed: u64,
    /// Who reads the windows.
    pub workers: Workers<'a>,
}

impl Trial<'_> {
    /// Bits of every window under interventions and changes.
    fn bits(&self, interventions: &[Intervention], changes: &[Change]) -> Result<Vec<f64>> {
        let mut changed = None;
        for change in changes {
            let weights = changed.get_or_insert_with(|| self.weights.clone());
            change.apply(weights);
        }
        let (weights, network) = (changed.as_ref().unwrap_or(self.weights), self.weights.network());
        over_windows(
            self.windows,
            self.workers,
            || weights.workspace(),
            |work, _, (tokens, targets)| {
                match interventions {
                    [] => weights.forward(tokens, work, &mut NoHooks)?,
                    _ => weights.forward(
                        tokens,
                        work,
                        &mut Intervening::new(network, interventions, NoHooks),
                    )?,
                }
                Ok(weights.losses(targets, work)?.iter().sum::<f64>() / LN_2)
            },
        )
    }

    /// What bits of windows come to beside those of the intact model.
    fn response(&self, layer: Option<usize>, dose: f64, bits: &[f64], intact: &[f64]) -> Response {
        let all: Vec<usize> = (0..bits.len()).collect();
        // The last window of a text may be short: windows count by their bytes.
        let bytes = |chosen: &[usize]| chosen.iter().map(|&i| self.windows[i].1.len()).sum::<usize>() as f64;
        let rise =
            |chosen: &[usize]| chosen.iter().map(|&i| bits[i] - intact[i]).sum::<f64>() / bytes(chosen);
        Response {
            layer,
            dose,
            bits_per_byte: bits.iter().sum::<f64>() / bytes(&all),
            rise: rise(&all),
            interval: bootstrap(bits.len(), rise),
        }
    }

    /// The intact model, and the same under interventions and changes of one's own.
    pub fn compare(&self, interventions: &[Intervention], changes: &[Change]) -> Result<[Response; 2]> {
        let (intact, bits) = (self.bits(&[], &[])?, self.bits(interventions, changes)?);
        Ok([self.response(None, 0.0, &intact, &intact), self.response(None, 1.0, &bits, &intact)])
    }

    /// The response to each dose of a lesion at each site.
    pub fn respond(&self, lesion: Lesion, sites: &[Site], doses: &[f64]) -> Result<Vec<Response>> {
        let intact = self.bits(&[], &[])?;
        let means: Vec<Vec<f64>> = match lesion {
            Lesion::Oscillators => oscillators(self.weights, self.windows, self.workers)?
                .iter()
                .map(|layer| layer.iter().map(Resultant::mean).collect())
                .collect(),
            _ => Vec::new(),
        };
        let mut responses = Vec::new();
        for site in sites {
            for &dose in doses {
                // Where all oscillators are taken there is nothing to draw; rates can be dealt in many ways.
                let drawn = lesion.is_drawn() && dose > 0.0 && (dose < 1.0 || lesion == Lesion::PermuteOmega);
                let repeats = if drawn { self.repeats.max(1) } else { 1 };
                let mut sums = vec![0.0; intact.len()];
                for repeat in 0..repeats {
                    let (interventions, changes) = self.plan(lesion, site, dose, self.seed + repeat, &means);
                    let bits = self.bits(&interventions, &changes)?;
                    sums.iter_mut().zip(bits).for_each(|(sum, x)| *sum += x / repeats as f64);
                }
                let layer = lesion.is_of_a_layer().then_some(site.layer);
                responses.push(self.response(layer, dose, &sums, &intact));
            }
        }
        Ok(responses)
    }

    fn plan(
        &self,
        lesion: Lesion,
        site: &Site,
        dose: f64,
        seed: u64,
        means: &[Vec<f64>],
    ) -> (Vec<Intervention>, Vec<Change>) {
        let layer = site.layer;
        let at = |point: Point, action: Action| Intervention {
            at: point,
            action,
            oscillators: site.oscillators.clone(),
            tokens: None,
        };
        let fade = |point| at(point, Action::Fade(dose));
        match lesion {
            Lesion::Oscillators => {
                let all: Vec<usize> = site
                    .oscillators
                    .clone()
                    .unwrap_or_else(|| (0..self.weights.network().config().width).collect());
                let chosen: Vec<usize> =
                    choose(all.len(), dose, seed).into_iter().map(|place| all[place]).collect();
                let phases: Vec<f64> = chosen.iter().map(|&j| means[layer][j]).collect();
                let clamp = at(Point::Phase(layer), Action::Clamp(phases));
                // None chosen would mean all.
                let clamp =
                    (!chosen.is_empty()).then_some(Intervention { oscillators: Some(chosen), ..clamp });
                (clamp.into_iter().collect(), vec![])
            }
            Lesion::Synchronization => (vec![fade(Point::Middle(layer))], vec![]),
            Lesion::FeedForward => (vec![fade(Point::Phase(layer + 1))], vec![]),
            Lesion::Layer => (vec![fade(Point::Middle(layer)), fade(Point::Phase(layer + 1))], vec![]),
            Lesion::Coupling => (vec![at(Point::Attention(layer), Action::Flatten(dose))], vec![]),
            Lesion::FreezeOmega => (vec![], vec![Change::FreezeOmega { layer, share: dose }]),
            Lesion::PermuteOmega => (vec![], vec![Change::PermuteOmega { layer, share: dose, seed }]),
            Lesion::Tau => (vec![], vec![Change::ScaleTau(dose)]),
        }
    }
}

impl Response {
    /// The layer as tables name it.
    pub fn layer_name(&self) -> String {
        self.layer.map_or_else(|| "all".to_string(), |layer| layer.to_string())
    }
}

/// A row for each layer and dose.
pub fn csv(lesion: Lesion, responses: &[Response]) -> String {
    let mut table = Csv::new(["lesion", "layer", "dose", "bits_per_byte", "rise", "low", "high"]);
    for response in responses {
        let Response { dose, bits_per_byte, rise, interval, .. } = response;
        let numbers = [*dose, *bits_per_byte, *rise, interval.low, interval.high].map(number);
        table.row([lesion.name().to_string(), response.layer_name()].into_iter().chain(numbers));
    }
    table.finish()
}

/// The same for a terminal.
pub fn table(responses: &[Response]) -> TextTable {
    let mut table = TextTable::new(&["layer", "dose", "bits per byte", "rise", "95% interval"]);
    for response in responses {
        table.row([
            response.layer_name(),
            response.dose.to_string(),
            format!("{:.4}", response.bits_per_byte),
            format!("{:+.4}", response.rise),
            response.interval.to_string(),
        ]);
    }
    table
}

/// Dose-response curves, a line a layer.
pub fn figure(name: &str, lesion: Lesion, responses: &[Response]) -> Figure {
    let mut layers: Vec<Option<usize>> = responses.iter().map(|response| response.layer).collect();
    layers.dedup();
    let dose =
        if lesion == Lesion::Tau { "τ, as a multiple of what was learned" } else { "share taken away" };
    let mut panel = Panel::new(format!("Lesion: {}", lesion.name()))
        .labels(dose, "rise (bits per byte)")
        .legend(if layers.len() > 4 { Corner::Outside } else { Corner::TopLeft });
    for (place, layer) in layers.iter().enumerate() {
        let own: Vec<&Response> = responses.iter().filter(|response| response.layer == *layer).collect();
        let colour = &colour::of(place, layers.len());
        // One window has no interval.
        if own.iter().all(|response| response.interval.low.is_finite()) {
            panel = panel.band(own.iter().map(|r| (r.dose, r.interval.low, r.interval.high)), colour);
        }
        let points = || own.iter().map(|response| (response.dose, response.rise));
        let label = layer.map_or_else(|| "all layers".into(), |layer| format!("layer {layer}"));
        let line = Line::new(points(), colour).legend(label);
        panel = panel.points(Points::new(points(), colour).size(3.0)).line(line);
    }
    let caption =
        "Rise of bits per byte above the intact model, and its 95% bootstrap interval over windows.";
    Figure::single(name, caption, panel, (620.0, 420.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray;

    #[test]
    fn names_are_read_as_they_are_written() {
        for lesion in Lesion::VARIANTS {
            assert_eq!(lesion.name().parse(), Ok(*lesion));
        }
        assert_eq!(Lesion::FeedForward.name(), "feed-forward");
    }

    #[test]
    fn one_window_has_no_interval() {
        let interval = Interval { low: f64::NAN, high: f64::NAN };
        let response = Response { layer: None, dose: 0.5, bits_per_byte: 2.25, rise: 0.25, interval };
        let text = csv(Lesion::Tau, std::slice::from_ref(&response));
        assert_eq!(text, "lesion,layer,dose,bits_per_byte,rise,low,high\ntau,all,0.5,2.25,0.25,,\n");
        assert!(
            table(&[response]).to_string().ends_with("all     0.5         2.2500  +0.2500             -\n")
        );
    }
}
