//! Several processes train one run: the same bits as one, and one set of files.

mod common;
#[path = "../../engine/tests/common/thread_group.rs"]
mod thread_group;

use common::{Faulty, StopAfter, StopWhile, folder, outcome, tiny, train, train_new};
use kuramoto_engine::Cpu;
use kuramoto_train::disk::System;
use kuramoto_train::run::Ended;
use kuramoto_train::{
    CorpusOptions, Error, NewRun, Observer, Overlay, Result, Run, Session, Setting, Summary,
};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use thread_group::ThreadGroup;

/// Trains with `count` processes until each is asked to stop or all is done. Only the first may touch the
/// disk.
fn train_in_group(run: &Run, count: usize, stop: impl Fn(usize) -> u64 + Sync) -> Vec<Summary> {
    observed_in_group(run, count, |rank| StopAfter(stop(rank)))
}

/// The same with an observer for each process.
fn observed_in_group<O: Observer>(
    run: &Run,
    count: usize,
    observer: impl Fn(usize) -> O + Sync,
) -> Vec<Summary> {
    let (_, corpus) = tiny("");
    let (corpus, observer) = (&corpus, &observer);
    std::thread::scope(|scope| {
        let train = |(rank, process): (usize, ThreadGroup)| {
            scope.spawn(move || {
                let dead = Faulty::new(0, usize::MAX);
                let device = Cpu { group: Arc::new(process), ..Cpu::new(1) };
                let setting =
                    Setting { disk: if rank == 0 { &System } else { &dead }, ..Setting::new(&device) };
                let mut session = Session::open(run.clone(), corpus.clone(), setting).unwrap().unwrap();
                session.train(&mut observer(rank)).unwrap()
            })
        };
        let started: Vec<_> = ThreadGroup::new_group(count).into_iter().enumerate().map(train).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn create(folder: &Path, changes: &str) -> Run {
    let (config, corpus) = tiny(changes);
    Run::create(&System, folder, &config, corpus.identity()).unwrap()
}

#[test]
fn any_number_of_processes_gives_the_same_run() {
    let alone = folder();
    let expected = train_new("validation.test = true", alone.path(), 2);
    for count in [2, 3, 4] {
        let folder = folder();
        let found = train_in_group(&create(folder.path(), "validation.test = true"), count, |_| u64::MAX);
        assert_eq!(outcome(folder.path()), outcome(alone.path()), "{count} processes");
        for summary in found {
            assert_eq!(summary.test_bits_per_byte, expected.test_bits_per_byte);
            assert_eq!(summary.validation_bits_per_byte, expected.validation_bits_per_byte);
        }
    }
}

/// One process is asked to stop: all stop after the same step. Others go on, as many as there are.
#[test]
fn a_stopped_run_goes_on_with_another_number_of_processes() {
    let (alone, parts) = (folder(), folder());
    train_new("", alone.path(), 1);
    let run = create(parts.path(), "");
    let stopped = train_in_group(&run, 3, |rank| if rank == 2 { 5 } else { u64::MAX });
    assert!(stopped.iter().all(|summary| summary.steps == 5), "{stopped:?}");
    train_in_group(&run, 2, |rank| if rank == 0 { 2 } else { u64::MAX });
    let (_, corpus) = tiny("");
    train(&run, &corpus, &System, 2, &mut ()).unwrap();
    assert_eq!(outcome(parts.path()), outcome(alone.path()));
}

/// One process is asked to stop in a validation, then in the test: all break it off, and go on from there.
#[test]
fn all_break_off_a_validation_and_the_test() {
    // Enough windows that every process reads several times.
    let changes = "validation = { windows = 0, test = true }\ncheckpoints.every = 0";
    let (alone, parts) = (folder(), folder());
    let expected = train_new(changes, alone.path(), 1);
    let run = create(parts.path(), changes);
    let never = usize::MAX;
    for (busy, count, steps) in [("validating", 3, 4), ("testing", 2, 12)] {
        let stopped =
            observed_in_group(&run, count, |rank| StopWhile::new(busy, if rank == 1 { 1 } else { never }));
        for summary in stopped {
            assert_eq!((summary.ended, summary.steps), (Ended::Interrupted, steps), "{busy}");
        }
    }
    let found = train_in_group(&run, 4, |_| u64::MAX);
    assert!(found.iter().all(|summary| summary.test_bits_per_byte == expected.test_bits_per_byte));
    assert_eq!(outcome(parts.path()), outcome(alone.path()));
}

#[test]
fn all_stop_early_together() {
    let changes = "length.steps = 400\nvalidation.patience = 1\noptimizer.learning-rate = 0.3";
    let (alone, parts) = (folder(), folder());
    let expected = train_new(changes, alone.path(), 1);
    assert_eq!(expected.ended, Ended::EarlyStop, "the test needs an early stop");
    let found = train_in_group(&create(parts.path(), changes), 3, |_| u64::MAX);
    assert!(found.iter().all(|summary| summary.ended == Ended::EarlyStop && summary.steps == expected.steps));
    assert_eq!(outcome(parts.path()), outcome(alone.path()));
}

/// Bad steps are judged alike by all.
#[test]
fn a_bad_step_is_one_for_all() {
    let changes = "length.steps = 200\nbad-steps = { policy = 'skip', spike = 1.02 }";
    let (alone, parts) = (folder(), folder());
    let expected = train_new(changes, alone.path(), 1);
    assert!(expected.bad_steps > 0, "the test needs a bad step");
    let found = train_in_group(&create(parts.path(), changes), 4, |_| u64::MAX);
    assert!(found.iter().all(|summary| summary.bad_steps == expected.bad_steps));
    assert_eq!(outcome(parts.path()), outcome(alone.path()));
}

/// A run is made by all processes together; where one cannot begin, none does and nothing is left behind.
#[test]
fn a_session_opens_in_all_processes_or_in_none() {
    let folder = folder();
    let text = folder.path().join("text");
    fs::write(&text, "it was a dark and stormy night; ".repeat(1000)).unwrap();
    let blocked = folder.path().join("blocked");
    fs::write(&blocked, "a file where a folder should be").unwrap();
    let create = |name: &str, broken: Option<usize>| {
        let open = |(rank, process): (usize, ThreadGroup)| {
            let device = Cpu { group: Arc::new(process), ..Cpu::new(1) };
            // The process that is broken cannot prepare the corpus.
            let cache = if broken == Some(rank) { blocked.clone() } else { folder.path().join("cache") };
            let data = Overlay::text("--data", "data.corpus", &text.to_string_lossy());
            let bytes = Overlay::set("--set", "data.bytes", "0");
            let new = NewRun {
                overlays: vec![Overlay::parse("tiny", common::TINY).unwrap(), data, bytes],
                folder: Some(folder.path().join(name)),
                corpora: CorpusOptions { cache: Some(cache), download: None },
                ..Default::default()
            };
            Session::create(&new, Setting::new(&device))?.train(&mut ()).map(|summary| summary.steps)
        };
        std::thread::scope(|scope| {
            let open = &open;
            let group = ThreadGroup::new_group(3).into_iter().enumerate();
            let started: Vec<_> = group.map(|process| scope.spawn(move || open(process))).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<Result<u64>>>()
        })
    };
    assert!(create("good", None).iter().all(|steps| matches!(steps, Ok(12))));
    for broken in 0..3 {
        let found = create("bad", Some(broken));
        for (rank, result) in found.iter().enumerate() {
            let by_other = matches!(result, Err(Error::OtherProcess));
            assert!(result.is_err() && by_other == (rank != broken), "{broken}, {rank}: {result:?}");
        }
        assert!(!folder.path().join("bad").exists());
    }
}

/// A step that is not finite ends the run in all processes, and none of them trains it again.
#[test]
fn a_run_that_is_not_finite_ends_in_all() {
    let changes = "length.steps = 40\nbad-steps.policy = 'continue'\nvalidation.test = true\n\
                   optimizer = { learning-rate = 1e39, warmup = 6, schedule = 'constant' }";
    let (alone, parts) = (folder(), folder());
    let expected = train_new(changes, alone.path(), 1);
    assert_eq!(expected.ended, Ended::NonFinite, "the test needs a step that is not finite");
    let run = create(parts.path(), changes);
    for _ in 0..2 {
        for summary in train_in_group(&run, 3, |_| u64::MAX) {
            assert_eq!((summary.ended, summary.steps), (Ended::NonFinite, expected.steps));
            assert_eq!(summary.non_finite_step, expected.non_finite_step);
        }
    }
}
