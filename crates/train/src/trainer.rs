//! The training loop.
//!
//! A step reads its windows, which depend on (seed, epoch, step) only; takes the gradient; clips; applies
//! AdamW. The whole state is the arenas and [`State`], so a run that is stopped anywhere and resumed gives
//! the same bits as one that was not. An [`Observer`] follows what happens; nothing is printed here.
//!
//! Several processes may train together ([`Device::group`](kuramoto_engine::Device::group)): all hold the
//! same state and take the same decisions, and process 0 alone reads and writes the run folder.

use crate::checkpoint::{self, Snapshot};
use crate::config::{Config, Decay, Policy};
use crate::data::{Corpus, Split};
use crate::error::{At, Error, Result};
use crate::evaluate::bits_per_byte;
use crate::metrics::{Rewind, Row};
use crate::recorder::{ROWS, Recorder};
use crate::run::{Ended, Run, Summary, Which};
use crate::setting::{Observer, Setting, TrainingPlan, check_memory};
use crate::start::Start;
use crate::state::State;
use crate::windows::{self, Sampler, Window};
use kuramoto_engine::{Arenas, Batch, Engine, Group, Update};
use kuramoto_model::{ParameterKind, Tensor};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Trains a run from where it is to its end, or until it is asked to stop.
pub(crate) fn train(
    run: &Run,
    corpus: &Corpus,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    corpus.check_same(run.corpus())?;
    Trainer::new(run, corpus, setting, observer)?.train()
}

/// Consecutive bad steps after which skipping gives up.
const MOST_BAD: u64 = 20;

struct Trainer<'a> {
    engine: Box<dyn Engine>,
    group: Arc<dyn Group>,
    run: &'a Run,
    corpus: &'a Corpus,
    setting: &'a Setting<'a>,
    observer: &'a mut dyn Observer,
    sampler: Sampler,
    validation: Vec<Window>,
    floor: Option<f64>,
    steps: u64,
    state: State,
    /// Of process 0.
    recorder: Option<Recorder>,
    tokens: Vec<u8>,
    targets: Vec<u8>,
    /// The last step that is safe on disk.
    saved: Option<u64>,
    /// Of all threads of all processes, where it was measured.
    peak_flops: Option<f64>,
    /// Seconds of steps of this process, and of their exchanges.
    worked: (f64, f64),
}

impl<'a> Trainer<'a> {
    fn new(
        run: &'a Run,
        corpus: &'a Corpus,
        setting: &'a Setting<'a>,
        observer: &'a mut dyn Observer,
    ) -> Result<Self> {
        let config = run.config();
        let batch = &config.batch;
        let sampler = config.sampler(corpus.identity())?;
        let validation =
            windows::sample(corpus.split(Split::Validation), batch.context, config.validation.windows);
        if validation.is_empty() {
            return Err(Error::corpus(
                &corpus.identity().name,
                "its validation split has fewer than two bytes",
            ));
        }
        let steps = config.steps(&sampler);
        let (shape, group) = (config.shape(), setting.device.group());
        let planned = check_memory(config, setting.device)?;
        let mut engine = setting.device.engine(&config.model, &shape)?;
        let start = Start::find(engine.layout(), run, steps, setting)?;
        let saved = start.state.as_ref().map(|state| state.step);
        let state = start.state.clone().unwrap_or_default();
        let rows = match setting.leads() {
            true => Some(Rewind::read(&run.folder().join(ROWS), state.step)?),
            false => None,
        };
        // Everything is known to be good: only now is anything changed.
        start.restore(&mut *engine, run, setting, observer)?;
        let mut recorder = None;
        if let Some(rows) = rows {
            for line in &rows.damaged {
                observer.warning(&format!("line {line} of {ROWS} is no row; it stays as it is"));
            }
            run.save_config(setting.disk)?;
            recorder = Some(Recorder::resume(setting.disk, run, state.step, &rows)?);
            // An old summary is void once training goes on.
            if state.step < steps {
                run.remove_summary(setting.disk)?;
            }
        }
        let threads = setting.device.threads(&shape);
        let trainer = Trainer {
            peak_flops: setting.core_peak_flops.map(|peak| peak * (threads * group.size()) as f64),
            floor: corpus.floor(&validation),
            tokens: vec![0; batch.sequences * batch.context],
            targets: vec![0; batch.sequences * batch.context],
            recorder,
            engine,
            group,
            run,
            corpus,
            setting,
            observer,
            sampler,
            validation,
            steps,
            state,
            saved,
            worked: (0.0, 0.0),
        };
        trainer.observer.plan(&TrainingPlan {
            run: run.folder().to_path_buf(),
            config: config.clone(),
            corpus: corpus.identity().name.clone(),
            parameters: trainer.engine.layout().count(),
            steps,
            done: trainer.state.step,
            steps_per_epoch: trainer.sampler.steps_per_epoch(),
            planned_bytes: planned,
            splits: [Split::Train, Split::Validation, Split::Test].map(|split| corpus.split(split).len()),
            vocabulary: corpus.identity().vocabulary.len(),
            validation_bytes: trainer.validation.iter().map(|window| window.len).sum(),
            floor: trainer.floor,
            device: trainer.engine.device().into(),
            threads,
            processes: trainer.group.size(),
        });
        Ok(trainer)
    }

    fn train(mut self) -> Result<Summary> {
        let mut ended = Ended::Finished;
        while self.state.step < self.steps {
            if self.patience_is_over() {
                ended = Ended::EarlyStop;
                break;
            }
            if self.agree_to_stop() {
                ended = Ended::Interrupted;
                break;
            }
            let row = self.step()?;
            if let Some(recorder) = &mut self.recorder {
                for trouble in recorder.add(self.setting.disk, &row) {
                    self.observer.warning(&trouble);
                }
            }
            if self.checkpoint_is_due(&row) {
                self.checkpoint()?;
            }
            self.observer.step(&row, &self.state);
        }
        self.finish(ended)
    }

    /// True if any process is asked to stop.
    fn agree_to_stop(&mut self) -> bool {
        let stop = self.observer.stop();
        let started = Instant::now();
        let stop = self.group.any(stop);
        let waited = started.elapsed().as_secs_f64();
        self.worked = (self.worked.0 + waited, self.worked.1 + waited);
        stop
    }

    /// One step; the parameters are left as they are if it is bad.
    fn step(&mut self) -> Result<Row> {
        let started = Instant::now();
        let config = self.run.config();
        let (step, context) = (self.state.step + 1, config.batch.context);
        let rows = self.tokens.chunks_mut(context).zip(self.targets.chunks_mut(context));
        for (window, (tokens, targets)) in self.sampler.windows(step - 1).zip(rows) {
            self.corpus.read(window, tokens, targets);
        }
        let batch = Batch { tokens: &self.tokens, targets: &self.targets, length: context };
        let loss = self.engine.gradient(&batch, config.seed, step)?;
        let norm = self.engine.norm()?;
        let bad = self.state.objection(loss, norm, config.bad_steps.spike);
        let learning_rate = config.optimizer.learning_rate_at(step, self.steps);
        match &bad {
            None => {
                self.state.updates += 1;
                self.engine.update(&update(config, learning_rate, self.state.updates), norm)?;
                self.state.observe(loss);
            }
            Some(why) => self.keep_bad_step(step, why)?,
        }
        self.state.step = step;
        self.state.tokens += config.batch.tokens();
        let mut row = Row {
            step,
            epoch: step as f64 / self.sampler.steps_per_epoch() as f64,
            tokens: self.state.tokens,
            train_bits_per_byte: loss / std::f64::consts::LN_2,
            gradient_norm: norm,
            learning_rate,
            bad,
            // Once is enough: what is validated never changes.
            floor_bits_per_byte: self.floor.filter(|_| step == 1),
            ..Default::default()
        };
        let seconds = started.elapsed().as_secs_f64();
        self.worked = (self.worked.0 + seconds, self.worked.1 + self.engine.timings().exchange);
        row.tokens_per_second = config.batch.tokens() as f64 / seconds;
        let flops_per_second = config.model.flops(context).training * row.tokens_per_second;
        row.utilisation = self.peak_flops.map(|peak| flops_per_second / peak);
        if self.validation_is_due() {
            self.observer.busy("validating");
            self.engine.check_agreement()?;
            let bits = bits_per_byte(&mut *self.engine, self.group.size(), self.corpus, &self.validation)?;
            row.validation_bits_per_byte = Some(bits);
            row.best = Some(self.state.judge(bits));
            row.parameters = self.named_numbers()?;
        }
        self.state.seconds += started.elapsed().as_secs_f64();
        row.seconds = self.state.seconds;
        Ok(row)
    }

    fn validation_is_due(&self) -> bool {
        let every = match self.run.config().validation.every {
            0 => self.sampler.steps_per_epoch(),
            every => every,
        };
        self.state.step == self.steps || self.state.step.is_multiple_of(every)
    }

    fn checkpoint_is_due(&self, row: &Row) -> bool {
        let every = self.run.config().checkpoints.every;
        row.best == Some(true)
            || self.state.step == self.steps
            || (every == 0 && row.validation_bits_per_byte.is_some())
            || (every > 0 && self.state.step.is_multiple_of(every))
    }

    fn patience_is_over(&self) -> bool {
        let patience = self.run.config().validation.patience;
        patience > 0 && self.state.since_best >= patience
    }

    /// Saves the state. If that fails, the checkpoints that are there stay as they are and training goes on,
    /// unless the whole run is gone.
    fn checkpoint(&mut self) -> Result<()> {
        if !self.setting.leads() {
            self.saved = Some(self.state.step);
            return Ok(());
        }
        self.run.check_is_there()?;
        self.observer.busy("saving");
        match self.try_checkpoint() {
            Ok(()) => {
                self.saved = Some(self.state.step);
                self.observer.saved(self.state.step);
            }
            Err(error) => {
                let kept = match self.saved {
                    Some(step) => format!("the checkpoint of step {step} stays the last good one"),
                    None => "there is no checkpoint yet".into(),
                };
                self.observer.warning(&format!("{error}; {kept}"));
            }
        }
        Ok(())
    }

    fn try_checkpoint(&mut self) -> Result<()> {
        let disk = self.setting.disk;
        // What is not finite never takes the place of a good checkpoint.
        if self.engine.parameters()?.iter().any(|x| !x.is_finite()) {
            let why = format!(
                "after step {} some parameters are not finite, so they are not saved",
                self.state.step
            );
            return Err(Error::run(self.run.folder(), why));
        }
        // Rows up to here must not be lost to a crash that the checkpoint survives.
        if let Some(recorder) = &self.recorder {
            recorder.sync(disk)?;
        }
        let folder = checkpoint::folder(self.run.folder(), self.state.step);
        self.save_as(&folder)?;
        self.run.settle(disk, &self.state)
    }

    fn save_as(&mut self, folder: &Path) -> Result<()> {
        let layout = self.engine.layout().clone();
        let snapshot =
            Snapshot { run: self.run, layout: &layout, arenas: self.engine.arenas()?, state: &self.state };
        checkpoint::save(self.setting.disk, folder, &snapshot)
    }

    /// Keeps the batch and the state before a bad step; under the policy `stop` that is the end.
    fn keep_bad_step(&mut self, step: u64, why: &str) -> Result<()> {
        let kept = self.run.folder().join("bad-steps").join(format!("step-{step}"));
        if let Err(error) = self.try_keep(&kept, step, why) {
            self.observer.warning(&format!("the bad step could not be kept: {error}"));
        }
        let give_up = self.state.consecutive_bad + 1 >= MOST_BAD;
        if self.run.config().bad_steps.policy == Policy::Stop || give_up {
            // The state is still that of the step before, and worth keeping.
            if self.saved != Some(self.state.step) && self.state.step > 0 {
                self.checkpoint()?;
            }
            let why =
                if give_up { format!("{why}, as in the {} steps before", MOST_BAD - 1) } else { why.into() };
            return Err(Error::BadStep { step, why, kept });
        }
        self.state.bad_steps += 1;
        self.state.consecutive_bad += 1;
        self.observer
            .warning(&format!("step {step} skipped: {why}; its batch and state are in {}", kept.display()));
        Ok(())
    }

    fn try_keep(&mut self, folder: &Path, step: u64, why: &str) -> Result<()> {
        if !self.setting.leads() {
            return Ok(());
        }
        let disk = self.setting.disk;
        disk.create_folder(folder).at("create", folder)?;
        let vocabulary = &self.corpus.identity().vocabulary;
        let windows: Vec<u64> =
            self.sampler.clone().windows(step - 1).map(|window| window.start as u64).collect();
        let bytes: Vec<u8> = self.tokens.iter().map(|&token| vocabulary[usize::from(token)]).collect();
        let note = serde_json::json!({ "step": step, "why": why, "window_starts": windows,
            "context": self.run.config().batch.context });
        for (name, bytes) in [("batch.bytes", bytes), ("batch.json", note.to_string().into_bytes())] {
            let path = folder.join(name);
            disk.write(&path, &bytes).at("write", &path)?;
        }
        // The arenas are still those before the step.
        self.save_as(&folder.join("state"))
    }

    /// Single-number parameters, and the mean size of each layer's drift rates.
    fn named_numbers(&mut self) -> Result<BTreeMap<String, f64>> {
        let tensors = self.engine.layout().tensors().to_vec();
        let arena = self.engine.parameters()?;
        let mean = |tensor: &Tensor| {
            let values = tensor.slot.slice(arena);
            values.iter().map(|x| f64::from(x.abs())).sum::<f64>() / values.len() as f64
        };
        let number = |tensor: &Tensor| match tensor.kind {
            ParameterKind::Scalar => Some((tensor.name.clone(), f64::from(tensor.slot.slice(arena)[0]))),
            ParameterKind::Rate => Some((format!("{}.mean", tensor.name), mean(tensor))),
            _ => None,
        };
        Ok(tensors.iter().filter_map(number).collect())
    }

    /// Saves what is not saved yet and sums up.
    fn finish(mut self, ended: Ended) -> Result<Summary> {
        if self.saved != Some(self.state.step) && self.state.step > 0 {
            self.checkpoint()?;
        }
        let saved = self.saved == Some(self.state.step) || self.state.step == 0;
        if !saved || !self.recorder.as_ref().is_none_or(Recorder::is_done) {
            let why = "training ended, but its last checkpoint or rows could not be saved: see the warnings, \
                 and resume it";
            return Err(Error::run(self.run.folder(), why));
        }
        self.check_saved()?;
        if ended != Ended::Interrupted
            && let Some(recorder) = &mut self.recorder
            && let Some(trouble) = recorder.add_sample(self.setting.disk, self.run, self.state.step)
        {
            self.observer.warning(&trouble);
        }
        let config = self.run.config();
        let best = self.state.best;
        let mut test = None;
        if config.validation.test && ended != Ended::Interrupted {
            self.observer.busy("testing");
            let at_best = best.is_none_or(|best| best.step == self.state.step);
            if at_best || self.load_best()? {
                let windows = windows::all(self.corpus.split(Split::Test), config.batch.context);
                let (engine, processes) = (&mut *self.engine, self.group.size());
                test = Some(bits_per_byte(engine, processes, self.corpus, &windows)?);
            }
        }
        let summary = Summary {
            run: self.run.folder().to_path_buf(),
            model: config.model.kind().name().into(),
            corpus: self.corpus.identity().name.clone(),
            parameters: self.engine.layout().count(),
            steps: self.state.step,
            tokens: self.state.tokens,
            seconds: self.state.seconds,
            ended,
            train_bits_per_byte: self.state.recent_loss.map(|nats| nats / std::f64::consts::LN_2),
            validation_bits_per_byte: best.map(|best| best.bits_per_byte),
            best_step: best.map(|best| best.step),
            last_validation_bits_per_byte: self.state.validation,
            floor_bits_per_byte: self.floor,
            test_bits_per_byte: test,
            bad_steps: self.state.bad_steps,
            device: self.engine.device().into(),
            exchange_share: (self.group.size() > 1 && self.worked.0 > 0.0)
                .then(|| self.worked.1 / self.worked.0),
        };
        if self.setting.leads() {
            self.run.save_summary(self.setting.disk, &summary)?;
        }
        Ok(summary)
    }

    /// Proves what will be called saved.
    fn check_saved(&self) -> Result<()> {
        if self.setting.leads() {
            self.run.check_is_there()?;
            if self.state.step > 0 {
                let folder = checkpoint::folder(self.run.folder(), self.state.step);
                checkpoint::load(&folder, self.run, self.engine.layout(), true)?;
            }
        }
        Ok(())
    }

    /// Takes the parameters that validated best; false, with a warning, if their checkpoint cannot be used.
    fn load_best(&mut self) -> Result<bool> {
        let loaded = match self.setting.leads() {
            true => Some(self.run.load(Which::Best, self.engine.layout())),
            false => None,
        };
        if self.group.any(matches!(loaded, Some(Err(_)))) {
            if let Some(Err(error)) = loaded {
                self.observer.warning(&format!("{error}; the test split was not read"));
            }
            return Ok(false);
        }
        let loaded = loaded.and_then(Result::ok);
        if let Some(step) = loaded.as_ref().map(|loaded| loaded.state.step)
            && self.state.best.is_none_or(|best| best.step != step)
        {
            self.observer.warning(&format!("the best checkpoint could not be saved; testing step {step}"));
        }
        self.engine
            .load(loaded.as_ref().map(|loaded| Arenas { parameters: &loaded.parameters, moments: None }))?;
        Ok(true)
    }
}

fn update(config: &Config, learning_rate: f64, step: u64) -> Update {
    let optimizer = &config.optimizer;
    Update {
        learning_rate,
        beta1: optimizer.beta1,
        beta2: optimizer.beta2,
        epsilon: optimizer.epsilon,
        weight_decay: optimizer.weight_decay,
        decays: match optimizer.decay {
            Decay::All => |_| true,
            Decay::Weights => |kind| kind == ParameterKind::Weight,
        },
        clip: (optimizer.clip > 0.0).then_some(optimizer.clip),
        step,
    }
}
