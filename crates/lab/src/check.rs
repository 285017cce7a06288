//! Whether the runs of a new plan are what their arms are named after, so that a difference between two arms
//! is of that and of nothing else. The user's overlays may have changed any key of any run.

use crate::arm::Arm;
use crate::plan::Planned;
use kuramoto_train::Config;
use kuramoto_train::data::Source;
use kuramoto_train::data::naming::{CODEPARROT, CODEPARROT_DISTINCT};
use kuramoto_train::data::source::ENWIK8_SHA256;
use std::collections::BTreeSet;
use std::path::{Component, Path};

/// Says what is wrong with the runs of a plan, if anything.
pub(crate) fn check(runs: &[Planned]) -> Result<(), String> {
    let mut folders = BTreeSet::new();
    for run in runs {
        let wrong = |why: String| Err(format!("run {} ({}, seed {}): {why}", run.index, run.arm, run.seed));
        if !folders.insert(&run.folder) {
            return wrong(format!("folder {:?} is used twice", run.folder));
        }
        if !is_its_arm(run) {
            let (model, protocol) = (&run.config.model, run.config.protocol);
            return wrong(format!(
                "a {} of {} heads and {} layers under the {protocol} protocol does not belong to it",
                model.kind(),
                model.heads(),
                model.layers()
            ));
        }
        if !is_of_its_corpus(run) {
            let read = &run.config.data.corpus;
            return wrong(format!("it is said to be of {}, but reads {read:?}", run.corpus));
        }
        if run.config.budget != run.budget {
            return wrong(format!("its configuration has budget {}", run.config.budget));
        }
        if run.config.seed != run.seed {
            return wrong(format!("its configuration has seed {}", run.config.seed));
        }
        beside_others(run, runs).or_else(wrong)?;
    }
    Ok(())
}

/// The first run that is not where the program would put it: its index is its place in the plan, and its folder lies in
/// the plan's folder `runs`.
pub(crate) fn misplaced(runs: &[Planned]) -> Option<&Planned> {
    let lies_there = |folder: &str| {
        let parts: Vec<Component<'_>> = Path::new(folder).components().collect();
        matches!(parts[..], [Component::Normal(first), Component::Normal(_)] if first == "runs")
    };
    let mut places = runs.iter().enumerate();
    places.find(|(place, run)| run.index != *place || !lies_there(&run.folder)).map(|(_, run)| run)
}

/// What a run must share with the others that it is compared with: the first of its table, and the reference.
fn beside_others(run: &Planned, runs: &[Planned]) -> Result<(), String> {
    let place = |run: &Planned| (run.arm.table(), run.corpus.clone(), run.budget);
    let table = || runs.iter().filter(|other| place(other) == place(run));
    if let Some(other) = table().next().filter(|other| !pair(run, other)) {
        return Err(format!("its data, batch, length or validation is not that of {}", other.arm));
    }
    let reference = table().find(|other| other.arm == Arm::Reference);
    match (run.arm, reference) {
        (Arm::Ablation(row), Some(reference)) if !is_ablated(run, row.name, reference) => {
            Err("it is not the reference changed by this ablation alone".into())
        }
        _ => Ok(()),
    }
}

/// True if its model and recipe are the arm's; whether an ablation is one, only its reference can show.
fn is_its_arm(run: &Planned) -> bool {
    let (model, found) = (&run.config.model, run.config.protocol);
    let as_named = match run.arm {
        Arm::Compare { protocol, .. } => found == protocol,
        Arm::Grid { heads, layers, .. } => (model.heads(), model.layers()) == (heads, layers),
        Arm::Reference | Arm::Ablation(_) => true,
    };
    as_named && model.kind() == run.arm.model()
}

/// True if the corpus is the one it is named after.
fn is_of_its_corpus(run: &Planned) -> bool {
    let (read, held) = (run.config.data.corpus.as_str(), run.corpus.as_str());
    let named = match read {
        // Shards that are not the paper's text have a name of their own.
        CODEPARROT => held == CODEPARROT || !Source::is_name(held),
        _ => !Source::is_name(read) || read == held,
    };
    let papers = held != CODEPARROT || run.config.model.vocab() == CODEPARROT_DISTINCT;
    named && papers && (held == "enwik8") == (run.config.data.sha256 == ENWIK8_SHA256)
}

/// True if a run is the reference changed by its ablation, and by nothing else than the width and the seed.
fn is_ablated(run: &Planned, ablation: &str, reference: &Planned) -> bool {
    let mut expected = Config { seed: run.seed, ..reference.config.clone() };
    let applied = expected.model.ablate(&[ablation]).is_ok();
    let differs = expected.model != reference.config.model;
    *expected.model.width_mut() = run.config.model.width();
    applied && differs && expected == run.config
}

/// True if two runs are trained and judged on the same bytes, so that seeds are pairs.
fn pair(run: &Planned, other: &Planned) -> bool {
    let (a, b) = (&run.config, &other.config);
    (&a.batch, &a.data, a.length, &a.validation) == (&b.batch, &b.data, b.length, &b.validation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::request::{Experiment, Request};
    use crate::scale::Scale;
    use kuramoto_train::Overlay;
    use kuramoto_train::config::Length;

    fn runs(experiment: Experiment) -> Vec<Planned> {
        let overlays = vec![Overlay::set("test", "data.bytes", "60000")];
        let request = Request { overlays, ..Request::new(experiment, Scale::Smoke) };
        let folder = tempfile::tempdir().unwrap();
        Plan::create(&request, folder.path(), Path::new("unused")).unwrap().runs
    }

    /// Why runs are refused once `edit` has changed the configurations of an arm.
    fn refused(mut runs: Vec<Planned>, arm: &str, edit: &dyn Fn(&mut Config)) -> String {
        let of_arm = runs.iter_mut().filter(|run| run.arm.to_string() == arm);
        of_arm.for_each(|run| edit(&mut run.config));
        check(&runs).unwrap_err()
    }

    #[test]
    fn compared_runs_read_the_same_bytes() {
        let edits: [&dyn Fn(&mut Config); 3] =
            [&|config| config.batch.sequences = 9, &|config| config.length = Length::Steps(7), &|config| {
                config.validation.windows = 9;
            }];
        for edit in edits {
            let why = refused(runs(Experiment::Compare), "transformer-paper", edit);
            assert!(why.contains("is not that of kuramoto-tuned"), "{why}");
        }
    }

    #[test]
    fn an_ablation_is_its_ablation_and_no_more() {
        let runs = runs(Experiment::Ablations);
        let reference = runs[0].config.clone();
        let none = refused(runs.clone(), "sigmoid-gates", &|config| config.model = reference.model.clone());
        let more = refused(runs, "sigmoid-gates", &|config| config.optimizer.learning_rate = 0.1);
        for why in [none, more] {
            assert!(why.contains("sigmoid-gates") && why.contains("changed by this ablation alone"), "{why}");
        }
    }

    #[test]
    fn a_model_is_the_one_its_arm_names() {
        let grid = refused(runs(Experiment::Grid), "kuramoto-h2-l3", &|config| *config.model.heads_mut() = 1);
        let (ours, theirs) = (runs(Experiment::Compare), runs(Experiment::Compare)[1].config.clone());
        let kind = refused(ours.clone(), "kuramoto-tuned", &|config| config.model = theirs.model.clone());
        let recipe = refused(ours, "kuramoto-tuned", &|config| {
            config.protocol = kuramoto_train::presets::Protocol::Paper;
        });
        for why in [grid, kind, recipe] {
            assert!(why.contains("does not belong to it"), "{why}");
        }
    }

    #[test]
    fn a_run_is_of_the_corpus_and_the_budget_it_is_listed_under() {
        let of = |edit: &dyn Fn(&mut Planned)| {
            let mut runs = runs(Experiment::Compare);
            edit(&mut runs[2]);
            check(&runs).unwrap_err()
        };
        assert!(of(&|run| run.corpus = "enwik8".into()).contains("said to be of enwik8"));
        // 50 distinct bytes are not the paper's 201.
        let codeparrot = |run: &mut Planned| {
            run.corpus = "codeparrot".into();
            run.config.data.corpus = "codeparrot".into();
        };
        assert!(of(&codeparrot).contains("said to be of codeparrot, but reads \"codeparrot\""));
        assert!(of(&|run| run.config.budget = 7000).contains("has budget 7000"));
        assert!(of(&|run| run.config.seed = 7).contains("has seed 7"));
        let first = runs(Experiment::Compare)[0].folder.clone();
        assert!(of(&|run| run.folder.clone_from(&first)).contains("used twice"));
    }

    #[test]
    fn a_forged_plan_leads_nowhere_else() {
        let of = |edit: &dyn Fn(&mut Planned)| {
            let mut runs = runs(Experiment::Compare);
            edit(&mut runs[2]);
            misplaced(&runs).map(|run| run.seed)
        };
        let seed = Some(runs(Experiment::Compare)[2].seed);
        assert_eq!(of(&|_| ()), None);
        assert_eq!(of(&|run| run.index = 5), seed);
        for folder in ["../elsewhere", "/elsewhere", "runs/../../elsewhere", "elsewhere", "runs", ""] {
            assert_eq!(of(&|run| run.folder = folder.into()), seed, "{folder}");
        }
    }
}
