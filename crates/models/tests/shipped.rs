//! The shipped models are what their cards say.

use kuramoto_engine::Cpu;
use kuramoto_models::{all, find};
use kuramoto_train::evaluate::evaluate;
use kuramoto_train::{Corpus, Run, Split, Which};
use std::fs;

#[test]
fn every_model_is_proven_by_its_manifest() {
    let cache = tempfile::tempdir().unwrap();
    for model in all() {
        let run = Run::open(&model.unpack(cache.path()).unwrap()).unwrap();
        let (folder, step) = run.checkpoint(Which::Best).unwrap();
        let weights = kuramoto_train::checkpoint::verify(&folder, &run).unwrap();
        let summary = run.summary().unwrap();
        assert_eq!(summary, model.summary());
        assert_eq!(Some(step), summary.best_step, "{}", model.name);
        let card = fs::read_to_string(run.folder().join("README.md")).unwrap();
        assert!(card.contains(&weights), "{card}");
        assert!(card.contains(&format!("{:.4}", summary.validation_bits_per_byte.unwrap())), "{card}");
        assert!(run.config().data.path.is_empty(), "a path of the machine that trained it");
    }
}

#[test]
fn they_take_at_most_ten_megabytes() {
    assert!(all().iter().map(|model| model.bytes()).sum::<usize>() <= 10_000_000);
}

#[test]
fn a_score_is_measured_again() {
    let cache = tempfile::tempdir().unwrap();
    let model = find("tales-kuramoto").unwrap();
    let run = Run::open(&model.unpack(cache.path()).unwrap()).unwrap();
    let corpus = Corpus::of_run(&run, cache.path()).unwrap();
    let found = evaluate(&run, Which::Best, &corpus, Split::Test, &Cpu::all_cores()).unwrap();
    let said = model.summary().test_bits_per_byte.unwrap();
    // Other instructions round otherwise.
    assert!((found.bits_per_byte - said).abs() < 1e-5, "{} measured, {said} said", found.bits_per_byte);
}

#[test]
fn what_was_changed_in_the_cache_is_written_again() {
    let cache = tempfile::tempdir().unwrap();
    let model = find("tales-kuramoto").unwrap();
    let folder = model.unpack(cache.path()).unwrap();
    fs::write(folder.join("corpus.json"), "nonsense").unwrap();
    fs::remove_file(folder.join("best")).unwrap();
    assert_eq!(model.unpack(cache.path()).unwrap(), folder);
    Run::open(&folder).unwrap().checkpoint(Which::Best).unwrap();
}
