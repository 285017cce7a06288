//! Plans are complete and deterministic, run what is missing, and refuse what they did not make.

use kuramoto_engine::Cpu;
use kuramoto_lab::results::Results;
use kuramoto_lab::runner::{Corpora, Outcome, Status, run_one, status};
use kuramoto_lab::scale::Scale;
use kuramoto_lab::submit::{self, Kubernetes, Slurm, Task};
use kuramoto_lab::{Experiment, PaperTable, Plan, Planned, Request, report};
use kuramoto_model::ModelConfig;
use kuramoto_train::presets::Protocol;
use kuramoto_train::{Observer, Overlay, Row, Run, Setting, State};
use std::fs;
use std::path::Path;

fn request(experiment: Experiment) -> Request {
    let short = "data.bytes = 60000\nlength = { steps = 6 }\nvalidation.every = 3";
    Request {
        overlays: vec![Overlay::parse("test", short).unwrap()],
        ..Request::new(experiment, Scale::Smoke)
    }
}

fn plan(experiment: Experiment, folder: &Path) -> Plan {
    Plan::create(&request(experiment), folder, Path::new("unused")).unwrap()
}

/// Stops after so many steps.
struct Stop(usize);

impl Observer for Stop {
    fn step(&mut self, _: &Row, _: &State) {
        self.0 -= 1;
    }

    fn stop(&mut self) -> bool {
        self.0 == 0
    }
}

fn run(plan: &Plan, index: usize, observer: &mut dyn Observer) -> kuramoto_lab::Result<Outcome> {
    run_one(plan, &plan.runs[index], &Corpora::new(Path::new("unused")), Setting::new(&Cpu::new(1)), observer)
}

#[test]
fn every_table_has_its_arms() {
    let folder = tempfile::tempdir().unwrap();
    let arms = |experiment, name: &str| {
        let plan = plan(experiment, &folder.path().join(name));
        let seeds: Vec<u64> = plan.runs.iter().map(|run| run.seed).collect();
        assert!(seeds.is_sorted(), "seed by seed");
        plan.runs.len() / 2
    };
    assert_eq!(arms(Experiment::Compare, "compare"), 4, "two models under two recipes");
    assert_eq!(arms(Experiment::Ablations, "ablations"), 14);
    assert_eq!(arms(Experiment::Grid, "grid"), 2 * 5 * 5 + 2, "and both models' shape of Table 1");
    assert_eq!(arms(Experiment::Paper, "paper"), 4 + 14 + 50 + 2);
}

/// Tables 1 to 4 as the paper has them: which runs, on which corpora, with how many seeds.
#[test]
fn the_papers_plan_is_the_papers_set() {
    let whole = Request { scale: Scale::Paper, overlays: vec![], ..request(Experiment::Paper) };
    // Nothing is read: the paper says how large its corpora are.
    let plan = Plan::draft(&whole, Path::new("unused"), Path::new("no cache")).unwrap();
    let count = |of: &dyn Fn(&Planned) -> bool| plan.runs.iter().filter(|run| of(run)).count();
    let in_table = |table: PaperTable| move |run: &Planned| run.arm.table() == table;
    assert_eq!(count(&in_table(PaperTable::Compare)), 8 * 5 + 1, "six seeds of Kuramoto 5M on enwik8");
    assert_eq!(count(&in_table(PaperTable::Ablations)), 14 * 5);
    assert_eq!(count(&in_table(PaperTable::Grid)), 50 * 3);
    assert_eq!(count(&|run| run.corpus == "codeparrot"), 20);
    assert_eq!(count(&|run| run.corpus == "codeparrot" && run.arm.table() != PaperTable::Compare), 0);
    let six = |run: &Planned| run.arm.to_string() == "kuramoto-paper" && run.budget == 5_000_000;
    assert_eq!(count(&|run| six(run) && run.corpus == "enwik8"), 6);
    // The counts of the paper's Table 5 and its text, both vocabularies.
    for parameters in [1_003_386, 974_845, 4_968_410, 4_997_461, 1_001_978, 973_881, 4_965_210, 4_995_249] {
        assert!(count(&|run| run.parameters == parameters) >= 5, "{parameters}");
    }
    let corpora = vec!["enwik8".into(), "codeparrot".into()];
    let named = Request { corpora, ..whole.clone() };
    let drafted = Plan::draft(&named, Path::new("unused"), Path::new("no cache")).unwrap();
    assert_eq!(drafted.runs.len(), plan.runs.len(), "who names the corpora asks for no more runs");
    let fewer = Request { seeds: Some(2), ..whole };
    let plan = Plan::draft(&fewer, Path::new("unused"), Path::new("no cache")).unwrap();
    assert_eq!(plan.runs.len(), 2 * (8 + 14 + 50));
    assert!(!Path::new("unused").exists(), "a draft writes nothing");
}

/// One path cannot be that of two corpora.
#[test]
fn two_corpora_need_two_paths() {
    let folder = tempfile::tempdir().unwrap();
    let both = Request { scale: Scale::Paper, data_path: "enwik8".into(), ..request(Experiment::Compare) };
    let error = Plan::create(&both, folder.path(), Path::new("unused")).unwrap_err().to_string();
    assert!(error.contains("data-path") && error.contains("--data codeparrot=PATH,enwik8"), "{error}");
}

/// A variant that the paper has no row for is an arm for those who name it.
#[test]
fn variants_are_arms_where_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let named = Request { arms: vec!["no-drift".parse().unwrap()], ..request(Experiment::Ablations) };
    let plan = Plan::create(&named, &folder.path().join("plan"), Path::new("unused")).unwrap();
    let arms: Vec<String> = plan.cells().map(|run| run.arm.to_string()).collect();
    assert_eq!(arms, ["reference", "no-drift"]);
}

/// A run that stops at a bad step is said to have failed, by status and report, and hides no other.
#[test]
fn a_run_that_failed_is_named_and_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(Experiment::Compare);
    // A rate at which every run of the tuned protocol is lost within a few steps.
    request.overlays.push(
        Overlay::parse("test", "optimizer.learning-rate = 1e30\noptimizer.warmup = 0\noptimizer.clip = 0")
            .unwrap(),
    );
    request.arms = vec!["kuramoto-tuned".parse().unwrap(), "transformer-tuned".parse().unwrap()];
    let plan = Plan::create(&request, &folder.path().join("plan"), Path::new("unused")).unwrap();
    let Outcome::Failed(failure) = run(&plan, 0, &mut ()).unwrap() else { panic!("it did not fail") };
    assert!(failure.to_string().contains("bad-steps.policy=continue"), "{failure}");
    assert_eq!(status(&plan, &plan.runs[0]).unwrap(), Status::Failed(failure.clone()));
    assert_eq!(run(&plan, 0, &mut ()).unwrap(), Outcome::Failed(failure.clone()), "it is not tried again");
    assert!(!submit::unfinished(&plan).contains(&0));
    let results = Results::gather(&plan);
    assert_eq!((results.unusable.len(), results.unusable[0].index), (1, 0));
    let files = report::write(&plan, &results).unwrap();
    let markdown =
        fs::read_to_string(files.iter().find(|path| path.ends_with("report.md")).unwrap()).unwrap();
    assert!(
        markdown.contains("Runs that cannot be used") && markdown.contains("stopped at step"),
        "{markdown}"
    );
    // A folder that holds something else is named as well, and the report is still written.
    let other = plan.run_folder(&plan.runs[1]);
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("config.toml"), "not a configuration").unwrap();
    let results = Results::gather(&plan);
    assert_eq!(results.unusable.len(), 2, "{:?}", results.unusable);
    assert!(!results.unusable[1].why.contains(&*folder.path().to_string_lossy()), "no path of this machine");
    report::write(&plan, &results).unwrap();
    // What is not what `lab run` wrote says what to do.
    fs::write(plan.run_folder(&plan.runs[0]).join("failed.json"), "{").unwrap();
    let error = status(&plan, &plan.runs[0]).unwrap_err().to_string();
    assert!(error.contains("failed.json") && error.contains("delete it"), "{error}");
}

/// Under the paper's protocol nothing stops a run but its end; one that is not finite is reported as such.
#[test]
fn the_papers_protocol_reports_runs_that_are_not_finite() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(Experiment::Compare);
    request.overlays.push(
        Overlay::parse("test", "optimizer.learning-rate = 1e30\noptimizer.clip = 0\nvalidation.every = 1")
            .unwrap(),
    );
    request.arms = vec!["kuramoto-paper".parse().unwrap(), "transformer-paper".parse().unwrap()];
    let plan = Plan::create(&request, &folder.path().join("plan"), Path::new("unused")).unwrap();
    for index in 0..plan.runs.len() {
        let outcome = run(&plan, index, &mut ()).unwrap();
        assert!(matches!(outcome, Outcome::Ran(_)), "{outcome:?}");
        assert!(matches!(status(&plan, &plan.runs[index]).unwrap(), Status::Finished(_)));
    }
    let results = Results::gather(&plan);
    assert_eq!(results.progress, (4, 4));
    let files = report::write(&plan, &results).unwrap();
    let text =
        |name: &str| fs::read_to_string(files.iter().find(|path| path.ends_with(name)).unwrap()).unwrap();
    assert!(text("report.md").contains("not finite"), "{}", text("report.md"));
    assert!(text("runs.csv").contains("not finite from step"), "{}", text("runs.csv"));
}

#[test]
fn only_the_arms_asked_for_and_what_they_are_compared_with() {
    let folder = tempfile::tempdir().unwrap();
    let of = |experiment, arms: &[&str]| -> kuramoto_lab::Result<Vec<String>> {
        let named = arms.iter().map(|name| name.parse().unwrap()).collect();
        let request = Request { arms: named, ..request(experiment) };
        let plan = Plan::create(&request, &folder.path().join(arms.concat()), Path::new("unused"))?;
        Ok(plan.runs.iter().filter(|run| run.seed == 0).map(|run| run.arm.to_string()).collect())
    };
    let two = of(Experiment::Ablations, &["linear-gates", "no-value-gate"]).unwrap();
    assert_eq!(two, ["reference", "no-value-gate", "linear-gates"], "in the paper's order");
    let pair = ["kuramoto-paper", "transformer-paper"];
    assert_eq!(of(Experiment::Compare, &pair).unwrap(), pair);
    let error = of(Experiment::Compare, &["linear-gates"]).unwrap_err().to_string();
    assert!(error.contains("arms = \"linear-gates\" is not allowed: choose from kuramoto-tuned,"), "{error}");
}

#[test]
fn widths_are_matched_again_and_seeds_are_paired() {
    let folder = tempfile::tempdir().unwrap();
    // Large enough for a width to come close to it.
    let request = Request { budgets: vec![120_000], ..request(Experiment::Ablations) };
    let plan = Plan::create(&request, &folder.path().join("plan"), Path::new("unused")).unwrap();
    let find = |arm: &str| plan.runs.iter().find(|run| run.arm.to_string() == arm).unwrap();
    let (reference, none) = (find("reference"), find("no-feed-forward"));
    assert!(none.config.model.width() > reference.config.model.width());
    for run in &plan.runs {
        let ModelConfig::Kuramoto(model) = &run.config.model else { panic!("{}", run.arm) };
        assert_eq!(model.heads, 1);
        let off = run.parameters as f64 / run.budget as f64 - 1.0;
        assert!(off.abs() < 0.1, "{} is {off} off its budget", run.arm);
        // Batches depend on these alone.
        assert_eq!(run.config.batch, reference.config.batch);
        assert_eq!(run.config.data, reference.config.data);
    }
}

#[test]
fn a_plan_is_written_once_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let made = plan(Experiment::Compare, &a);
    plan(Experiment::Compare, &b);
    assert_eq!(
        fs::read(a.join("plan.json")).unwrap(),
        fs::read(b.join("plan.json")).unwrap(),
        "deterministic"
    );
    assert_eq!(Plan::open(&a).unwrap(), made);
    let error = Plan::create(&request(Experiment::Compare), &a, Path::new("unused")).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
}

#[test]
fn runs_what_is_missing_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(Experiment::Compare, &folder.path().join("plan"));
    let planned = &plan.runs[0];
    assert_eq!(status(&plan, planned).unwrap(), Status::Missing);
    let Outcome::Ran(part) = run(&plan, 0, &mut Stop(2)).unwrap() else { panic!() };
    assert_eq!((part.steps, status(&plan, planned).unwrap()), (2, Status::Begun));
    let held = Run::open(&plan.run_folder(planned)).unwrap();
    let lock = held.lock().unwrap().unwrap();
    assert_eq!(run(&plan, 0, &mut ()).unwrap(), Outcome::Taken, "another process has it");
    drop(lock);
    let Outcome::Ran(whole) = run(&plan, 0, &mut ()).unwrap() else { panic!() };
    assert_eq!(whole.steps, 6);
    assert_eq!(run(&plan, 0, &mut ()).unwrap(), Outcome::WasFinished(whole));
}

#[test]
fn what_changed_is_said_and_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(Experiment::Compare, &folder.path().join("plan"));
    run(&plan, 0, &mut ()).unwrap();
    // Another run's folder in its place.
    let (first, second) = (plan.run_folder(&plan.runs[0]), plan.run_folder(&plan.runs[1]));
    fs::rename(&first, &second).unwrap();
    let error = run(&plan, 1, &mut ()).unwrap_err().to_string();
    assert!(error.contains("holds another run than run 1"), "{error}");
    fs::rename(&second, &first).unwrap();
    // A finished run whose weights changed.
    let weights = first.join("checkpoints/step-6/model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, &bytes).unwrap();
    let error = run(&plan, 0, &mut ()).unwrap_err().to_string();
    assert!(error.contains("files changed") && error.contains("model.safetensors"), "{error}");
    assert_eq!(fs::read(&weights).unwrap(), bytes);
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, &bytes).unwrap();
    assert!(matches!(run(&plan, 0, &mut ()).unwrap(), Outcome::WasFinished(_)), "put back");
    // Whatever tells of a finished run: a value more, nothing at all, gone.
    for name in
        ["summary.json", "metrics.jsonl", "config.toml", "corpus.json", "checkpoints/step-6/manifest.json"]
    {
        let path = first.join(name);
        let good = fs::read(&path).unwrap();
        let more = [&good[..], b"\n"].concat();
        for bad in [Some(&more[..]), Some(b""), None] {
            match bad {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let error = run(&plan, 0, &mut ()).unwrap_err().to_string();
            assert!(error.contains(&*first.to_string_lossy()), "{name}: {error}");
            assert_eq!(fs::read(&path).ok().as_deref(), bad, "{name} is left as it is");
            fs::write(&path, &good).unwrap();
        }
    }
    // Something else where a run belongs.
    fs::create_dir_all(&second).unwrap();
    fs::write(second.join("notes.txt"), "mine").unwrap();
    let error = run(&plan, 1, &mut ()).unwrap_err().to_string();
    assert!(error.contains("move it away"), "{error}");
    assert_eq!(fs::read_to_string(second.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn another_text_than_was_planned_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (text, cache) = (folder.path().join("own.txt"), folder.path().join("cache"));
    fs::write(&text, "it was a dark and stormy night; ".repeat(1000)).unwrap();
    let corpora = vec![text.to_string_lossy().into()];
    let request = Request { corpora, overlays: vec![], ..request(Experiment::Compare) };
    let plan = Plan::create(&request, &folder.path().join("plan"), &cache).unwrap();
    // The same bytes in another order, so that even the vocabulary is the same.
    fs::write(&text, "a stormy and dark night it was; ".repeat(1000)).unwrap();
    fs::remove_dir_all(&cache).unwrap();
    let error = run_one(&plan, &plan.runs[0], &Corpora::new(&cache), Setting::new(&Cpu::new(1)), &mut ())
        .unwrap_err()
        .to_string();
    assert!(error.contains("put the text back, or make a new plan"), "{error}");
    assert!(!plan.run_folder(&plan.runs[0]).exists(), "nothing is left behind");
}

#[test]
fn a_plan_that_was_edited_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let made = plan(Experiment::Compare, folder.path());
    let path = folder.path().join("plan.json");
    let text = fs::read_to_string(&path).unwrap();
    let folder_of = |index: usize| format!("{:?}", made.runs[index].folder);
    let edits = [
        ("\"index\": 3".to_string(), "\"index\": 2".to_string()),
        (folder_of(1), folder_of(0)),
        (folder_of(1), "\"../elsewhere\"".into()),
        ("\"heads\": 1".into(), "\"heads\": 5".into()),
        ("\"width\": 12".into(), "\"width\": 16".into()),
        ("\"runs\"".into(), "\"rums\"".into()),
        ("\"arm\": \"kuramoto-tuned\"".into(), "\"arm\": \"transformer-tuned\"".into()),
        ("\"arm\": \"kuramoto-tuned\"".into(), "\"arm\": \"kuramoto\"".into()),
        ("\"experiment\": \"compare\"".into(), "\"experiment\": \"grid\"".into()),
        ("\"scale\": \"smoke\"".into(), "\"scale\": \"study\"".into()),
        ("\"corpus\": \"tales\"".into(), "\"corpus\": \"enwik8\"".into()),
        ("\"flops\": ".into(), "\"flops\": -".into()),
        ("\"budget\": 6000".into(), "\"budget\": 0".into()),
        ("\"learning-rate\": 0.016".into(), "\"learning-rate\": 0.017".into()),
        ("\"seed\": 1,\n      \"flops\"".into(), "\"seed\": 0,\n      \"flops\"".into()),
        ("\"digest\": \"".into(), "\"digest\": \"0".into()),
        ("\"format\": 2,".into(), "\"format\": 2, \"note\": \"mine\",".into()),
        (text.clone(), "[]".into()),
        (text.clone(), text[..text.len() / 2].into()),
    ];
    for (from, to) in edits {
        assert!(text.contains(&from), "{from}");
        fs::write(&path, text.replacen(&from, &to, 1)).unwrap();
        let error = Plan::open(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with(&*path.to_string_lossy()), "{to}: {error}");
        assert!(error.ends_with("undo the change, or make the plan anew"), "{to}: {error}");
    }
    // What says the same in other bytes is the same plan.
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    fs::write(&path, serde_json::to_vec(&value).unwrap()).unwrap();
    assert_eq!(Plan::open(folder.path()).unwrap(), made);
}

#[test]
fn a_plan_of_another_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str| {
        fs::write(folder.path().join("plan.json"), text).unwrap();
        Plan::open(folder.path()).unwrap_err().to_string()
    };
    let old = refused(r#"{"format": 1, "experiment": "compare", "scale": "smoke", "runs": []}"#);
    for part in ["made by version 0.1", "the same command", "`runs`"] {
        assert!(old.contains(part), "{old}");
    }
    let new = refused(r#"{"format": 9}"#);
    assert!(new.contains("its format is 9, and this program reads format 2"), "{new}");
}

/// What would make a difference between arms be of something else than their names say.
#[test]
fn arms_differ_in_what_they_are_named_after() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |request: Request| {
        let path = folder.path().join("plan");
        let error = Plan::create(&request, &path, Path::new("unused")).unwrap_err().to_string();
        assert!(!path.exists() && error.contains("no plan was written"), "{error}");
        error
    };
    let set = |experiment, pair: &str| {
        let overlays = [request(experiment).overlays, vec![Overlay::pair("--set", pair).unwrap()]].concat();
        refused(Request { overlays, ..request(experiment) })
    };
    let sets = [
        (Experiment::Grid, "model.heads=3", "does not belong"),
        (Experiment::Grid, "model.layers=3", "does not belong"),
        (Experiment::Compare, "protocol=paper", "does not belong"),
        (Experiment::Ablations, "model.value-gate=false", "changed by this ablation alone"),
        (Experiment::Compare, "seed=5", "has seed 5"),
        (Experiment::Compare, "budget=7000", "has budget 7000"),
    ];
    for (experiment, pair, part) in sets {
        let error = set(experiment, pair);
        assert!(error.contains(part), "{pair}: {error}");
    }
    // The same cell twice.
    let error = refused(Request { budgets: vec![6000, 6000], ..request(Experiment::Compare) });
    assert!(error.contains("used twice"), "{error}");
}

/// A preset or protocol that is set decides where the configuration starts, not only what it is called.
#[test]
fn a_protocol_that_is_set_is_the_recipe() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, request: Request| {
        Plan::create(&request, &folder.path().join(name), Path::new("unused")).unwrap().runs
    };
    let mut set = request(Experiment::Ablations);
    set.overlays.push(Overlay::pair("--set", "protocol=paper").unwrap());
    let asked = Request { protocol: Some(Protocol::Paper), ..request(Experiment::Ablations) };
    assert_eq!(make("set", set), make("asked", asked));
}

#[test]
fn a_plan_becomes_a_job_array() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(Experiment::Compare, &folder.path().join("it's a plan"));
    run(&plan, 1, &mut ()).unwrap();
    let left = submit::unfinished(&plan);
    assert_eq!(left, [0, 2, 3, 4, 5, 6, 7]);
    let task = Task { throttle: Some(3), cpus: 2, megabytes: None, card: false };
    let slurm = Slurm {
        program: "/opt/kuramoto".into(),
        plan: plan.folder().into(),
        cache: "/scratch/cache".into(),
        time: "1:00:00".into(),
        partition: Some("short".into()),
    };
    let script = submit::slurm(&plan, &left, &task, &slurm).unwrap();
    for part in
        ["--array=0,2-7%3\n", "--cpus-per-task=2\n", "--partition=short\n", "--requeue\n", "USR1@120\n"]
    {
        assert!(script.contains(part), "{part}\n{script}");
    }
    assert!(script.contains(r"it'\''s a plan' --index"), "{script}");
    let path = submit::write(&plan, submit::SLURM_FILE, &script).unwrap();
    // What a user changed is kept.
    fs::write(&path, "changed by hand").unwrap();
    submit::write(&plan, submit::SLURM_FILE, &script).unwrap();
    assert_eq!(fs::read_to_string(path.with_extension("slurm.1")).unwrap(), "changed by hand");
    assert_eq!(fs::read_to_string(path).unwrap(), script);

    let kubernetes = Kubernetes { image: "registry/kuramoto:1".into(), claim: "plans".into() };
    let job = submit::kubernetes(&plan, &task, &kubernetes).unwrap();
    for part in
        ["name: kuramoto-it-s-a-plan\n", "completions: 8\n", "parallelism: 3\n", "claimName: \"plans\"\n"]
    {
        assert!(job.contains(part), "{part}\n{job}");
    }

    let task = Task { card: true, ..task };
    let with_cards = submit::slurm(&plan, &left, &task, &slurm).unwrap();
    assert!(with_cards.contains("#SBATCH --gres=gpu:1\n") && with_cards.contains(" --device gpu &\n"));
    let with_cards = submit::kubernetes(&plan, &task, &kubernetes).unwrap();
    assert!(with_cards.contains("- --device\n            - gpu\n          resources"), "{with_cards}");
    assert!(with_cards.contains("nvidia.com/gpu: 1\n"), "{with_cards}");
}
