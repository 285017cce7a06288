//! How training is judged: on the validation split on its way, on the test split at its end. Both can be broken
//! off, and a resumed run begins with them.

use super::Trainer;
use crate::data::Split;
use crate::error::Result;
use crate::evaluate::Reading;
use crate::metrics::Row;
use crate::run::Which;
use crate::windows::{self, Window};
use kuramoto_engine::Arenas;
use kuramoto_model::{ParameterKind, Tensor};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// While a validation takes longer, the state is on disk: a process that dies in it loses no step.
const SHORT: Duration = Duration::from_secs(1);

impl Trainer<'_> {
    /// Completes the row of the last step by a validation, where one is due; None if it was broken off.
    pub(super) fn validated(&mut self, mut row: Row) -> Result<Option<Row>> {
        if !self.validation_is_due() {
            return Ok(Some(row));
        }
        self.observer.busy("validating");
        let started = Instant::now();
        self.engine.check_agreement()?;
        // Part of the state until the validation is done.
        self.state.unvalidated = Some(Box::new(row.clone()));
        let windows = std::mem::take(&mut self.validation);
        let bits = self.read(&windows, started);
        self.validation = windows;
        let bits = bits?;
        self.state.seconds += started.elapsed().as_secs_f64();
        let Some(bits) = bits else { return Ok(None) };
        self.state.unvalidated = None;
        row.validation_bits_per_byte = Some(bits);
        row.best = Some(self.state.judge(bits));
        row.parameters = self.named_numbers()?;
        row.seconds = self.state.seconds;
        Ok(Some(row))
    }

    /// Bits per byte of the test split; None if it was broken off.
    pub(super) fn test(&mut self) -> Result<Option<f64>> {
        let windows = windows::all(self.corpus.split(Split::Test), self.run.config().batch.context);
        self.read(&windows, Instant::now())
    }

    /// Bits per byte of windows; None if any process is asked to stop meanwhile.
    fn read(&mut self, windows: &[Window], started: Instant) -> Result<Option<f64>> {
        let mut reading = Reading::new(self.corpus, self.group.clone(), windows);
        let mut tried = false;
        while reading.advance(&mut *self.engine)? {
            if self.agree_to_stop() {
                return Ok(None);
            }
            if started.elapsed() > SHORT && !self.is_saved() && !std::mem::replace(&mut tried, true) {
                self.checkpoint()?;
            }
        }
        Ok(Some(reading.bits_per_byte()))
    }

    fn validation_is_due(&self) -> bool {
        let every = match self.run.config().validation.every {
            0 => self.sampler.steps_per_epoch(),
            every => every,
        };
        self.state.step == self.steps || self.state.step.is_multiple_of(every)
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

    /// Takes the parameters that validated best; false, with a warning, if their checkpoint cannot be used.
    pub(super) fn load_best(&mut self) -> Result<bool> {
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
