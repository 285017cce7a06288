//! The training loop.
//!
//! A step reads its windows, which depend on (seed, epoch, step) only; takes the gradient; clips; applies
//! AdamW. The whole state is the arenas and [`State`], so a run that is stopped anywhere and resumed gives
//! the same bits as one that was not. An [`Observer`] follows what happens; nothing is printed here.
//!
//! Several processes may train together ([`Device::group`](kuramoto_engine::Device::group)): all hold the
//! same state and take the same decisions, and process 0 alone reads and writes the run folder.

mod saving;
mod validation;

use crate::config::{Config, Decay};
use crate::data::{Corpus, Split};
use crate::error::{Error, Result};
use crate::metrics::{Rewind, Row};
use crate::peak_memory::PeakMemory;
use crate::recorder::{ROWS, Recorder};
use crate::run::{Ended, Run, Summary};
use crate::setting::{Observer, Setting, TrainingPlan, check_memory};
use crate::start::Start;
use crate::state::{State, Stretch};
use crate::windows::{Sampler, Window};
use kuramoto_engine::{Batch, Engine, Group, Update};
use kuramoto_model::ParameterKind;
use saving::Saved;
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
    match nothing_left(run, setting) {
        Some(summary) => Ok(summary),
        None => Trainer::new(run, corpus, setting, observer)?.train(),
    }
}

/// The summary of a run that is not finite any more; there is nothing to train.
fn nothing_left(run: &Run, setting: &Setting<'_>) -> Option<Summary> {
    let is_final = |summary: &Summary| summary.stays_non_finite(run.config());
    let found = setting.leads().then(|| run.summary().filter(is_final)).flatten();
    let shared = setting.device.group().share(serde_json::to_vec(&found).expect("a summary is plain data"));
    serde_json::from_slice(&shared).expect("process 0 wrote it just now")
}

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
    /// The step that was not finite and ends the run.
    non_finite: Option<u64>,
    /// What is safe on disk.
    saved: Option<Saved>,
    /// When it was last tried to save, or training began.
    tried_to_save: Instant,
    /// Of all threads of all processes, where it was measured.
    peak_flops: Option<f64>,
    /// Seconds of steps of this process, and of their exchanges.
    worked: (f64, f64),
    memory: PeakMemory,
}

impl<'a> Trainer<'a> {
    fn new(
        run: &'a Run,
        corpus: &'a Corpus,
        setting: &'a Setting<'a>,
        observer: &'a mut dyn Observer,
    ) -> Result<Self> {
        let memory = PeakMemory::watch();
        let config = run.config();
        let batch = &config.batch;
        let sampler = config.sampler(corpus.identity())?;
        let validation = config.validation_windows(corpus.identity())?;
        let steps = config.steps(&sampler);
        let (shape, group) = (config.shape(), setting.device.group());
        let planned = check_memory(config, corpus.identity().bytes, setting.device)?;
        let mut engine = setting.device.engine(&config.model, &shape)?;
        let start = Start::find(engine.layout(), run, steps, setting)?;
        let saved = start.state.as_ref().map(Saved::of);
        let mut state = start.state.clone().unwrap_or_default();
        // Older checkpoints do not say what computed them, but the run's summary does.
        if let Some(summary) = run.summary().filter(|_| state.step > 0 && state.devices.is_empty())
            && !summary.device.is_empty()
        {
            state.devices.push(Stretch { from_step: 1, device: summary.device });
        }
        let rows = match setting.leads() {
            true => Some(Rewind::read(&run.folder().join(ROWS), state.recorded())?),
            false => None,
        };
        // Everything is known to be good: only now is anything changed.
        start.restore(&mut *engine, run, setting, observer)?;
        let mut recorder = None;
        if let Some(rows) = rows {
            for line in &rows.damaged {
                observer.warning(&format!(
                    "line {line} of {ROWS} is not the row that belongs there; it stays as it is"
                ));
            }
            if rows.missing > 0 {
                let taken = state.step;
                observer.warning(&format!("{ROWS} lacks {} of the rows of {taken} steps", rows.missing));
            }
            run.save_config(setting.disk)?;
            recorder = Some(Recorder::resume(setting.disk, run, state.step, &rows)?);
            // An old summary is void once training goes on.
            if state.recorded() < steps {
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
            non_finite: None,
            saved,
            tried_to_save: Instant::now(),
            worked: (0.0, 0.0),
            memory,
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
        let ended = loop {
            // A validation that was broken off comes before anything else.
            let row = match self.state.unvalidated.take() {
                Some(row) => *row,
                None if self.state.step >= self.steps => break Ended::Finished,
                None if self.patience_is_over() => break Ended::EarlyStop,
                None if self.agree_to_stop() => break Ended::Interrupted,
                None => self.step()?,
            };
            if self.non_finite.is_some() {
                self.record(&row);
                self.observer.step(&row, &self.state);
                self.leave_what_is_not_finite()?;
                break Ended::NonFinite;
            }
            let Some(row) = self.validated(row)? else { break Ended::Interrupted };
            self.record(&row);
            if self.checkpoint_is_due(&row) {
                self.checkpoint()?;
            }
            self.observer.step(&row, &self.state);
        };
        self.finish(ended)
    }

    /// Adds a row to the files of the run.
    fn record(&mut self, row: &Row) {
        let Some(recorder) = &mut self.recorder else { return };
        for trouble in recorder.add(self.setting.disk, row) {
            self.observer.warning(&trouble);
        }
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
        let bad = self.state.objection(loss, norm, &config.bad_steps);
        let learning_rate = config.optimizer.learning_rate_at(step, self.steps);
        let device = self.state.change_to(self.engine.device());
        match &bad {
            None => {
                self.state.updates += 1;
                self.engine.update(&update(config, learning_rate, self.state.updates), norm)?;
                self.state.observe(loss);
            }
            Some(why) => self.keep_bad_step(step, why)?,
        }
        let tokens = self.state.tokens + config.batch.tokens();
        // A run that ends before this step stays where it is.
        if self.non_finite.is_none() {
            let stretch = |device| Stretch { from_step: step, device };
            self.state.devices.extend(device.clone().map(stretch));
            (self.state.step, self.state.tokens) = (step, tokens);
        }
        let mut row = Row {
            step,
            epoch: step as f64 / self.sampler.steps_per_epoch() as f64,
            tokens,
            train_bits_per_byte: loss / std::f64::consts::LN_2,
            gradient_norm: norm,
            learning_rate,
            bad,
            // Once is enough: what is validated never changes.
            floor_bits_per_byte: self.floor.filter(|_| step == 1),
            device,
            ..Default::default()
        };
        let seconds = started.elapsed().as_secs_f64();
        self.worked = (self.worked.0 + seconds, self.worked.1 + self.engine.timings().exchange);
        row.tokens_per_second = config.batch.tokens() as f64 / seconds;
        let flops_per_second = config.model.flops(context).training * row.tokens_per_second;
        row.utilisation = self.peak_flops.map(|peak| flops_per_second / peak);
        self.state.seconds += started.elapsed().as_secs_f64();
        row.seconds = self.state.seconds;
        Ok(row)
    }

    fn patience_is_over(&self) -> bool {
        let patience = self.run.config().validation.patience;
        patience > 0 && self.state.since_best >= patience
    }

    /// Saves what is not saved yet and sums up.
    fn finish(mut self, mut ended: Ended) -> Result<Summary> {
        if !self.is_saved() {
            self.checkpoint()?;
        }
        if !self.is_saved() || !self.recorder.as_ref().is_none_or(Recorder::is_done) {
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
        // A run that was never validated with success has no best parameters to test.
        let has_best = ended != Ended::NonFinite || best.is_some();
        if config.validation.test && ended != Ended::Interrupted && has_best {
            self.observer.busy("testing");
            let at_best = best.is_none_or(|best| best.step == self.state.step);
            if at_best || self.load_best()? {
                test = self.test()?;
                if test.is_none() {
                    // All is saved: a resumed run begins with the test.
                    ended = Ended::Interrupted;
                }
            }
        }
        let (peak_memory_bytes, peak_memory_runs) = self.peak_memory();
        let summary = Summary {
            run: self.run.folder().to_path_buf(),
            model: config.model.kind().name().into(),
            corpus: self.corpus.identity().name.clone(),
            parameters: self.engine.layout().count(),
            steps: self.state.step,
            tokens: self.state.tokens,
            seconds: self.state.seconds,
            ended,
            non_finite_step: self.non_finite.filter(|_| ended == Ended::NonFinite),
            train_bits_per_byte: self.state.recent_loss.map(|nats| nats / std::f64::consts::LN_2),
            validation_bits_per_byte: best.map(|best| best.bits_per_byte),
            best_step: best.map(|best| best.step),
            last_validation_bits_per_byte: self.state.validation,
            floor_bits_per_byte: self.floor,
            test_bits_per_byte: test,
            bad_steps: self.state.bad_steps,
            device: self
                .state
                .devices
                .last()
                .map_or_else(|| self.engine.device().into(), |last| last.device.clone()),
            devices: self.state.changes(),
            exchange_share: (self.group.size() > 1 && self.worked.0 > 0.0)
                .then(|| self.worked.1 / self.worked.0),
            peak_memory_bytes,
            peak_memory_runs,
        };
        if self.setting.leads() {
            self.run.save_summary(self.setting.disk, &summary)?;
        }
        Ok(summary)
    }

    /// Most bytes in memory, and how many runs shared them. A summary that is still there is of a run that had
    /// nothing left to train: what it took to train it stays.
    fn peak_memory(&self) -> (Option<u64>, Option<usize>) {
        let trained = self.setting.leads().then(|| self.run.summary()).flatten();
        match trained.filter(|summary| summary.peak_memory_bytes.is_some()) {
            Some(summary) => (summary.peak_memory_bytes, summary.peak_memory_runs),
            None => (self.memory.bytes(), Some(self.memory.runs()).filter(|&runs| runs > 1)),
        }
    }
}

/// The optimizer update of a configuration.
pub(crate) fn update(config: &Config, learning_rate: f64, step: u64) -> Update<'_> {
    let optimizer = &config.optimizer;
    Update {
        learning_rate,
        multipliers: &optimizer.multipliers,
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
