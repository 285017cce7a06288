//! New runs that start from the parameters or the configuration of another.

mod common;

use common::{TINY, folder, layout, train_new};
use kuramoto_engine::Cpu;
use kuramoto_train::compare::Comparison;
use kuramoto_train::data::Source;
use kuramoto_train::disk::System;
use kuramoto_train::{Config, Corpus, NewRun, Overlay, Run, Session, Setting, Which, checkpoint};
use std::fs;
use std::path::Path;

fn new(keys: &str, folder: &Path) -> NewRun {
    let overlays = vec![Overlay::parse("keys", keys).unwrap()];
    let corpora = kuramoto_train::CorpusOptions { cache: Some(folder.join("cache")), download: None };
    NewRun { overlays, folder: Some(folder.join("new")), corpora, ..Default::default() }
}

/// Another corpus: some bytes of tales, some that are new.
fn other_corpus(folder: &Path) -> String {
    let path = folder.join("other.txt");
    let text: String = (0..3000).map(|i| ["abc #", "12 def ", "Anna. "][i % 3]).collect();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

#[test]
fn rows_are_taken_byte_by_byte() {
    let folder = folder();
    let old = folder.path().join("old");
    for kind in ["kuramoto", "transformer"] {
        fs::remove_dir_all(&old).ok();
        fs::remove_dir_all(folder.path().join("new")).ok();
        train_new(&format!("model.kind = '{kind}'\nmodel.layers = 1"), &old, 1);
        let keys = format!(
            "data.corpus = '{}'\nbatch = {{ sequences = 2, context = 16 }}\nlength.steps = 2\n\
             optimizer.learning-rate = 1e-30\ninit-from.run = '{}'",
            other_corpus(folder.path()),
            old.display()
        );
        let device = Cpu::new(1);
        let mut session = Session::create(&new(&keys, folder.path()), Setting::new(&device)).unwrap();
        session.train(&mut ()).unwrap();

        let (old, run) = (Run::open(&old).unwrap(), Run::open(&folder.path().join("new")).unwrap());
        let (from, to) = (layout(&old), layout(&run));
        let (a, b) = (old.load(Which::Best, &from).unwrap(), run.load(Which::Last, &to).unwrap());
        let (known, vocabulary) = (old.corpus().tokens(), &run.corpus().vocabulary);
        let (mut taken, mut fresh) = (0, 0);
        for tensor in to.tensors() {
            let (x, y) = (from.find(&tensor.name).unwrap().slot, tensor.slot);
            let (x, y) = (x.slice(&a.parameters), y.slice(&b.parameters));
            if !tensor.has_a_row_per_byte() {
                assert_eq!(x, y, "{}", tensor.name);
                continue;
            }
            let width = y.len() / vocabulary.len();
            for (row, byte) in y.chunks(width).zip(vocabulary) {
                match known[usize::from(*byte)] {
                    Some(token) => {
                        assert_eq!(row, &x[usize::from(token) * width..][..width], "{}", tensor.name);
                        taken += 1;
                    }
                    None => fresh += 1,
                }
            }
        }
        assert!(taken > 0 && fresh > 0, "{taken} rows taken, {fresh} new");
        let saved = run.config().init_from.clone().unwrap();
        assert_eq!(saved.step, a.state.step);
        let new_bytes = vocabulary.iter().filter(|&&byte| known[usize::from(byte)].is_none()).count();
        assert_eq!(saved.known_bytes, vocabulary.len() - new_bytes);
        assert_eq!(saved.sha256, checkpoint::verify(&old.checkpoint(Which::Best).unwrap().0, &old).unwrap());
        // The provenance is part of what identifies the run, wherever the other run is now.
        let mut config = run.config().clone();
        config.init_from.as_mut().unwrap().run = "elsewhere".into();
        assert_eq!(checkpoint::fingerprint(&config), checkpoint::fingerprint(run.config()));
        config.init_from = None;
        assert_ne!(checkpoint::fingerprint(&config), checkpoint::fingerprint(run.config()));
    }
}

#[test]
fn another_model_cannot_be_started_from() {
    let folder = folder();
    let old = folder.path().join("old");
    train_new("", &old, 1);
    let message = |keys: &str| {
        let keys = format!("data.bytes = 30000\ninit-from.run = '{}'\n{keys}", old.display());
        let device = Cpu::new(1);
        let error = Session::create(&new(&keys, folder.path()), Setting::new(&device)).err().unwrap();
        assert!(!folder.path().join("new").exists(), "nothing is left behind");
        error.to_string()
    };
    assert!(message("model.width = 16").contains("not alike"));
    assert!(message("model.layers = 3").contains("not alike"));
    assert!(message("model.kind = 'transformer'").contains("a transformer cannot start from it"));
    assert!(message("init-from.checkpoint = 'first'").contains("choose best, last or step-N"));
    assert!(message("init-from.chekpoint = 'best'").contains("chekpoint"));
}

/// A saved configuration holds what its corpus and budget decided; for a new run that is decided anew.
#[test]
fn a_saved_configuration_starts_a_new_run() {
    let folder = folder();
    let tiny = TINY.replace("width = 8, ", "");
    let keys = format!("budget = 3000\n{tiny}");
    let device = Cpu::new(1);
    let first = new(&keys, folder.path()).prepare(&device).unwrap().config;
    let text = first.to_toml();
    assert!(text.contains("sha256 = \"") && first.model.width() > 0);
    let open = || Overlay::parse("config.toml", &text).unwrap().for_new_run();
    let again = |more: Overlay| {
        let overlays = vec![open(), more];
        NewRun { overlays, ..new("", folder.path()) }.prepare(&device).unwrap().config
    };
    assert_eq!(again(Overlay::set("none", "seed", "5")), first, "the same corpus gives the same again");
    let other = again(Overlay::text("--data", "data.corpus", &other_corpus(folder.path())));
    assert!(other.model.vocab() < first.model.vocab());
    assert!(other.model.width() >= first.model.width(), "matched to the budget again");
    assert_eq!(other.optimizer, first.optimizer);
    // A width that was given is kept.
    let mut given = first.clone();
    *given.model.width_mut() = 16;
    let overlay = Overlay::parse("config.toml", &given.to_toml()).unwrap().for_new_run();
    assert_eq!(overlay.table["model"]["width"].as_integer(), Some(16));
}

#[test]
fn what_differs_from_the_preset_is_found() {
    let resolved = |keys: &str, ablations: &[&str]| {
        let mut config = Config::from_overlays(&[Overlay::parse("keys", keys).unwrap()]).unwrap();
        config.model.ablate(ablations).unwrap();
        let corpus = Corpus::open(&Source::find("tales", "", 100_000).unwrap(), Path::new("unused")).unwrap();
        config.resolve(corpus.identity()).unwrap();
        config
    };
    assert_eq!(resolved("", &[]).changes_in_words(), "");
    assert_eq!(resolved("seed = 3\nmodel.kind = 'transformer'", &[]).changes_in_words(), "");
    assert_eq!(resolved("", &["no-value-gate"]).changes_in_words(), "no-value-gate");
    assert_eq!(resolved("", &["wrapped-angles"]).changes_in_words(), "wrapped-angles");
    assert_eq!(
        resolved("optimizer.learning-rate = 0.01\nmodel.layers = 2", &["linear-gates"]).changes_in_words(),
        "linear-gates, model.layers=2, optimizer.learning-rate=0.01"
    );
    assert_eq!(resolved("model.width = 8", &[]).changes_in_words(), "model.width=8");
    assert_eq!(resolved("budget = 20000", &[]).changes_in_words(), "budget=20000");
    assert_eq!(resolved("length.tokens = 9000", &[]).changes_in_words(), "length.tokens=9000");
    // As an old run of the preset, which had another budget then.
    assert_eq!(resolved("model.metric = 'none'", &[]).changes_in_words(), "no-metric-gates");
}

#[test]
fn runs_are_compared_noted_and_removed() {
    let folder = folder();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    train_new("", &a, 1);
    train_new("optimizer.learning-rate = 0.02\nvalidation.every = 2", &b, 1);
    let found = Comparison::read(&a, &b).unwrap();
    let keys: Vec<&str> = found.settings.iter().map(|setting| setting.key.as_str()).collect();
    assert_eq!(keys, ["optimizer.learning-rate", "validation.every"]);
    let steps: Vec<[u64; 2]> = found.curve.iter().map(|point| point.steps).collect();
    assert_eq!(steps, [[4, 4], [8, 8], [12, 12]]);
    assert!(found.same_corpus() && found.difference().is_some_and(|difference| difference != 0.0));

    let run = Run::open(&a).unwrap();
    let mut notes = run.notes().unwrap();
    notes.note = "the first".into();
    notes.tags.insert("keep".into());
    run.save_notes(&System, &notes).unwrap();
    assert_eq!(run.notes().unwrap(), notes);
    fs::write(a.join("notes.json"), "mine").unwrap();
    assert!(run.notes().unwrap_err().to_string().contains("holds no notes"));

    let held = run.lock().unwrap().unwrap();
    assert!(run.clone().remove().unwrap_err().to_string().contains("a process is training"));
    assert!(a.join("config.toml").exists());
    drop(held);
    run.remove().unwrap();
    assert!(!a.exists() && b.exists());
}
