//! The policy `continue`: spikes are trained through, and a step that is not finite ends the run before it.

mod common;

use common::*;
use kuramoto_engine::{
    Arenas, Batch, Cpu, Device, Engine, Evaluator, Group, Result as EngineResult, Shape, SingleProcess,
    Update,
};
use kuramoto_model::{Layout, ModelConfig};
use kuramoto_train::config::{Config, Policy};
use kuramoto_train::disk::System;
use kuramoto_train::listing::Listed;
use kuramoto_train::run::Ended;
use kuramoto_train::{Error, Overlay, Run, Session, Setting, Summary, checkpoint, metrics};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The processor, but at one step the loss or the gradient is not finite.
struct NanAt {
    step: u64,
    loss: f64,
    norm: f64,
}

impl Device for NanAt {
    fn planned_bytes(&self, model: &ModelConfig, shape: &Shape) -> EngineResult<usize> {
        Cpu::new(1).planned_bytes(model, shape)
    }

    fn evaluation_bytes(&self, model: &ModelConfig, context: usize) -> EngineResult<usize> {
        Cpu::new(1).evaluation_bytes(model, context)
    }

    fn engine(&self, model: &ModelConfig, shape: &Shape) -> EngineResult<Box<dyn Engine>> {
        let NanAt { step, loss, norm } = *self;
        let inner = Cpu::new(1).engine(model, shape)?;
        Ok(Box::new(Spoiled { inner, at: NanAt { step, loss, norm }, now: false }))
    }

    fn evaluator(
        &self,
        model: &ModelConfig,
        context: usize,
        parameters: &[f32],
    ) -> EngineResult<Box<dyn Evaluator>> {
        Cpu::new(1).evaluator(model, context, parameters)
    }

    fn group(&self) -> Arc<dyn Group> {
        Arc::new(SingleProcess)
    }

    fn threads(&self, _: &Shape) -> usize {
        1
    }
}

struct Spoiled {
    inner: Box<dyn Engine>,
    at: NanAt,
    now: bool,
}

impl Evaluator for Spoiled {
    fn evaluate(&mut self, batch: &Batch<'_>, sums: &mut [f64]) -> EngineResult<()> {
        self.inner.evaluate(batch, sums)
    }
}

impl Engine for Spoiled {
    fn device(&self) -> &str {
        "spoiled"
    }

    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    fn start(&mut self, seed: u64) -> EngineResult<()> {
        self.inner.start(seed)
    }

    fn load(&mut self, arenas: Option<Arenas<'_>>) -> EngineResult<()> {
        self.inner.load(arenas)
    }

    fn gradient(&mut self, batch: &Batch<'_>, seed: u64, step: u64) -> EngineResult<f64> {
        self.now = step == self.at.step;
        let loss = self.inner.gradient(batch, seed, step)?;
        Ok(if self.now { loss + self.at.loss } else { loss })
    }

    fn norm(&mut self) -> EngineResult<f64> {
        let norm = self.inner.norm()?;
        Ok(if self.now { norm + self.at.norm } else { norm })
    }

    fn update(&mut self, update: &Update, norm: f64) -> EngineResult<()> {
        self.inner.update(update, norm)
    }

    fn parameters(&mut self) -> EngineResult<&[f32]> {
        self.inner.parameters()
    }

    fn arenas(&mut self) -> EngineResult<Arenas<'_>> {
        self.inner.arenas()
    }
}

/// Trains a run whose step `at` is not finite.
fn spoiled(changes: &str, folder: &Path, at: &NanAt) -> Summary {
    let (config, corpus) = tiny(&format!("bad-steps.policy = 'continue'\n{changes}"));
    let run = Run::create(&System, folder, &config, corpus.identity()).unwrap();
    let mut session = Session::open(run, corpus, Setting::new(at)).unwrap().unwrap();
    session.train(&mut ()).unwrap()
}

/// Finite parameters that make the next loss infinite or NaN.
const WILD: &str = "length.steps = 40\nbad-steps.policy = 'continue'\n\
                    optimizer = { learning-rate = 1e30, warmup = 0, clip = 0 }";

fn not_finite(changes: &str, folder: &Path) -> (Summary, Vec<String>) {
    let (config, corpus) = tiny(changes);
    let run = Run::create(&System, folder, &config, corpus.identity()).unwrap();
    let mut watch = Watch::default();
    let summary = train(&run, &corpus, &System, 2, &mut watch).unwrap();
    assert_eq!(summary.ended, Ended::NonFinite);
    (summary, watch.warnings)
}

/// Every file below a folder and what it holds.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry))
        } else {
            drop(found.insert(entry.clone(), fs::read(entry).unwrap()))
        }
    }
    found
}

#[test]
fn the_papers_protocol_continues_and_the_tuned_one_stops() {
    for preset in ["quick", "1m", "5m"] {
        for (protocol, policy) in [("paper", Policy::Continue), ("tuned", Policy::Stop)] {
            let keys = format!("preset = '{preset}'\nprotocol = '{protocol}'");
            let config = Config::from_overlays(&[Overlay::parse("keys", &keys).unwrap()]).unwrap();
            assert_eq!(config.bad_steps.policy, policy, "{preset}, {protocol}");
        }
    }
    let (config, _) = tiny("bad-steps.policy = 'continue'");
    assert!(config.to_toml().contains("policy = \"continue\""));
}

/// Spikes are steps like any other: the run is the one that looks for none.
#[test]
fn spikes_are_trained_through() {
    let folder = folder();
    let spiky = "length = { steps = 120 }\noptimizer.learning-rate = 0.03\nbad-steps.spike";
    let (config, corpus) = tiny(&format!("{spiky} = 1.0"));
    let run = Run::create(&System, &folder.path().join("stop"), &config, corpus.identity()).unwrap();
    let error = train(&run, &corpus, &System, 2, &mut ()).unwrap_err();
    assert!(matches!(error, Error::BadStep { .. }), "the test needs a spike: {error}");
    let (through, blind) = (folder.path().join("through"), folder.path().join("blind"));
    let summary = train_new(&format!("{spiky} = 1.0\nbad-steps.policy = 'continue'"), &through, 2);
    assert_eq!((summary.ended, summary.steps, summary.bad_steps), (Ended::Finished, 120, 0));
    assert_eq!(summary.non_finite_step, None);
    train_new(&format!("{spiky} = 0"), &blind, 2);
    assert_eq!(outcome(&through), outcome(&blind));
    assert!(!fs::read_to_string(through.join("summary.json")).unwrap().contains("non_finite"));
}

#[test]
fn a_loss_that_is_not_finite_ends_the_run_before_that_step() {
    let folder = folder();
    let path = folder.path().join("run");
    let changes = format!("{WILD}\nvalidation = {{ every = 1, test = true }}");
    let (summary, warnings) = not_finite(&changes, &path);
    let step = summary.non_finite_step.unwrap();
    assert!(step > 1 && summary.steps == step - 1, "{summary:?}");
    assert!(warnings.iter().any(|text| text.contains(&format!("step {step}: the "))), "{warnings:?}");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(path.join("summary.json")).unwrap()).unwrap();
    assert_eq!((json["ended"].as_str(), json["non_finite_step"].as_u64()), (Some("non-finite"), Some(step)));
    // The last checkpoint is of the step before, and good.
    let run = Run::open(&path).unwrap();
    let found = run.newest(&layout(&run)).unwrap().unwrap();
    assert!(found.refused.is_empty() && found.loaded.state.step == step - 1);
    assert!(found.loaded.parameters.iter().all(|x| x.is_finite()));
    assert_eq!(fs::read_to_string(path.join("last")).unwrap(), format!("step-{}\n", step - 1));
    // Its row says why, and its batch is kept.
    let rows = metrics::read(&path.join("metrics.jsonl")).unwrap();
    assert_eq!(rows.last().map(|row| (row.step, row.bad.is_some())), Some((step, true)));
    assert!(path.join(format!("bad-steps/step-{step}/state/manifest.json")).exists());
    assert_eq!(Listed::read(&path).unwrap().status, format!("not finite from step {step}"));
}

/// The same step would not be finite again.
#[test]
fn resuming_such_a_run_changes_nothing() {
    let folder = folder();
    let path = folder.path().join("run");
    let (summary, _) = not_finite(WILD, &path);
    let before = files(&path);
    let (_, corpus) = tiny(WILD);
    let mut run = Run::open(&path).unwrap();
    assert_eq!(train(&run, &corpus, &System, 1, &mut ()).unwrap(), summary);
    let mut after = files(&path);
    after.remove(&path.join("lock"));
    assert!(before.iter().filter(|(file, _)| !file.ends_with("lock")).eq(after.iter()));
    // Another policy takes it further.
    run.reconfigure(&[Overlay::set("--on-bad-step", "bad-steps.policy", "skip")]).unwrap();
    let skipped = train(&run, &corpus, &System, 1, &mut ());
    assert!(!matches!(skipped, Ok(Summary { ended: Ended::NonFinite, .. })), "{skipped:?}");
}

/// A process that died before the summary was written is made up for.
#[test]
fn the_same_end_is_found_again() {
    let folder = folder();
    let path = folder.path().join("run");
    let (summary, _) = not_finite(WILD, &path);
    let expected = outcome_curve(&path);
    fs::remove_file(path.join("summary.json")).unwrap();
    let (_, corpus) = tiny(WILD);
    let again = train(&Run::open(&path).unwrap(), &corpus, &System, 1, &mut ()).unwrap();
    assert_eq!((again.ended, again.steps), (summary.ended, summary.steps));
    assert_eq!(again.non_finite_step, summary.non_finite_step);
    let bits = |curve: Vec<f64>| curve.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(outcome_curve(&path)), bits(expected));
}

/// An update may spoil the parameters without its loss showing it; the run ends with the newest good ones.
#[test]
fn parameters_that_are_not_finite_are_left_behind() {
    for every in [1, 100] {
        let folder = folder();
        let path = folder.path().join("run");
        let changes = format!(
            "length.steps = 40\nbad-steps.policy = 'continue'\nvalidation.every = 100\n\
             optimizer = {{ learning-rate = 1e39, warmup = 6, schedule = 'constant' }}\n\
             checkpoints = {{ every = {every}, keep = 0 }}"
        );
        let (summary, warnings) = not_finite(&changes, &path);
        assert!(warnings.iter().any(|text| text.contains("parameters were not finite")), "{warnings:?}");
        assert!(summary.steps < summary.non_finite_step.unwrap());
        let run = Run::open(&path).unwrap();
        let last = checkpoint::load(&checkpoint::folder(&path, summary.steps), &run, &layout(&run), true);
        assert!(last.unwrap().parameters.iter().all(|x| x.is_finite()));
    }
}

/// The steps before are those of any run, and the best of them is tested.
#[test]
fn what_was_good_before_is_kept() {
    let folder = folder();
    for (name, loss, norm) in [("loss", f64::NAN, 0.0), ("gradient", 0.0, f64::INFINITY)] {
        let (path, good) = (folder.path().join(name), folder.path().join(format!("{name}-good")));
        let changes = "validation.test = true\noptimizer.schedule = 'constant'";
        let summary = spoiled(changes, &path, &NanAt { step: 11, loss, norm });
        assert_eq!((summary.ended, summary.steps), (Ended::NonFinite, 10));
        assert_eq!(summary.non_finite_step, Some(11));
        let expected = train_new(&format!("{changes}\nlength.steps = 8"), &good, 1);
        assert_eq!(summary.best_step, Some(8), "nothing is validated besides its time");
        assert_eq!(summary.validation_bits_per_byte, expected.validation_bits_per_byte);
        assert_eq!(summary.test_bits_per_byte, expected.test_bits_per_byte);
        let read = fs::read_to_string;
        assert_eq!(read(path.join("best")).unwrap(), "step-8\n");
        assert_eq!(read(path.join("last")).unwrap(), "step-10\n");
    }
}

/// A device that computed no step that counts is in none of the lists.
#[test]
fn a_device_that_fails_at_once_is_not_listed() {
    let folder = folder();
    let path = folder.path().join("run");
    let (config, corpus) = tiny("bad-steps.policy = 'continue'");
    let run = Run::create(&System, &path, &config, corpus.identity()).unwrap();
    train(&run, &corpus, &System, 1, &mut StopAfter(5)).unwrap();
    let at = NanAt { step: 6, loss: f64::NAN, norm: 0.0 };
    let summary = Session::open(run, corpus, Setting::new(&at)).unwrap().unwrap().train(&mut ()).unwrap();
    assert_eq!((summary.steps, summary.non_finite_step), (5, Some(6)));
    assert!(summary.device.starts_with("cpu") && summary.devices.is_empty(), "{summary:?}");
    let run = Run::open(&path).unwrap();
    let devices = run.newest(&layout(&run)).unwrap().unwrap().loaded.state.devices;
    assert_eq!(devices.iter().map(|stretch| stretch.from_step).collect::<Vec<_>>(), [1]);
    // The row of the step says what computed it.
    let rows = metrics::read(&path.join("metrics.jsonl")).unwrap();
    assert_eq!(rows.last().and_then(|row| row.device.as_deref()), Some("spoiled"));
}

/// A run that is not finite from its first step on is saved as it started.
#[test]
fn the_first_step() {
    let folder = folder();
    let path = folder.path().join("run");
    let summary = spoiled("validation.test = true", &path, &NanAt { step: 1, loss: f64::NAN, norm: 0.0 });
    assert_eq!((summary.steps, summary.non_finite_step), (0, Some(1)));
    assert_eq!((summary.validation_bits_per_byte, summary.test_bits_per_byte), (None, None));
    let run = Run::open(&path).unwrap();
    assert!(checkpoint::load(&checkpoint::folder(&path, 0), &run, &layout(&run), true).is_ok());
    assert_eq!(run.summary(), Some(summary));
}
