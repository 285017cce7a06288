//! Arms: what is compared, before it has a corpus, a size and a seed.

use crate::error::{Error, Result};
use crate::plan::{Experiment, Request};
use crate::scale::Scale;
use kuramoto_model::ablation::ABLATIONS;
use kuramoto_train::data::Source;
use kuramoto_train::presets::Protocol;
use kuramoto_train::{Config, Overlay};

/// An arm before it has a corpus, a budget and a seed.
pub(crate) struct Arm {
    pub table: &'static str,
    pub name: String,
    kind: &'static str,
    protocol: Protocol,
    ablation: Option<&'static str>,
    heads: Option<usize>,
    layers: Option<usize>,
}

impl Arm {
    fn new(table: &'static str, name: impl Into<String>, kind: &'static str, protocol: Protocol) -> Arm {
        Arm { table, name: name.into(), kind, protocol, ablation: None, heads: None, layers: None }
    }

    /// Its configuration on a corpus.
    pub fn config(&self, request: &Request, corpus: &str, budget: usize, seed: u64) -> Result<Config> {
        let text = |key: &str, value: &str| Overlay::text("the plan", key, value);
        let set = |key: &str, value: String| Overlay::set("the plan", key, &value);
        // The preset whose recipe was tuned nearest to that size.
        let preset = if budget < 5_000_000 { "1m" } else { "5m" };
        let (corpus, path) = match corpus.split_once('=') {
            Some((name, path)) if Source::is_name(name) => (name, path),
            _ => (corpus, &*request.data_path),
        };
        let mut layers = vec![
            text("preset", preset),
            text("protocol", self.protocol.name()),
            text("model.kind", self.kind),
            text("data.corpus", corpus),
            text("data.path", path),
            set("budget", budget.to_string()),
            set("seed", seed.to_string()),
            request.scale.layer(),
        ];
        layers.extend(self.heads.map(|heads| set("model.heads", heads.to_string())));
        layers.extend(self.layers.map(|layers| set("model.layers", layers.to_string())));
        // The paper reads the test split where it compares the models, and nowhere else.
        layers.extend((self.table == "compare").then(|| set("validation.test", "true".into())));
        layers.extend(request.layers.iter().cloned());
        let mut config = Config::from_overlays(&layers)?;
        config.model.ablate(&self.ablation.map(String::from).into_iter().collect::<Vec<_>>())?;
        Ok(config)
    }

    /// Ablations and the grid are of one size, the smallest.
    pub fn budgets(&self, budgets: &[usize]) -> Vec<usize> {
        if self.table == "compare" { budgets.to_vec() } else { budgets.iter().copied().min().into_iter().collect() }
    }
}

/// The arms that were asked for, in the order of the paper's tables; ablations always with their reference.
pub(crate) fn arms(request: &Request) -> Result<Vec<Arm>> {
    let mut arms = all(request);
    if let Some(unknown) = request.arms.iter().find(|name| arms.iter().all(|arm| arm.name != **name)) {
        let names: Vec<&str> = arms.iter().map(|arm| &*arm.name).collect();
        return Err(Error::Choice {
            what: "arms",
            value: format!("{unknown:?}"),
            allowed: format!("choose from {}", names.join(", ")),
        });
    }
    if !request.arms.is_empty() {
        let asked = |arm: &Arm| request.arms.contains(&arm.name);
        let ablated = arms.iter().any(|arm| arm.ablation.is_some() && asked(arm));
        arms.retain(|arm| asked(arm) || ablated && arm.name == "reference");
    }
    Ok(arms)
}

fn all(request: &Request) -> Vec<Arm> {
    let own = request.protocol.unwrap_or(match request.scale {
        Scale::Paper => Protocol::Paper,
        Scale::Smoke | Scale::Study => Protocol::Tuned,
    });
    let compare = || {
        let protocols = match (request.protocol, request.scale) {
            (Some(protocol), _) => vec![protocol],
            (None, Scale::Paper) => vec![Protocol::Paper],
            (None, _) => vec![Protocol::Tuned, Protocol::Paper],
        };
        let models = ["kuramoto", "transformer"];
        let arm = move |protocol: Protocol, kind: &'static str| {
            Arm::new("compare", format!("{kind}-{}", protocol.name()), kind, protocol)
        };
        protocols.into_iter().flat_map(move |protocol| models.map(|kind| arm(protocol, kind))).collect::<Vec<_>>()
    };
    let ablations = || {
        let reference = Arm::new("ablations", "reference", "kuramoto", own);
        let rows = ABLATIONS
            .iter()
            .map(|row| Arm { ablation: Some(row.name), ..Arm::new("ablations", row.name, "kuramoto", own) });
        [reference].into_iter().chain(rows).collect::<Vec<_>>()
    };
    let grid = || {
        let cells = ["kuramoto", "transformer"]
            .into_iter()
            .flat_map(|kind| (2..=6).flat_map(move |heads| (2..=6).map(move |layers| (kind, heads, layers))));
        let arm = |(kind, heads, layers): (&'static str, usize, usize)| Arm {
            heads: Some(heads),
            layers: Some(layers),
            ..Arm::new("grid", format!("{kind}-h{heads}-l{layers}"), kind, own)
        };
        cells.map(arm).collect::<Vec<_>>()
    };
    match request.experiment {
        Experiment::Compare => compare(),
        Experiment::Ablations => ablations(),
        Experiment::Grid => grid(),
        Experiment::Paper => [compare(), ablations(), grid()].into_iter().flatten().collect(),
    }
}
