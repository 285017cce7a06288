//! A published model has the weights and scores of its run, and is there completely or not at all.

mod common;

use common::*;
use kuramoto_train::disk::System;
use kuramoto_train::listing::Listed;
use kuramoto_train::publish::publish;
use kuramoto_train::{Run, Which, checkpoint, hugging_face, metrics};
use std::fs;

#[test]
fn it_has_the_weights_of_the_run_and_cannot_be_resumed() {
    let folder = folder();
    let run = folder.path().join("run");
    let summary = train_new("", &run, 1);
    let (run, model) = (Run::open(&run).unwrap(), folder.path().join("model"));
    publish(&System, &run, Which::Best, &model).unwrap();

    let published = Run::open(&model).unwrap();
    let layout = layout(&run);
    let weights = |run: &Run| run.load(Which::Best, &layout).unwrap().parameters;
    assert_eq!(weights(&published), weights(&run));
    let scores = published.summary().unwrap();
    assert_eq!(scores.validation_bits_per_byte, summary.validation_bits_per_byte);
    assert_eq!(scores.run.to_str(), Some("model"));
    let rows = metrics::read(&model.join("metrics.jsonl")).unwrap();
    assert_eq!(rows.iter().map(|row| row.step).collect::<Vec<_>>(), [4, 8, 12]);
    let step = published.step(Which::Best).unwrap();
    assert!(!checkpoint::folder(&model, step).join("optimizer.safetensors").exists());

    // Not when it was copied.
    assert!(Listed::read(run.folder()).unwrap().started.is_some());
    assert_eq!(Listed::read(&model).unwrap().started, None);

    let (_, corpus) = tiny("");
    let refusal = train(&published, &corpus, &System, 1, &mut ()).unwrap_err().to_string();
    assert!(refusal.contains("weights only") && refusal.contains("--init-from"), "{refusal}");
    // What is there is never overwritten.
    let refusal = publish(&System, &run, Which::Best, &model).unwrap_err().to_string();
    assert!(refusal.contains("is there already"), "{refusal}");
}

#[test]
fn a_disk_that_fails_leaves_nothing_and_the_next_attempt_works() {
    let folder = folder();
    train_new("", &folder.path().join("run"), 1);
    let run = Run::open(&folder.path().join("run")).unwrap();
    let whole = Faulty::new(usize::MAX, 0);
    publish(&whole, &run, Which::Best, &folder.path().join("whole")).unwrap();
    let model = folder.path().join("model");
    for from in 0..whole.count() {
        publish(&Faulty::new(from, usize::MAX), &run, Which::Best, &model).unwrap_err();
        assert!(!model.exists(), "operation {from}");
        publish(&System, &run, Which::Best, &model).unwrap();
        Run::open(&model).unwrap().checkpoint(Which::Best).unwrap();
        fs::remove_dir_all(&model).unwrap();
    }
}

#[test]
fn the_layout_of_transformers_has_its_code_and_the_weights_under_its_names() {
    let folder = folder();
    train_new("", &folder.path().join("run"), 1);
    let run = Run::open(&folder.path().join("run")).unwrap();
    let export = folder.path().join("export");
    hugging_face::write(&System, &run, Which::Best, &export).unwrap();
    let bytes = fs::read(export.join("model.safetensors")).unwrap();
    let layout = layout(&run);
    let weights = checkpoint::arena(&export, &bytes, &layout, "lm.").unwrap();
    assert_eq!(weights, run.load(Which::Best, &layout).unwrap().parameters);
    let config: serde_json::Value =
        serde_json::from_slice(&fs::read(export.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["model"]["kind"], run.config().model.kind().name());
    for map in config["auto_map"].as_object().unwrap().values() {
        let file = map.as_str().unwrap().split('.').next().unwrap();
        assert!(export.join(format!("{file}.py")).exists(), "{file}");
    }
    let refusal = hugging_face::write(&System, &run, Which::Best, &export).unwrap_err().to_string();
    assert!(refusal.contains("is there already"), "{refusal}");
}
