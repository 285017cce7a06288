//! The unchanged training loop on a graphics card: the same curve as on the processor, and runs that move
//! between them.
#![cfg(feature = "wgpu")]

mod common;
#[path = "../../train/tests/common/mod.rs"]
mod runs;

use common::device;
use kuramoto_gpu::Gpu;
use kuramoto_train::disk::System;
use kuramoto_train::{Observer, Row, Run, Session, Setting, State};
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
fn a_run_moves_to_the_device_and_back() {
    let (gpu, _alone) = device();
    let folder = folder();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    train_new("", &whole, 1);
    let (config, corpus) = tiny("");
    let run = Run::create(&System, &parts, &config, corpus.identity()).unwrap();
    let computed = [5, 9, 12].map(|last| {
        let here = last == 9;
        let (observer, run) =
            (&mut StopAfter(if last == 5 { 5 } else { 4 }), Run::open(run.folder()).unwrap());
        let summary = match here {
            true => Session::open(run, corpus.clone(), Setting::new(&gpu))
                .unwrap()
                .unwrap()
                .train(observer)
                .unwrap(),
            false => train(&run, &corpus, &System, 1, observer).unwrap(),
        };
        assert_eq!(summary.steps, last);
        assert_eq!(summary.device.contains(gpu.name()), here, "{}", summary.device);
        summary.devices
    });
    assert_near(&whole, &parts);
    // Where bits stop being comparable.
    let [alone, _, all] = computed;
    assert!(alone.is_empty());
    assert_eq!(all.iter().map(|stretch| stretch.from_step).collect::<Vec<_>>(), [1, 6, 10]);
    let rows = kuramoto_train::metrics::read(&parts.join("metrics.jsonl")).unwrap();
    for row in rows {
        let stretch = all.iter().find(|stretch| stretch.from_step == row.step);
        assert_eq!(row.device, stretch.map(|stretch| stretch.device.clone()), "step {}", row.step);
    }
}

/// Loses the device after a step.
struct LoseAfter<'a>(u64, &'a Gpu);

impl Observer for LoseAfter<'_> {
    fn step(&mut self, row: &Row, _: &State) {
        if row.step == self.0 {
            self.1.lose();
        }
    }
}

#[test]
fn a_device_that_is_lost_leaves_a_good_checkpoint() {
    let (gpu, _alone) = device();
    let folder = folder();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    train_new("", &whole, 1);
    let (config, corpus) = tiny("");
    let run = Run::create(&System, &parts, &config, corpus.identity()).unwrap();
    let mut session = Session::open(run, corpus.clone(), Setting::new(&gpu)).unwrap().unwrap();
    let lost = session.train(&mut LoseAfter(7, &gpu)).unwrap_err().to_string();
    assert!(lost.contains(gpu.name()) && lost.contains("resume from the last checkpoint"), "{lost}");
    drop(session);
    assert!(gpu.gpu_engine(&config.model, &config.shape()).is_err(), "nothing is trusted any more");
    let run = Run::open(&parts).unwrap();
    assert_eq!(train(&run, &corpus, &System, 1, &mut ()).unwrap().steps, 12);
    assert_near(&whole, &parts);
}
