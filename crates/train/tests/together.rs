//! Several processes train one run: the same bits as one, and one set of files.

mod common;

use common::{Faulty, StopAfter, folder, outcome, setting, tiny, train_new};
use kuramoto_model::group::Played;
use kuramoto_train::disk::System;
use kuramoto_train::run::Ended;
use kuramoto_train::{Run, Setting, Summary};
use std::path::Path;
use std::sync::Arc;

/// Trains with `count` processes until each is told to stop or all is done. Only the first may touch the disk. Two send after
/// computing, four while computing, three find out what is faster.
fn together(run: &Run, count: usize, stop: impl Fn(usize) -> u64 + Sync) -> Vec<Summary> {
    let (_, corpus) = tiny("");
    let (corpus, stop) = (&corpus, &stop);
    std::thread::scope(|scope| {
        let train = |(rank, played): (usize, Played)| {
            scope.spawn(move || {
                let dead = Faulty::new(0, usize::MAX);
                let mut setting = setting(if rank == 0 { &System } else { &dead }, 1);
                setting.group = Arc::new(played);
                setting.overlap = (count != 3).then_some(count > 2);
                kuramoto_train::train(run, corpus, &setting, &mut StopAfter(stop(rank))).unwrap()
            })
        };
        let started: Vec<_> = Played::cast(count).into_iter().enumerate().map(train).collect();
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
        let found = together(&create(folder.path(), "validation.test = true"), count, |_| u64::MAX);
        assert_eq!(outcome(folder.path()), outcome(alone.path()), "{count} processes");
        for summary in found {
            assert_eq!(summary.test_bits_per_byte, expected.test_bits_per_byte);
            assert_eq!(summary.validation_bits_per_byte, expected.validation_bits_per_byte);
        }
    }
}

/// One process is told to stop: all stop after the same step. Others go on, as many as there are.
#[test]
fn a_stopped_run_goes_on_with_another_number_of_processes() {
    let (alone, parts) = (folder(), folder());
    train_new("", alone.path(), 1);
    let run = create(parts.path(), "");
    let stopped = together(&run, 3, |rank| if rank == 2 { 5 } else { u64::MAX });
    assert!(stopped.iter().all(|summary| summary.steps == 5), "{stopped:?}");
    together(&run, 2, |rank| if rank == 0 { 2 } else { u64::MAX });
    let (_, corpus) = tiny("");
    kuramoto_train::train(&run, &corpus, &Setting::alone(2, &System), &mut ()).unwrap();
    assert_eq!(outcome(parts.path()), outcome(alone.path()));
}

#[test]
fn all_stop_early_together() {
    let changes = "length.steps = 400\nvalidation.patience = 1\noptimizer.learning-rate = 0.3";
    let (alone, parts) = (folder(), folder());
    let expected = train_new(changes, alone.path(), 1);
    assert_eq!(expected.ended, Ended::EarlyStop, "the test needs an early stop");
    let found = together(&create(parts.path(), changes), 3, |_| u64::MAX);
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
    let found = together(&create(parts.path(), changes), 4, |_| u64::MAX);
    assert!(found.iter().all(|summary| summary.bad_steps == expected.bad_steps));
    assert_eq!(outcome(parts.path()), outcome(alone.path()));
}
