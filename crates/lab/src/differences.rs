//! What a plan does differently from the paper, key by key.
//!
//! Every run's whole configuration is compared with the one the paper would give that arm. `RULES` says of
//! every key whether the paper fixes it, leaves it open, or whether it only records how a run is kept.

use crate::arm::{Arm, PaperTable};
use crate::paper;
use crate::plan::{Plan, Planned, size};
use crate::request::papers_config;
use kuramoto_model::matching::match_width;
use kuramoto_report::table::thousands;
use kuramoto_train::Config;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the paper says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The paper fixes it: another value is another experiment.
    Fixed,
    /// The paper is silent, and we chose: docs/reconstruction.md says why.
    Open,
    /// It names or stores a run and changes no number of it, or follows from other keys.
    Record,
}

/// The rule of every key of a configuration; a key that ends with a dot stands for all that begin with it.
const RULES: &[(&str, Rule)] = &[
    ("corpus", Rule::Fixed),
    ("budget", Rule::Fixed),
    ("length", Rule::Fixed),
    ("data.bytes", Rule::Fixed),
    ("batch.sequences", Rule::Fixed),
    ("batch.context", Rule::Fixed),
    ("optimizer.learning-rate", Rule::Fixed),
    ("optimizer.multipliers.", Rule::Fixed),
    ("optimizer.weight-decay", Rule::Fixed),
    ("optimizer.clip", Rule::Fixed),
    ("validation.every", Rule::Fixed),
    ("validation.windows", Rule::Fixed),
    ("validation.patience", Rule::Fixed),
    ("model.kind", Rule::Fixed),
    ("model.width", Rule::Fixed),
    ("model.layers", Rule::Fixed),
    ("model.heads", Rule::Fixed),
    ("model.dropout", Rule::Fixed),
    ("model.metric", Rule::Fixed),
    ("model.gate-activation", Rule::Fixed),
    ("model.gate-normalization", Rule::Fixed),
    ("model.per-layer-gates", Rule::Fixed),
    ("model.per-layer-metric-gates", Rule::Fixed),
    ("model.value", Rule::Fixed),
    ("model.value-gate", Rule::Fixed),
    ("model.value-bound", Rule::Fixed),
    ("model.feed-forward", Rule::Fixed),
    ("model.shared-feed-forward", Rule::Fixed),
    ("model.readout", Rule::Fixed),
    ("model.drift", Rule::Fixed),
    ("model.drift-in-values", Rule::Fixed),
    ("init-from.", Rule::Fixed),
    ("optimizer.warmup", Rule::Open),
    ("optimizer.schedule", Rule::Open),
    ("optimizer.final-fraction", Rule::Open),
    ("optimizer.beta1", Rule::Open),
    ("optimizer.beta2", Rule::Open),
    ("optimizer.epsilon", Rule::Open),
    ("optimizer.decay", Rule::Open),
    ("bad-steps.policy", Rule::Open),
    ("bad-steps.spike", Rule::Open),
    ("model.wrapped-angles", Rule::Open),
    ("model.transport-rank", Rule::Open),
    ("model.rotary-base", Rule::Open),
    ("model.init.", Rule::Open),
    ("model.embedding-spread", Rule::Open),
    ("preset", Rule::Record),
    ("protocol", Rule::Record),
    ("seed", Rule::Record),
    ("data.", Rule::Record),
    ("batch.lanes", Rule::Record),
    ("validation.test", Rule::Record),
    ("checkpoints.", Rule::Record),
    ("model.vocab", Rule::Record),
];

/// The rule of a key; one without a rule counts as fixed, so that it is never passed over.
fn rule(key: &str) -> Rule {
    let applies = |pattern: &str| key == pattern || (pattern.ends_with('.') && key.starts_with(pattern));
    RULES.iter().find(|(pattern, _)| applies(pattern)).map_or(Rule::Fixed, |(_, rule)| *rule)
}

/// A key that has another value than in the paper, or than our usual choice where the paper is silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Of the configuration, or `corpus`, `budget`, `seeds`.
    pub key: String,
    /// Whether the paper fixes it.
    pub rule: Rule,
    /// The paper's value, or our usual one.
    pub paper: String,
    /// The plan's.
    pub here: String,
    /// Cells that have it, by arm, or by arm, corpus and size where an arm has several; none if all have.
    pub cells: Vec<String>,
}

/// Everything that a plan does otherwise: what the paper fixes first.
pub fn of(plan: &Plan) -> Vec<Difference> {
    let mut list: Vec<Difference> = Vec::new();
    // Runs of a cell differ in their seed alone.
    let cells: Vec<&Planned> = plan.cells().collect();
    let name = |run: &Planned| {
        let several = cells.iter().filter(|other| other.arm == run.arm).count() > 1;
        let place = || format!("{} ({}, {})", run.arm, run.corpus, size(run.budget));
        if several { place() } else { run.arm.to_string() }
    };
    for run in &cells {
        for (key, paper, here) in of_run(run).into_iter().chain(seeds(plan, run)) {
            let rule = if key == "seeds" { Rule::Fixed } else { rule(&key) };
            let same = |d: &&mut Difference| (&d.key, &d.paper, &d.here) == (&key, &paper, &here);
            match list.iter_mut().find(same) {
                Some(known) => known.cells.push(name(run)),
                None => list.push(Difference { key, rule, paper, here, cells: vec![name(run)] }),
            }
        }
    }
    list.retain(|difference| difference.rule != Rule::Record);
    list.sort_by_key(|difference| difference.rule != Rule::Fixed);
    for difference in &mut list {
        if difference.cells.len() == cells.len() {
            difference.cells.clear();
        }
    }
    list
}

/// True if a run is the paper's in all that the paper fixes, whatever its seed.
pub fn is_papers(run: &Planned) -> bool {
    run.arm.is_in_paper() && of_run(run).iter().all(|(key, ..)| rule(key) != Rule::Fixed)
}

/// Keys of a run that are otherwise: key, the paper's value, the run's.
fn of_run(run: &Planned) -> Vec<(String, String, String)> {
    let budget = paper::budget_for(run.arm.table(), run.budget);
    let expected = papers_config(run.arm, &run.corpus, budget, run.seed);
    let mut expected = flat(&expected);
    let mut found = flat(&run.config);
    // Vocabulary and width follow from corpus and budget; a width of the user's own does not.
    let mut model = run.config.model.clone();
    *model.width_mut() = 0;
    if let Ok(matched) = match_width(&model, run.budget) {
        expected.insert("model.width".into(), matched.width.to_string());
    }
    let corpora = paper::CORPORA.into_iter().filter(|corpus| paper::has_corpus(run.arm.table(), corpus));
    let corpora: Vec<&str> = corpora.collect();
    if !corpora.contains(&&*run.corpus) {
        expected.insert("corpus".into(), corpora.join(" or "));
        found.insert("corpus".into(), run.corpus.clone());
    }
    let budgets = match run.arm.table() {
        PaperTable::Compare => paper::BUDGETS.map(size).join(" or "),
        PaperTable::Ablations | PaperTable::Grid => size(budget),
    };
    expected.insert("budget".into(), if budget == run.budget { size(budget) } else { budgets });
    found.insert("budget".into(), size(run.budget));
    let keys: Vec<String> = expected.keys().chain(found.keys()).cloned().collect();
    let mut differences = BTreeMap::new();
    for key in keys {
        let value =
            |values: &BTreeMap<String, String>| values.get(&key).cloned().unwrap_or_else(|| "-".into());
        let (paper, here) = (value(&expected), value(&found));
        if paper != here {
            differences.insert(key, (paper, here));
        }
    }
    differences.into_iter().map(|(key, (paper, here))| (key, paper, here)).collect()
}

/// The number of seeds of a run's cell, where the paper has that cell with another.
fn seeds(plan: &Plan, run: &Planned) -> Option<(String, String, String)> {
    let budget = paper::budget_for(run.arm.table(), run.budget);
    let paper = paper::seeds(run.arm, &run.corpus, budget)?;
    let here = plan.runs.iter().filter(|other| other.cell() == run.cell()).count() as u64;
    (paper != here).then(|| ("seeds".into(), paper.to_string(), here.to_string()))
}

/// Every key of a configuration with its value as text.
fn flat(config: &Config) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    flatten("", &serde_json::to_value(config).expect("a configuration is plain data"), &mut keys);
    keys
}

fn flatten(prefix: &str, value: &Value, keys: &mut BTreeMap<String, String>) {
    match value {
        // Epochs, steps and bytes are three ways to say one thing.
        Value::Object(length) if prefix == "length" => {
            let text = length.iter().map(|(unit, amount)| {
                let amount = amount.as_u64().unwrap_or(0) as usize;
                let unit = if unit == "tokens" { "bytes" } else { unit };
                let unit = if amount == 1 { unit.trim_end_matches('s') } else { unit };
                format!("{} {unit}", thousands(amount))
            });
            keys.insert(prefix.into(), text.collect::<Vec<_>>().join(", "));
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&key, value, keys);
            }
        }
        Value::String(text) => {
            keys.insert(prefix.into(), text.clone());
        }
        other => {
            let zero = other.as_u64() == Some(0);
            let text = match prefix {
                "validation.every" if zero => "every epoch".into(),
                "validation.every" => format!("every {other} steps"),
                "validation.windows" if zero => "the whole split".into(),
                "validation.windows" => format!("{other} windows"),
                _ => other.to_string(),
            };
            keys.insert(prefix.into(), text);
        }
    }
}

/// How much of a table a plan holds: its cells that the paper has, and all that the paper has.
pub fn coverage(plan: &Plan, table: PaperTable) -> (usize, usize) {
    let cells = papers_cells().into_iter().filter(|(arm, ..)| arm.table() == table);
    let all: Vec<(Arm, &str, usize)> = cells.collect();
    let is_held = |run: &&Planned| all.contains(&run.cell()) && is_papers(run) && seeds(plan, run).is_none();
    let held = plan.cells().filter(is_held).count();
    (held, all.len())
}

/// Every cell of the paper's tables: arm, corpus and budget.
fn papers_cells() -> Vec<(Arm, &'static str, usize)> {
    let arms = Arm::all().filter(|arm| arm.is_in_paper());
    let places = |arm: Arm| {
        let of = move |corpus: &'static str| paper::BUDGETS.map(|budget| (arm, corpus, budget));
        let has =
            move |(arm, corpus, budget): &(Arm, &str, usize)| paper::seeds(*arm, corpus, *budget).is_some();
        paper::CORPORA.into_iter().flat_map(of).filter(has)
    };
    arms.flat_map(places).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Experiment, Request};
    use crate::scale::Scale;
    use kuramoto_train::Overlay;
    use std::path::Path;

    fn draft(experiment: Experiment, seeds: Option<u64>, sets: &[&str]) -> Plan {
        let overlays = sets.iter().map(|pair| Overlay::pair("--set", pair).unwrap()).collect();
        let request = Request { seeds, overlays, ..Request::new(experiment, Scale::Paper) };
        Plan::draft(&request, Path::new("unused"), Path::new("no cache")).unwrap()
    }

    fn keys(plan: &Plan, rule: Rule) -> Vec<String> {
        of(plan).into_iter().filter(|difference| difference.rule == rule).map(|d| d.key).collect()
    }

    #[test]
    fn the_papers_plan_differs_in_nothing() {
        for experiment in [Experiment::Paper, Experiment::Compare, Experiment::Ablations] {
            let plan = draft(experiment, None, &[]);
            assert_eq!(of(&plan), [], "{experiment}");
            assert!(plan.runs.iter().all(is_papers));
        }
        let grid = draft(Experiment::Grid, None, &[]);
        assert_eq!(of(&grid), [], "the base is Table 1's");
        for table in PaperTable::all() {
            let plan = draft(Experiment::Paper, None, &[]);
            let (held, all) = coverage(&plan, table);
            assert_eq!(held, all, "{table}");
        }
        assert_eq!(papers_cells().len(), 8 + 14 + 50);
    }

    #[test]
    fn every_change_is_found() {
        let sets = [
            "optimizer.learning-rate=0.5",
            "model.dropout=0",
            "model.layers=2",
            "optimizer.clip=0",
            "optimizer.schedule=cosine",
            "checkpoints.keep=9",
        ];
        let plan = draft(Experiment::Compare, Some(1), &sets);
        let expected =
            ["model.dropout", "model.layers", "optimizer.clip", "optimizer.learning-rate", "seeds"];
        let mut found = keys(&plan, Rule::Fixed);
        found.sort();
        found.dedup();
        assert_eq!(found, expected);
        assert_eq!(keys(&plan, Rule::Open), ["optimizer.schedule"]);
        let rate = of(&plan).into_iter().find(|d| d.key == "optimizer.learning-rate").unwrap();
        assert_eq!((&*rate.paper, &*rate.here, rate.cells.len()), ("0.001", "0.5", 0), "all cells have it");
        assert!(!plan.runs.iter().any(is_papers));
        let one = |set: &str| {
            let mut keys = keys(&draft(Experiment::Compare, None, &[set]), Rule::Fixed);
            keys.dedup();
            keys
        };
        for (set, key) in [
            ("length.epochs=1", "length"),
            ("length.tokens=4500000000", "length"),
            ("batch.sequences=16", "batch.sequences"),
            ("batch.context=128", "batch.context"),
            ("validation.windows=100", "validation.windows"),
            ("validation.patience=3", "validation.patience"),
            ("optimizer.weight-decay=0.1", "optimizer.weight-decay"),
            ("data.bytes=1000000", "data.bytes"),
            ("model.width=64", "model.width"),
        ] {
            assert_eq!(one(set), [key], "{set}");
        }
    }

    #[test]
    fn seeds_corpora_and_sizes_count() {
        let of_request = |corpora: Vec<String>, budgets: Vec<usize>| {
            let request = Request { corpora, budgets, ..Request::new(Experiment::Ablations, Scale::Paper) };
            Plan::draft(&request, Path::new("unused"), Path::new("no cache")).unwrap()
        };
        let code = of_request(vec!["codeparrot".into()], vec![]);
        assert_eq!(keys(&code, Rule::Fixed), ["corpus"], "the paper ablates on enwik8");
        let small = of_request(vec![], vec![120_000]);
        assert_eq!(keys(&small, Rule::Fixed), ["budget"]);
        assert_eq!(of(&small)[0].here, "120k");
        let five = of_request(vec![], vec![5_000_000]);
        assert_eq!(keys(&five, Rule::Fixed), ["budget"], "the paper ablates at 1M alone");
    }

    /// A key that is added to the configuration must be given a rule, not fall under the one for the unknown.
    #[test]
    fn every_key_has_a_rule() {
        let named = |key: &str| {
            RULES.iter().any(|(name, _)| *name == key || (name.ends_with('.') && key.starts_with(name)))
        };
        let mut seen = std::collections::BTreeSet::new();
        for arm in Arm::all().filter(|arm| arm.is_in_paper()) {
            seen.extend(flat(&papers_config(arm, "enwik8", 1_000_000, 0)).into_keys());
        }
        for key in &seen {
            assert!(named(key), "{key}");
        }
        let written = |name: &str| {
            name == "corpus"
                || seen.iter().any(|key| key == name || (name.ends_with('.') && key.starts_with(name)))
        };
        // Keys that are only written where they are not the usual.
        let rare = [
            "init-from.",
            "optimizer.multipliers.",
            "model.per-layer-metric-gates",
            "model.drift",
            "model.drift-in-values",
            "model.wrapped-angles",
        ];
        for (name, _) in RULES {
            assert!(written(name) || rare.contains(name), "{name} is a rule for nothing");
        }
    }
}
