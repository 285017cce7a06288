//! What a plan is asked for: an experiment, a scale, and what differs from the scale's defaults.

use crate::arm::{Arm, PaperTable};
use crate::error::{Error, Result};
use crate::paper;
use crate::scale::Scale;
use kuramoto_train::data::Source;
use kuramoto_train::presets::{self, Preset, Protocol};
use kuramoto_train::{Config, Overlay};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What is compared.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Experiment {
    /// Both models at equal parameters, under the paper's recipe and under each model's own: Tables 1 and 2.
    Compare,
    /// The reference and its thirteen ablations: Table 3.
    Ablations,
    /// Heads by layers, both models: Table 4.
    Grid,
    /// All of them.
    Paper,
}

impl Experiment {
    /// True if its plans have runs of this table.
    fn holds(self, table: PaperTable) -> bool {
        match self {
            Experiment::Compare => table == PaperTable::Compare,
            Experiment::Ablations => table == PaperTable::Ablations,
            Experiment::Grid => table == PaperTable::Grid,
            Experiment::Paper => true,
        }
    }
}

/// What a plan is made from.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is compared.
    pub experiment: Experiment,
    /// How large.
    pub scale: Scale,
    /// Corpora (a name, NAME=PATH, a file or a folder); the scale's if empty.
    pub corpora: Vec<String>,
    /// Arms of the experiment; all of them if empty.
    pub arms: Vec<Arm>,
    /// Path of a named corpus that is given without one.
    pub data_path: String,
    /// Seeds of every arm; the scale's if None.
    pub seeds: Option<u64>,
    /// Parameter budgets; the scale's if empty.
    pub budgets: Vec<usize>,
    /// Recipe of ablations and grid; the paper's at its own scale, else the tuned one, if None.
    pub protocol: Option<Protocol>,
    /// Keys laid over every run.
    pub overlays: Vec<Overlay>,
}

impl Request {
    /// An experiment at a scale, with the defaults of both.
    pub fn new(experiment: Experiment, scale: Scale) -> Request {
        Request {
            experiment,
            scale,
            corpora: Vec::new(),
            arms: Vec::new(),
            data_path: String::new(),
            seeds: None,
            budgets: Vec::new(),
            protocol: None,
            overlays: Vec::new(),
        }
    }

    /// The arms that were asked for, in the order of the paper's tables; ablations come with their reference.
    pub(crate) fn chosen_arms(&self) -> Result<Vec<Arm>> {
        let offered: Vec<Arm> = Arm::all().filter(|&arm| self.offers(arm)).collect();
        if let Some(unknown) = self.arms.iter().find(|arm| !offered.contains(arm)) {
            let names: Vec<String> = offered.iter().map(Arm::to_string).collect();
            return Err(Error::Choice {
                what: "arms",
                value: format!("{:?}", unknown.to_string()),
                allowed: format!("choose from {}", names.join(", ")),
            });
        }
        if self.arms.is_empty() {
            return Ok(offered);
        }
        let ablated = self.arms.iter().any(|arm| matches!(arm, Arm::Ablation(_)));
        let chosen = |arm: &Arm| self.arms.contains(arm) || ablated && *arm == Arm::Reference;
        Ok(offered.into_iter().filter(chosen).collect())
    }

    /// True if the experiment has this arm. Both recipes are compared unless the scale or the user names one.
    /// Variants that the paper has no row for are there for those who name them. The paper's own plan has the
    /// grid's base in Table 1; elsewhere that has other recipes or heads.
    fn offers(&self, arm: Arm) -> bool {
        let only = self.protocol.or((self.scale == Scale::Paper).then_some(Protocol::Paper));
        let wanted = match arm {
            Arm::Compare { protocol, .. } => only.is_none_or(|only| only == protocol),
            Arm::Ablation(_) => arm.is_in_paper() || self.arms.contains(&arm),
            Arm::Grid { model, .. } => {
                let in_table_1 = self.experiment == Experiment::Paper && self.scale == Scale::Paper;
                arm != Arm::base(model) || !in_table_1
            }
            Arm::Reference => true,
        };
        self.experiment.holds(arm.table()) && wanted
    }

    /// Corpora, as they were asked for or as the scale has them; at the paper's, for every table its own.
    pub(crate) fn corpora_of(&self, arm: Arm) -> Vec<&str> {
        match (&self.corpora[..], self.scale) {
            ([], Scale::Paper) => {
                paper::CORPORA.into_iter().filter(|corpus| paper::has_corpus(arm.table(), corpus)).collect()
            }
            ([], _) => vec![self.scale.corpus()],
            (named, _) => {
                let name = |corpus: &str| located(corpus).map_or(corpus.to_string(), |(name, _)| name.into());
                // Who says where the paper's corpora are does not ask for other tables on them.
                let papers = self.experiment == Experiment::Paper && self.scale == Scale::Paper;
                let other = |corpus: &&String| {
                    let name = name(corpus);
                    papers && paper::CORPORA.contains(&&*name) && !paper::has_corpus(arm.table(), &name)
                };
                named.iter().filter(|corpus| !other(corpus)).map(String::as_str).collect()
            }
        }
    }

    /// How many seeds an arm has: as asked for, at the paper's scale as the paper has, else the scale's.
    pub(crate) fn seeds_of(&self, arm: Arm, corpus: &str, budget: usize) -> u64 {
        let papers = (self.scale == Scale::Paper).then(|| paper::seeds(arm, corpus, budget)).flatten();
        self.seeds.or(papers).unwrap_or(self.scale.seeds())
    }

    /// The recipe of an arm.
    fn protocol_of(&self, arm: Arm) -> Protocol {
        match (arm, self.scale) {
            (Arm::Compare { protocol, .. }, _) => protocol,
            (_, Scale::Paper) => self.protocol.unwrap_or(Protocol::Paper),
            (_, Scale::Smoke | Scale::Study) => self.protocol.unwrap_or(Protocol::Tuned),
        }
    }

    /// Ablations and the grid are of one size, the smallest.
    pub(crate) fn budgets_of(&self, arm: Arm) -> Vec<usize> {
        let budgets = if self.budgets.is_empty() { self.scale.budgets() } else { &self.budgets };
        match arm.table() {
            PaperTable::Compare => budgets.to_vec(),
            PaperTable::Ablations | PaperTable::Grid => budgets.iter().copied().min().into_iter().collect(),
        }
    }

    /// The configuration of an arm on a corpus, before the corpus decides vocabulary and width.
    pub(crate) fn config(&self, arm: Arm, corpus: &str, budget: usize, seed: u64) -> Result<Config> {
        // The preset whose recipe was tuned nearest to that size.
        let preset = if budget < 5_000_000 { Preset::OneMillion } else { Preset::FiveMillion };
        let preset = self.overlaid_choice("preset").unwrap_or(preset);
        let protocol = self.overlaid_choice("protocol").unwrap_or(self.protocol_of(arm));
        let (corpus, path) = located(corpus).unwrap_or((corpus, &self.data_path));
        let mut config = presets::config(preset, protocol, arm.model());
        config.seed = seed;
        config.budget = budget;
        config.data.corpus = corpus.into();
        config.data.path = path.into();
        self.scale.apply(&mut config);
        if let Arm::Grid { heads, layers, .. } = arm {
            *config.model.heads_mut() = heads;
            *config.model.layers_mut() = layers;
        }
        // The paper reads the test split where it compares the models, and nowhere else.
        config.validation.test = arm.table() == PaperTable::Compare;
        let mut config = config.overlaid(&self.overlays)?;
        if let Arm::Ablation(row) = arm {
            config.model.ablate(&[row.name])?;
        }
        Ok(config)
    }

    /// What the overlays say of a key that decides where a configuration starts; what is no choice is refused
    /// when the overlay is applied.
    fn overlaid_choice<T: FromStr>(&self, key: &str) -> Option<T> {
        self.overlays.iter().rev().find_map(|overlay| overlay.table.get(key)?.as_str()?.parse().ok())
    }
}

/// A corpus that is given as NAME=PATH.
pub(crate) fn located(corpus: &str) -> Option<(&str, &str)> {
    corpus.split_once('=').filter(|(name, _)| Source::is_name(name))
}

/// The configuration that the paper gives an arm at a size, before the corpus decides vocabulary and width.
pub(crate) fn papers_config(arm: Arm, corpus: &str, budget: usize, seed: u64) -> Config {
    let request = Request::new(Experiment::Paper, Scale::Paper);
    let arm = match arm {
        Arm::Compare { model, .. } => Arm::Compare { model, protocol: Protocol::Paper },
        // A variant that the paper does not have differs from its reference.
        arm if !arm.is_in_paper() && matches!(arm, Arm::Ablation(_)) => Arm::Reference,
        arm => arm,
    };
    request.config(arm, corpus, budget, seed).expect("the paper's own configuration is well formed")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Saying where the paper's corpora are changes nothing about which tables are on them.
    #[test]
    fn corpora_that_are_located_keep_their_tables() {
        let corpora = vec!["enwik8=here".to_string(), "codeparrot=there".to_string()];
        let request = Request { corpora, ..Request::new(Experiment::Paper, Scale::Paper) };
        assert_eq!(request.corpora_of(Arm::Reference), ["enwik8=here"]);
        let compared = Arm::all().next().unwrap();
        assert_eq!(request.corpora_of(compared), ["enwik8=here", "codeparrot=there"]);
        let ablations = Request { experiment: Experiment::Ablations, ..request };
        assert_eq!(ablations.corpora_of(Arm::Reference).len(), 2, "who asks for that table gets it");
    }
}
