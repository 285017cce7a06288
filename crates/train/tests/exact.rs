//! The same bits: for any number of threads, stopped and resumed anywhere, on a disk that fails at any
//! operation.

mod common;

use common::*;
use kuramoto_train::disk::System;
use kuramoto_train::run::Ended;
use kuramoto_train::{Corpus, Overlay, Run};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

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
