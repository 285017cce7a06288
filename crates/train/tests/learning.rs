//! Training learns, and learns the same as ever: the losses of a tiny configuration against a trace that was
//! recorded.

mod common;

use common::*;
use kuramoto_train::disk::System;
use kuramoto_train::run::Ended;
use kuramoto_train::{Error, Run, metrics};

const LONG: &str = "length = { steps = 200 }\nvalidation.every = 100\ncheckpoints.every = 0\n\
                    optimizer = { decay = 'weights', weight-decay = 0.01, schedule = 'cosine', \
                    final-fraction = 0.1 }";

/// Bits per byte of every twentieth step. Other instruction sets sum in another order, which these steps
/// amplify, so the comparison leaves room for rounding and for nothing else.
fn trace(changes: &str) -> Vec<f64> {
    let folder = folder();
    let run = folder.path().join("run");
    train_new(&format!("{LONG}\n{changes}"), &run, 2);
    let rows = metrics::read(&run.join("metrics.jsonl")).unwrap();
    assert_eq!(rows.len(), 200);
    rows.iter().filter(|row| row.step.is_multiple_of(20)).map(|row| row.train_bits_per_byte).collect()
}

/// Where the parameters of the recorded trace start, whatever the defaults are now.
const INIT: &str = "model.init = { self-score = 2, logit-scale = 3, embedding-spread = 0.3, \
                    prototype-spread = 0.3, value-gate-bias = 1, attention-radius = 1, \
                    feed-forward-radius = 1 }";

fn golden(changes: &str, expected: [f64; 10]) {
    let found = trace(changes);
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() < 2e-3 * b, "found {found:.4?}, recorded {expected:?}");
    }
}

#[test]
fn the_first_200_steps_of_the_kuramoto_model() {
    golden(INIT, [4.8766, 4.4874, 4.2151, 3.7966, 3.6379, 3.8388, 3.8446, 3.8022, 3.6951, 3.5716]);
}

#[test]
fn the_first_200_steps_of_the_transformer() {
    golden(
        "model.kind = 'transformer'",
        [4.4920, 4.2772, 4.1474, 3.8221, 3.5453, 3.7023, 3.6886, 3.8100, 3.7459, 3.5073],
    );
}

#[test]
fn early_stop_and_test() {
    let folder = folder();
    // At this rate nothing is learned after the first validations.
    let changes = "length = { steps = 400 }\nvalidation = { every = 2, patience = 3, test = true }\n\
                   optimizer.learning-rate = 0.3";
    let summary = train_new(changes, &folder.path().join("run"), 2);
    assert_eq!(summary.ended, Ended::EarlyStop);
    let best = summary.best_step.unwrap();
    assert_eq!(summary.steps, best + 6);
    assert!(summary.test_bits_per_byte.unwrap() > summary.floor_bits_per_byte.unwrap());
    // Resumed, it does not go on past its end.
    let (_, corpus) = tiny("");
    let run = Run::open(&folder.path().join("run")).unwrap();
    let again = train(&run, &corpus, &System, 1, &mut ()).unwrap();
    assert_eq!((again.ended, again.steps), (Ended::EarlyStop, summary.steps));
    // The test was of the best parameters, which eval finds again.
    let split = kuramoto_train::Split::Test;
    let found = kuramoto_train::evaluate::evaluate(
        &run,
        kuramoto_train::Which::Best,
        &corpus,
        split,
        &kuramoto_engine::Cpu::new(1),
    )
    .unwrap();
    assert_eq!((Some(found.bits_per_byte), found.step), (summary.test_bits_per_byte, best));
}

/// Who watches a run need not wait for its summary.
#[test]
fn the_floor_is_listed_from_the_first_row_on() {
    let folder = folder();
    let run = folder.path().join("run");
    let summary = train_new("length = { steps = 2 }", &run, 1);
    std::fs::remove_file(run.join("summary.json")).unwrap();
    let listed = kuramoto_train::listing::Listed::read(&run).unwrap();
    assert!(
        listed.floor_bits_per_byte.is_some() && listed.floor_bits_per_byte == summary.floor_bits_per_byte
    );
}

#[test]
fn a_step_that_is_not_finite_is_not_applied() {
    let folder = folder();
    let bad = "optimizer = { learning-rate = 1e30, warmup = 0, clip = 0 }";
    let (config, corpus) = tiny(bad);
    let path = folder.path().join("stop");
    let run = Run::create(&System, &path, &config, corpus.identity()).unwrap();
    let error = train(&run, &corpus, &System, 2, &mut ()).unwrap_err();
    let Error::BadStep { step, kept, .. } = &error else { panic!("{error}") };
    assert!(error.to_string().contains("was not applied"), "{error}");
    let batch = std::fs::read(kept.join("batch.bytes")).unwrap();
    assert_eq!(batch.len() as u64, config.batch.tokens());
    assert!(kept.join("batch.json").exists() && kept.join("state/manifest.json").exists());
    assert_eq!(kept.file_name().unwrap().to_str().unwrap(), format!("step-{step}"));

    let (config, corpus) = tiny(&format!("{bad}\nbad-steps.policy = 'skip'\nlength = {{ steps = 10 }}"));
    let path = folder.path().join("skip");
    let run = Run::create(&System, &path, &config, corpus.identity()).unwrap();
    let mut watch = Watch::default();
    let summary = train(&run, &corpus, &System, 2, &mut watch).unwrap();
    assert!(summary.bad_steps > 0 && watch.warnings.len() as u64 == summary.bad_steps);
    let rows = metrics::read(&path.join("metrics.jsonl"));
    assert_eq!(rows.unwrap().iter().filter(|row| row.bad.is_some()).count() as u64, summary.bad_steps);
}

/// A validation that is not finite is no result: the state can still be read, and later ones can be better.
#[test]
fn a_validation_that_is_not_finite_is_never_the_best() {
    let folder = folder();
    let path = folder.path().join("run");
    let (config, corpus) = tiny("optimizer = { learning-rate = 1e30, warmup = 0 }\nvalidation.every = 1");
    let run = Run::create(&System, &path, &config, corpus.identity()).unwrap();
    train(&run, &corpus, &System, 2, &mut ()).unwrap_err();
    let found = run.newest(&layout(&run)).unwrap().unwrap();
    assert!(found.loaded.state.best.is_none_or(|best| best.bits_per_byte.is_finite()));
}

/// A bad step ends a run under `stop`, saved, and `skip` takes it past it.
#[test]
fn a_run_that_stopped_at_a_bad_step_can_go_on() {
    let folder = folder();
    let path = folder.path().join("run");
    let (config, corpus) =
        tiny("bad-steps.spike = 1.0\nlength = { steps = 120 }\noptimizer.learning-rate = 0.03");
    let mut run = Run::create(&System, &path, &config, corpus.identity()).unwrap();
    let error = train(&run, &corpus, &System, 2, &mut ()).unwrap_err();
    let Error::BadStep { step, .. } = error else { panic!("{error}") };
    assert_eq!(
        run.newest(&layout(&run)).unwrap().unwrap().loaded.state.step,
        step - 1,
        "the steps before are saved"
    );
    let repeated = train(&run, &corpus, &System, 2, &mut ()).unwrap_err();
    assert!(matches!(repeated, Error::BadStep { step: again, .. } if again == step));
    run.reconfigure(&[kuramoto_train::Overlay::set("--on-bad-step", "bad-steps.policy", "skip")]).unwrap();
    let summary = train(&run, &corpus, &System, 2, &mut ()).unwrap();
    assert!(summary.steps == 120 && summary.bad_steps > 0);
}

#[test]
fn more_memory_than_there_is_is_refused_before_the_first_step() {
    let (mut config, _) = tiny("batch = { lanes = 1024, sequences = 1 }");
    let kuramoto_model::ModelConfig::Kuramoto(model) = &mut config.model else { panic!() };
    (model.width, model.layers, model.heads) = (4096, 60, 1);
    let error = kuramoto_train::check_memory(&config, 30_000, &kuramoto_engine::Cpu::new(2)).unwrap_err();
    // The order of the windows is part of it.
    let (small, _) = tiny("");
    let device = kuramoto_engine::Cpu::new(1);
    let planned = |corpus| kuramoto_train::check_memory(&small, corpus, &device).unwrap();
    let windows = 0.9 * 99e6 / small.batch.context as f64;
    assert!((planned(100_000_000) - planned(1_000_000)) as f64 > 4.0 * windows);
    assert!(matches!(error, Error::Memory { .. }) && error.to_string().contains("MB are free"), "{error}");
}
