//! The unchanged training loop on a graphics card: the same curve as on the processor, and runs that move
//! between them.
#![cfg(feature = "wgpu")]

mod common;
#[path = "../../train/tests/common/mod.rs"]
mod runs;

use common::device;
use kuramoto_train::disk::System;
use kuramoto_train::{Run, Session, Setting};
use runs::{StopAfter, folder, outcome_curve, tiny, train, train_new};
use std::path::Path;

fn assert_near(ours: &Path, theirs: &Path) {
    let (ours, theirs) = (outcome_curve(ours), outcome_curve(theirs));
    assert_eq!(ours.len(), theirs.len());
    for (a, b) in ours.into_iter().zip(theirs) {
        assert!((a - b).abs() < 2e-4, "{a} against {b}");
    }
}

#[test]
fn the_same_curve() {
    let (gpu, _alone) = device();
    for changes in ["", "model = { kind = 'transformer' }"] {
        let folder = folder();
        let (cpu, card) = (folder.path().join("cpu"), folder.path().join("card"));
        train_new(changes, &cpu, 1);
        let (config, corpus) = tiny(changes);
        let run = Run::create(&System, &card, &config, corpus.identity()).unwrap();
        Session::open(run, corpus, Setting::new(&gpu)).unwrap().unwrap().train(&mut ()).unwrap();
        assert_near(&cpu, &card);
    }
}

#[test]
fn a_run_moves_from_the_processor() {
    let (gpu, _alone) = device();
    let folder = folder();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    train_new("", &whole, 1);
    let (config, corpus) = tiny("");
    let run = Run::create(&System, &parts, &config, corpus.identity()).unwrap();
    train(&run, &corpus, &System, 1, &mut StopAfter(5)).unwrap();
    let mut session = Session::open(run, corpus, Setting::new(&gpu)).unwrap().unwrap();
    assert_eq!(session.train(&mut ()).unwrap().steps, 12);
    assert_near(&whole, &parts);
}
