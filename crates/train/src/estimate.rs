//! How long training would take, measured on a few of its steps.

use crate::data::Split;
use crate::error::Result;
use crate::evaluate::Reading;
use crate::session::Prepared;
use crate::setting::Setting;
use crate::trainer::update;
use crate::windows;
use kuramoto_engine::Batch;
use std::time::{Duration, Instant};

/// Time that is spent on measuring steps, and on measuring a validation.
const MEASURED: Duration = Duration::from_secs(2);
/// Steps that are measured at most.
const MOST_STEPS: u64 = 50;

/// How long training would take.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Estimate {
    /// Steps that were measured, after one to warm up.
    pub measured_steps: u64,
    /// Of a step.
    pub seconds_per_step: f64,
    /// Of a validation.
    pub seconds_per_validation: f64,
    /// Of all steps and validations; saving and testing come on top.
    pub seconds: f64,
    /// Steps in all.
    pub steps: u64,
    /// Validations in all.
    pub validations: u64,
    /// What computes them.
    pub device: String,
    /// Threads at work.
    pub threads: usize,
}

impl Prepared {
    /// Takes a few steps from the seed, and forgets them.
    pub fn estimate(&self, setting: &Setting<'_>) -> Result<Estimate> {
        let Prepared { config, corpus, .. } = self;
        let (shape, context) = (config.shape(), config.batch.context);
        let mut sampler = config.sampler(corpus.identity())?;
        let (steps, steps_per_epoch) = (config.steps(&sampler), sampler.steps_per_epoch());
        let mut engine = setting.device.engine(&config.model, &shape)?;
        engine.start(config.seed)?;
        let mut tokens = vec![0; shape.sequences * context];
        let mut targets = tokens.clone();
        let mut step = |step: u64| -> Result<()> {
            let rows = tokens.chunks_mut(context).zip(targets.chunks_mut(context));
            for (window, (tokens, targets)) in sampler.windows(step - 1).zip(rows) {
                corpus.read(window, tokens, targets);
            }
            let batch = Batch { tokens: &tokens, targets: &targets, length: context };
            engine.gradient(&batch, config.seed, step)?;
            let norm = engine.norm()?;
            let learning_rate = config.optimizer.learning_rate_at(step, steps);
            Ok(engine.update(&update(config, learning_rate, step), norm)?)
        };
        step(1)?;
        let (began, mut measured) = (Instant::now(), 0);
        while measured == 0 || (began.elapsed() < MEASURED && measured < MOST_STEPS) {
            measured += 1;
            step(1 + measured)?;
        }
        let seconds_per_step = began.elapsed().as_secs_f64() / measured as f64;
        let judged = windows::sample(corpus.split(Split::Validation), context, config.validation.windows);
        let (began, mut reading) = (Instant::now(), Reading::new(corpus, setting.device.group(), &judged));
        while reading.advance(&mut *engine)? && began.elapsed() < MEASURED {}
        let share = reading.windows_read().max(1) as f64 / judged.len().max(1) as f64;
        let seconds_per_validation = began.elapsed().as_secs_f64() / share;
        let every = if config.validation.every == 0 { steps_per_epoch } else { config.validation.every };
        let validations = steps.div_ceil(every);
        Ok(Estimate {
            measured_steps: measured,
            seconds_per_step,
            seconds_per_validation,
            seconds: seconds_per_step * steps as f64 + seconds_per_validation * validations as f64,
            steps,
            validations,
            device: engine.device().into(),
            threads: setting.device.threads(&shape),
        })
    }
}
