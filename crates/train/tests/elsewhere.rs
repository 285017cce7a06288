//! Runs whose steps another program took.

use kuramoto_engine::{Arenas, Cpu};
use kuramoto_model::{Kuramoto, ModelConfig, Weights};
use kuramoto_train::config::Config;
use kuramoto_train::data::Split;
use kuramoto_train::disk::System;
use kuramoto_train::elsewhere::{Elsewhere, save};
use kuramoto_train::run::Ended;
use kuramoto_train::{Corpus, CorpusOptions, Overlay, Row, Run, Session, Setting, Which};

const KEYS: &str = "data.bytes = 30000\nlength = { steps = 8 }\nbatch = { sequences = 4, context = 32 }\n\
                    model = { width = 8, layers = 2 }\nvalidation = { windows = 10, every = 4 }";

struct World {
    _folder: tempfile::TempDir,
    run: std::path::PathBuf,
    corpus: Corpus,
    config: Config,
    parameters: Vec<f32>,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::from_overlays(&[Overlay::parse("test", KEYS).unwrap()]).unwrap();
        let corpus = Corpus::open(&config.source().unwrap(), folder.path()).unwrap();
        config.resolve(corpus.identity()).unwrap();
        let ModelConfig::Kuramoto(model) = config.model.clone() else { panic!("a Kuramoto model") };
        let network = Kuramoto::new(model, config.batch.context).unwrap();
        let parameters = Weights::<f32, _>::initialized(network, 5).parameters().to_vec();
        World { run: folder.path().join("run"), _folder: folder, corpus, config, parameters }
    }

    fn save(
        &self,
        step: u64,
        device: &str,
        moments: Option<(&[f32], &[f32])>,
    ) -> kuramoto_train::Result<Run> {
        let row = |step: u64| Row {
            step,
            train_bits_per_byte: 5.0,
            validation_bits_per_byte: step.is_multiple_of(4).then_some(6.0 - step as f64 / 10.0),
            learning_rate: f64::NAN,
            ..Row::default()
        };
        let rows: Vec<Row> = (1..=step).map(row).collect();
        let arenas = Arenas { parameters: &self.parameters, moments };
        let from = Elsewhere {
            config: &self.config,
            corpus: self.corpus.identity(),
            arenas,
            step,
            rows: &rows,
            test_bits_per_byte: None,
            device,
            locked: false,
        };
        save(&System, &self.run, &from)
    }
}

#[test]
fn it_is_a_run_like_any_other_and_grows() {
    let world = World::new();
    let first = world.save(4, "other", None).unwrap();
    assert_eq!(first.summary().unwrap().ended, Ended::Interrupted);
    let run = world.save(8, "other", None).unwrap();
    let summary = run.summary().unwrap();
    assert_eq!(
        (summary.ended, summary.best_step, summary.device.as_str()),
        (Ended::Finished, Some(8), "other")
    );
    let (weights, state) = Run::open(&world.run).unwrap().kuramoto(Which::Best).unwrap();
    assert_eq!((weights.parameters(), state.step), (&world.parameters[..], 8));
    assert_eq!(run.kuramoto(Which::Step(4)).unwrap().1.step, 4);
    // What was not measured is read back as NaN, not as a damaged row.
    let rows = kuramoto_train::metrics::read(&world.run.join("metrics.jsonl")).unwrap();
    assert_eq!(rows.len(), 8);
    assert_eq!((rows[0].device.as_deref(), &rows[1].device), (Some("other"), &None));
    let found =
        kuramoto_train::evaluate::evaluate(&run, Which::Last, &world.corpus, Split::Test, &Cpu::new(1));
    assert!(found.unwrap().bits_per_byte.is_finite());
}

#[test]
fn with_moments_training_goes_on_here() {
    let world = World::new();
    let zeros = vec![0.0; world.parameters.len()];
    world.save(4, "other", Some((&zeros, &zeros))).unwrap();
    let device = Cpu::new(1);
    let mut session =
        Session::resume(&world.run, &[], None, &CorpusOptions::default(), Setting::new(&device)).unwrap();
    let summary = session.train(&mut ()).unwrap();
    assert_eq!((summary.steps, summary.ended), (8, Ended::Finished));
}

#[test]
fn a_run_with_nothing_left_to_train_keeps_its_device() {
    let world = World::new();
    let zeros = vec![0.0; world.parameters.len()];
    world.save(8, "other", Some((&zeros, &zeros))).unwrap();
    let device = Cpu::new(1);
    let resumed = |steps: &str| {
        let longer = Overlay::set("test", "length.steps", steps);
        let corpora = CorpusOptions::default();
        let mut session =
            Session::resume(&world.run, &[longer], None, &corpora, Setting::new(&device)).unwrap();
        session.train(&mut ()).unwrap().device
    };
    assert_eq!(resumed("8"), "other");
    assert!(resumed("9").starts_with("cpu"));
}

#[test]
fn nothing_of_others_is_overwritten() {
    let world = World::new();
    world.save(8, "other", None).unwrap();
    let refused = |error: kuramoto_train::Error, says: &str| {
        assert!(error.to_string().contains(says), "{error}");
    };
    refused(world.save(8, "another", None).unwrap_err(), "not computed by another");
    refused(world.save(9, "other", None).unwrap_err(), "a run of 8 steps");
    refused(world.save(8, "other", None).unwrap_err(), "a checkpoint of step 8 already");
    refused(world.save(4, "other", None).unwrap_err(), "a checkpoint of step 8 already");
    let mut other = World { config: world.config.clone(), ..World::new() };
    other.config.seed = 7;
    other.run.clone_from(&world.run);
    refused(other.save(8, "other", None).unwrap_err(), "another configuration");
    let mut broken = World::new();
    broken.parameters[3] = f32::NAN;
    refused(broken.save(8, "other", None).unwrap_err(), "finite");
    assert!(!broken.run.exists());
}
