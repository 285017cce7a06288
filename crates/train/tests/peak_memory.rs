//! The memory of a run is measured while it trains. In a process of its own: what other tests hold counts too.

mod common;

use common::*;
use kuramoto_train::disk::System;
use kuramoto_train::{Observer, Run, Summary, TrainingPlan};
use std::fs;
use std::path::Path;
use std::sync::{Barrier, Mutex};

/// One test at a time: they share the memory of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Touches so many bytes, which are free again when it returns.
fn touch(bytes: usize) {
    let held = vec![1u8; bytes];
    assert_eq!(std::hint::black_box(&held)[bytes / 2], 1);
}

/// Touches memory before the first step.
struct Greedy(usize);

impl Observer for Greedy {
    fn plan(&mut self, _: &TrainingPlan) {
        touch(self.0);
    }
}

fn trained(folder: &Path, observer: &mut dyn Observer) -> Summary {
    let (config, corpus) = tiny("");
    let run = Run::create(&System, folder, &config, corpus.identity()).unwrap();
    train(&run, &corpus, &System, 1, observer).unwrap()
}

const MANY: usize = 300_000_000;

#[cfg(target_os = "linux")]
#[test]
fn what_a_run_holds_is_measured_while_it_trains() {
    let _alone = ALONE.lock().unwrap();
    let folder = folder();
    // Before the run: no business of it, where the system can forget.
    touch(MANY);
    let modest = trained(&folder.path().join("modest"), &mut ()).peak_memory_bytes.unwrap();
    let greedy = trained(&folder.path().join("greedy"), &mut Greedy(MANY));
    assert!(greedy.peak_memory_bytes.unwrap() > MANY as u64);
    assert_eq!(greedy.peak_memory_runs, None);
    if fs::write("/proc/self/clear_refs", "5").is_ok() {
        assert!((1_000_000..MANY as u64).contains(&modest), "{modest}");
    }
    // It is in the file, and stays there if there is nothing left to train.
    let run = Run::open(&folder.path().join("greedy")).unwrap();
    assert_eq!(run.summary().unwrap(), greedy);
    let (_, corpus) = tiny("");
    let again = train(&run, &corpus, &System, 1, &mut ()).unwrap();
    assert_eq!(again.peak_memory_bytes, greedy.peak_memory_bytes);
}

/// Goes on when the other run has begun too.
struct Together<'a>(&'a Barrier, usize);

impl Observer for Together<'_> {
    fn plan(&mut self, _: &TrainingPlan) {
        self.0.wait();
        touch(self.1);
        self.0.wait();
    }
}

/// Of two runs in one process, each has what both held, also if the other ended before.
#[cfg(target_os = "linux")]
#[test]
fn runs_that_share_a_process_share_its_memory() {
    let _alone = ALONE.lock().unwrap();
    let (folder, both) = (folder(), Barrier::new(2));
    let run = |name: &str, bytes: usize| trained(&folder.path().join(name), &mut Together(&both, bytes));
    let summaries = std::thread::scope(|scope| {
        let other = scope.spawn(|| run("a", MANY));
        [run("b", 1), other.join().unwrap()]
    });
    for summary in summaries {
        assert_eq!(summary.peak_memory_runs, Some(2));
        assert!(summary.peak_memory_bytes.unwrap() > MANY as u64);
    }
    assert_eq!(trained(&folder.path().join("c"), &mut ()).peak_memory_runs, None);
}

/// Summaries of earlier versions are read, and written as they were.
#[test]
fn a_summary_without_it_stays_as_it_is() {
    let text = include_str!("fixtures/kuramoto/summary.json");
    let summary: Summary = serde_json::from_str(text).unwrap();
    assert_eq!(summary.peak_memory_bytes, None);
    assert!(!serde_json::to_string(&summary).unwrap().contains("peak_memory"));
}
