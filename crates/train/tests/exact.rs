//! The same bits: for any number of threads, stopped and resumed anywhere, on a disk that fails at any
//! operation.

mod common;

use common::*;
use kuramoto_train::disk::System;
use kuramoto_train::run::Ended;
use kuramoto_train::{Corpus, Observer, Overlay, Row, Run, State, Summary, TrainingPlan, checkpoint};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const TRANSFORMER: &str = "model = { kind = 'transformer' }";

fn resume(folder: &Path, corpus: &Arc<Corpus>, threads: usize) -> Vec<String> {
    let run = Run::open(folder).unwrap();
    let mut watch = Watch::default();
    train(&run, corpus, &System, threads, &mut watch).unwrap();
    watch.warnings
}

#[test]
fn any_number_of_threads() {
    for changes in ["", TRANSFORMER] {
        let folder = folder();
        let outcomes = [1, 2, 3, 7].map(|threads| {
            let folder = folder.path().join(threads.to_string());
            train_new(changes, &folder, threads);
            outcome(&folder)
        });
        assert!(outcomes.iter().all(|other| *other == outcomes[0]));
    }
}

#[test]
fn stopped_after_any_step_and_resumed() {
    for changes in ["", TRANSFORMER, "checkpoints = { every = 5, keep = 1 }\nvalidation.every = 0"] {
        let folder = folder();
        let whole = folder.path().join("whole");
        train_new(changes, &whole, 2);
        let expected = outcome(&whole);
        let (config, corpus) = tiny(changes);
        for stop in 0..12 {
            let folder = folder.path().join(stop.to_string());
            let run = Run::create(&System, &folder, &config, corpus.identity()).unwrap();
            let summary = train(&run, &corpus, &System, 2, &mut StopAfter(stop)).unwrap();
            assert_eq!((summary.ended, summary.steps), (Ended::Interrupted, stop));
            resume(&folder, &corpus, 1 + stop as usize % 3);
            // A run that was stopped has a checkpoint of that step more, which may take the place of another.
            let found = outcome(&folder);
            assert!(found == expected, "stopped after {stop}");
        }
    }
}

/// The process dies at every write, sync, rename and removal in turn; what is left is resumed.
#[test]
fn killed_at_any_operation_and_resumed() {
    let folder = folder();
    let whole = folder.path().join("whole");
    train_new("", &whole, 2);
    let expected = outcome(&whole);
    let (config, corpus) = tiny("");
    let mut resumed = 0;
    for from in 0.. {
        let folder = folder.path().join(from.to_string());
        let disk = Faulty::new(from, usize::MAX);
        let created = Run::create(&disk, &folder, &config, corpus.identity());
        let Ok(run) = created else { continue };
        let mut watch = Watch { disk: Some(&disk), ..Default::default() };
        let ended = train(&run, &corpus, &disk, 2, &mut watch);
        if !disk.is_dead() {
            assert_eq!(ended.unwrap().ended, Ended::Finished);
            break;
        }
        // Nothing that was saved is lost: the pointer, if there is one, names a good checkpoint.
        let warnings = resume(&folder, &corpus, 1);
        assert!(warnings.is_empty(), "operation {from}: {warnings:?}");
        assert!(outcome(&folder) == expected, "operation {from}");
        resumed += 1;
    }
    assert!(resumed > 60, "only {resumed} operations were tried");
}

/// A disk that refuses for a while stops nothing: training goes on, says so, and ends with the same bits.
#[test]
fn a_disk_that_is_full_for_a_while() {
    let folder = folder();
    let whole = folder.path().join("whole");
    train_new("", &whole, 2);
    let expected = outcome(&whole);
    let (config, corpus) = tiny("");
    for (from, length) in (0..80).step_by(3).flat_map(|from| [(from, 1), (from, 7)]) {
        let folder = folder.path().join(format!("{from}-{length}"));
        let run = Run::create(&System, &folder, &config, corpus.identity()).unwrap();
        let disk = Faulty::new(from, length);
        let mut watch = Watch::default();
        match train(&run, &corpus, &disk, 2, &mut watch) {
            Ok(_) => assert!(!watch.warnings.is_empty(), "nothing was said of operation {from}"),
            // Only if the last checkpoint or the summary could not be written; then it says so and can be
            // resumed.
            Err(error) => {
                assert!(
                    error.to_string().contains("cannot") || error.to_string().contains("could not"),
                    "{error}"
                );
                resume(&folder, &corpus, 2);
            }
        }
        let found = outcome(&folder);
        assert!(found == expected, "operations {from} to {}", from + length);
    }
}

#[test]
fn lengthened_at_a_constant_learning_rate() {
    let constant = "optimizer.schedule = 'constant'\nvalidation.every = 4";
    let folder = folder();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    train_new(&format!("{constant}\nlength = {{ steps = 12 }}"), &whole, 2);
    train_new(&format!("{constant}\nlength = {{ steps = 8 }}"), &parts, 2);
    let (_, corpus) = tiny("");
    let mut run = Run::open(&parts).unwrap();
    run.reconfigure(&[Overlay::set("--steps", "length.steps", "12")]).unwrap();
    train(&run, &corpus, &System, 2, &mut ()).unwrap();
    assert!(outcome(&parts) == outcome(&whole));
}

/// What does not depend on the clock or the folder.
fn result(summary: Summary) -> Summary {
    let (peak_memory_bytes, peak_memory_runs) = (None, None);
    Summary { seconds: 0.0, run: Default::default(), peak_memory_bytes, peak_memory_runs, ..summary }
}

/// A validation or the test that is broken off costs nothing: the step before it is saved, and the resumed
/// run begins with it.
#[test]
fn stopped_in_a_validation_or_the_test_and_resumed() {
    let changes = "validation = { every = 4, test = true }\ncheckpoints.every = 0";
    let folder = folder();
    let whole = folder.path().join("whole");
    let summary = result(train_new(changes, &whole, 2));
    let expected = outcome(&whole);
    let (config, corpus) = tiny(changes);
    for (busy, nth, steps) in
        [("validating", 1, 4), ("validating", 2, 8), ("validating", 3, 12), ("testing", 1, 12)]
    {
        let folder = folder.path().join(format!("{busy}-{nth}"));
        let run = Run::create(&System, &folder, &config, corpus.identity()).unwrap();
        let stopped = train(&run, &corpus, &System, 2, &mut StopWhile::new(busy, nth)).unwrap();
        assert_eq!((stopped.ended, stopped.steps), (Ended::Interrupted, steps), "{busy} {nth}");
        // Twice in the same place.
        let again = train(&run, &corpus, &System, 1, &mut StopWhile::new(busy, 1)).unwrap();
        assert_eq!((again.ended, again.steps), (Ended::Interrupted, steps), "{busy} {nth}, again");
        let mut resumed = Resumed::default();
        let found = train(&run, &corpus, &System, 2, &mut resumed).unwrap();
        assert_eq!(resumed.from, steps, "no step was lost: {busy} {nth}");
        assert_eq!(result(found), summary, "{busy} {nth}");
        assert_eq!(outcome(&folder), expected, "{busy} {nth}");
        let left = std::fs::read_dir(folder.join("checkpoints")).unwrap();
        let hidden = |name: &std::ffi::OsString| name.to_string_lossy().starts_with('.');
        assert_eq!(left.map(|entry| entry.unwrap().file_name()).filter(hidden).count(), 0, "{busy} {nth}");
    }
}

/// The first step has no row yet while it is validated.
#[test]
fn stopped_in_the_validation_of_the_first_step() {
    let changes = "validation.every = 1\nlength = { steps = 2 }";
    let folder = folder();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    train_new(changes, &whole, 2);
    let (config, corpus) = tiny(changes);
    let run = Run::create(&System, &parts, &config, corpus.identity()).unwrap();
    let stopped = train(&run, &corpus, &System, 2, &mut StopWhile::new("validating", 1)).unwrap();
    assert_eq!((stopped.ended, stopped.steps), (Ended::Interrupted, 1));
    train(&run, &corpus, &System, 2, &mut ()).unwrap();
    assert_eq!(outcome(&parts), outcome(&whole));
}

/// A validation that was broken off at what was the last step is made only if the longer run makes it.
#[test]
fn stopped_in_the_last_validation_and_lengthened() {
    let constant = "optimizer.schedule = 'constant'\nvalidation.every = 5";
    let folder = folder();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    train_new(&format!("{constant}\nlength = {{ steps = 12 }}"), &whole, 2);
    let (config, corpus) = tiny(&format!("{constant}\nlength = {{ steps = 8 }}"));
    let mut run = Run::create(&System, &parts, &config, corpus.identity()).unwrap();
    train(&run, &corpus, &System, 2, &mut StopWhile::new("validating", 2)).unwrap();
    run.reconfigure(&[Overlay::set("--steps", "length.steps", "12")]).unwrap();
    train(&run, &corpus, &System, 2, &mut ()).unwrap();
    assert_eq!(outcome(&parts), outcome(&whole));
}

/// Where training went on from.
#[derive(Default)]
struct Resumed {
    from: u64,
}

impl Observer for Resumed {
    fn plan(&mut self, plan: &TrainingPlan) {
        self.from = plan.done;
    }
}

/// A process that dies after a second of its first validation loses no step.
#[test]
fn killed_in_a_long_validation() {
    struct Slow(u32);
    impl Observer for Slow {
        fn busy(&mut self, with: &str) {
            self.0 = self.0.max(u32::from(with == "validating"));
        }
        fn stop(&mut self) -> bool {
            match self.0 {
                0 => {}
                1 => std::thread::sleep(Duration::from_millis(1050)),
                _ => panic!("killed"),
            }
            self.0 += u32::from(self.0 > 0);
            false
        }
    }
    let changes = "validation = { every = 4, windows = 0 }\ncheckpoints.every = 0";
    let folder = folder();
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    train_new(changes, &whole, 2);
    let (config, corpus) = tiny(changes);
    let run = Run::create(&System, &killed, &config, corpus.identity()).unwrap();
    let died = catch_unwind(AssertUnwindSafe(|| train(&run, &corpus, &System, 2, &mut Slow(0))));
    assert!(died.is_err());
    let mut resumed = Resumed::default();
    train(&run, &corpus, &System, 2, &mut resumed).unwrap();
    assert_eq!(resumed.from, 4);
    assert_eq!(outcome(&killed), outcome(&whole));
}

/// Checkpoints by time change no number, keep as many as `keep` says, and are what a killed run goes on from.
#[test]
fn checkpoints_by_time() {
    struct Dies(u64);
    impl Observer for Dies {
        fn step(&mut self, row: &Row, _: &State) {
            assert!(row.step < self.0, "killed");
        }
    }
    let changes = "validation.every = 0\ncheckpoints.every = 0\ncheckpoints.keep = 2";
    let folder = folder();
    let whole = folder.path().join("whole");
    train_new(changes, &whole, 2);
    for (minutes, from) in [("0", 0), ("10", 0), ("1e-9", 7)] {
        let (config, corpus) = tiny(&format!("{changes}\ncheckpoints.minutes = {minutes}"));
        let folder = folder.path().join(minutes);
        let run = Run::create(&System, &folder, &config, corpus.identity()).unwrap();
        assert_eq!(checkpoint::fingerprint(&config), checkpoint::fingerprint(&tiny(changes).0));
        let died = catch_unwind(AssertUnwindSafe(|| train(&run, &corpus, &System, 2, &mut Dies(7))));
        assert!(died.is_err());
        assert!(checkpoint::steps(&folder).unwrap().len() <= 2, "{minutes}");
        let mut resumed = Resumed::default();
        train(&run, &corpus, &System, 2, &mut resumed).unwrap();
        assert_eq!(resumed.from, from, "{minutes} minutes");
        assert_eq!(outcome(&folder), outcome(&whole), "{minutes} minutes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Stopped several times, resumed each time on another number of threads.
    #[test]
    fn stopped_again_and_again(stops in prop::collection::vec(1u64..5, 1..4), threads in 1usize..5) {
        let folder = folder();
        let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
        train_new("", &whole, 2);
        let (config, corpus) = tiny("");
        Run::create(&System, &parts, &config, corpus.identity()).unwrap();
        for (i, &stop) in stops.iter().enumerate() {
            let run = Run::open(&parts).unwrap();
            train(&run, &corpus, &System, threads + i, &mut StopAfter(stop)).unwrap();
        }
        resume(&parts, &corpus, threads);
        prop_assert!(outcome(&parts) == outcome(&whole));
    }
}

/// A share is of the steps that the run was started with: one that is resumed for longer keeps the warm-up that
/// it has, in what it computes and in what its configuration says.
#[test]
fn a_longer_run_keeps_its_warmup() {
    let folder = folder();
    let (shared, fixed) = (folder.path().join("shared"), folder.path().join("fixed"));
    for (run, warmup) in [(&shared, "'50%'"), (&fixed, "6")] {
        let changes = format!("optimizer = {{ warmup = {warmup}, schedule = 'constant' }}");
        train_new(&changes, run, 1);
    }
    assert_eq!(outcome(&shared), outcome(&fixed));
    let (_, corpus) = tiny("");
    for run in [&shared, &fixed] {
        let mut run = Run::open(run).unwrap();
        run.reconfigure(&[Overlay::set("--steps", "length.steps", "20")]).unwrap();
        train(&run, &corpus, &System, 1, &mut ()).unwrap();
    }
    assert_eq!(outcome(&shared), outcome(&fixed));
    let mut run = Run::open(&shared).unwrap();
    assert!(run.config().to_toml().contains("warmup = \"50% of 12 steps\""));
    // Its own share may be given again, another may not.
    let warmup = |value| [Overlay::set("--warmup", "optimizer.warmup", value)];
    run.reconfigure(&warmup("50%")).unwrap();
    assert_eq!(run.config().optimizer.warmup_steps(20), 6);
    for other in ["30%", "6", "50% of 20 steps"] {
        assert!(run.reconfigure(&warmup(other)).is_err(), "{other}");
    }
}
