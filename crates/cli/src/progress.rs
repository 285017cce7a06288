//! What a person, a log or a script sees of training.

use crate::signals::Signals;
use crate::table::thousands;
use indicatif::{ProgressBar, ProgressStyle};
use kuramoto_train::config::Length;
use kuramoto_train::{Observer, Row, State, TrainingPlan};
use std::time::{Duration, Instant};

/// How progress is shown.
pub enum Style {
    /// A live bar, on a terminal.
    Bar,
    /// A line now and then.
    Lines,
    /// A JSON row a step, on standard output.
    Json,
}

/// Shows training and carries the wish to stop into it.
pub struct Progress {
    style: Style,
    signals: Signals,
    bar: ProgressBar,
    steps: u64,
    /// Of recent steps, smoothed.
    tokens_per_second: Option<f64>,
    utilisation: Option<f64>,
    /// When this process began to train, and after which step.
    began: (Instant, u64),
    last_line: Option<Instant>,
    announced: bool,
    unread: bool,
    /// Rows could not be written for another reason, which was printed once.
    rows_failed: bool,
}

/// Time between plain lines.
const PAUSE: Duration = Duration::from_secs(10);

impl Progress {
    pub fn new(style: Style, signals: Signals) -> Self {
        Progress {
            style,
            signals,
            bar: ProgressBar::hidden(),
            steps: 0,
            tokens_per_second: None,
            utilisation: None,
            began: (Instant::now(), 0),
            last_line: None,
            announced: false,
            unread: false,
            rows_failed: false,
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, text: &str) {
        // Without a bar there is nothing to suspend.
        self.bar.suspend(|| crate::note(text));
    }

    fn line(&self, row: &Row, state: &State) -> String {
        let bits = |nats: f64| nats / std::f64::consts::LN_2;
        let number = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.3}"));
        let utilisation =
            self.utilisation.map_or_else(|| "-".into(), |value| format!("{:.0}%", 100.0 * value));
        // Validations and saving count too: the mean over all of this process.
        let (began, after) = self.began;
        let share = (self.steps - row.step) as f64 / (row.step - after).max(1) as f64;
        let left = began.elapsed().as_secs_f64() * share;
        format!(
            "train {}  validation {}  best {}  {} bytes/s  {utilisation} of peak  {} left",
            number(state.recent_loss.map(bits)),
            number(state.validation),
            number(state.best.map(|best| best.bits_per_byte)),
            thousands(self.tokens_per_second.unwrap_or(0.0) as usize),
            seconds(left)
        )
    }

    fn smooth(&mut self, row: &Row) {
        let blend = |old: Option<f64>, new: f64| Some(old.map_or(new, |old| old + 0.1 * (new - old)));
        self.tokens_per_second = blend(self.tokens_per_second, row.tokens_per_second);
        if let Some(utilisation) = row.utilisation {
            self.utilisation = blend(self.utilisation, utilisation);
        }
    }
}

impl Observer for Progress {
    fn plan(&mut self, plan: &TrainingPlan) {
        self.steps = plan.steps;
        self.say(&describe(plan));
        if let Style::Bar = self.style {
            self.bar = ProgressBar::new(plan.steps).with_position(plan.done);
            let style = ProgressStyle::with_template("{bar:24.cyan/blue} {pos}/{len}  {wide_msg}");
            self.bar.set_style(style.expect("the template is well formed"));
        }
        self.began = (Instant::now(), plan.done);
    }

    fn step(&mut self, row: &Row, state: &State) {
        self.smooth(row);
        match self.style {
            // A reader that left wants no more of it.
            Style::Json => match crate::print(&row.to_line()) {
                Err(error) if crate::is_broken_pipe(&error) => self.unread = true,
                Err(error) if !self.rows_failed => {
                    self.rows_failed = true;
                    self.say(&format!(
                        "warning: cannot write rows to standard output: {error:#}; training goes on"
                    ));
                }
                _ => {}
            },
            Style::Bar => {
                self.bar.set_message(self.line(row, state));
                self.bar.set_position(row.step);
            }
            Style::Lines => {}
        }
        let due = match self.style {
            Style::Json => false,
            // What the bar showed at a validation is worth keeping.
            Style::Bar => row.validation_bits_per_byte.is_some(),
            Style::Lines => {
                row.validation_bits_per_byte.is_some()
                    || self.last_line.is_none_or(|last| last.elapsed() >= PAUSE)
            }
        };
        if due {
            self.last_line = Some(Instant::now());
            self.say(&format!("step {}/{}  {}", row.step, self.steps, self.line(row, state)));
        }
        if self.signals.came() && !self.announced {
            self.announced = true;
            self.say("stopping after this step; a second signal leaves at once, without saving");
        }
    }

    fn busy(&mut self, with: &str) {
        if let Style::Bar = self.style {
            self.bar.set_message(format!("{with} .."));
        }
    }

    fn warning(&mut self, text: &str) {
        self.say(&format!("warning: {text}"));
    }

    fn stop(&mut self) -> bool {
        self.unread || self.signals.came()
    }
}

fn describe(plan: &TrainingPlan) -> String {
    let config = &plan.config;
    let [train, validation, test] = plan.splits.map(thousands);
    let (kind, symbol) = match config.model.kind() {
        kuramoto_model::ModelKind::Kuramoto => ("Kuramoto model", "k"),
        kuramoto_model::ModelKind::Transformer => ("transformer", "d"),
    };
    let epochs = plan.steps as f64 / plan.steps_per_epoch as f64;
    let length = match config.length {
        Length::Epochs(epochs) => format!("{} epochs", thousands(epochs as usize)),
        _ => format!("{epochs:.2} epochs"),
    };
    let resumed = if plan.done > 0 { format!(", going on after step {}", plan.done) } else { String::new() };
    let floor = plan
        .floor
        .map_or_else(String::new, |floor| format!("; the best possible is {floor:.3} bits per byte"));
    let threads = if plan.threads == 1 { "1 thread".into() } else { format!("{} threads", plan.threads) };
    let processes = match plan.processes {
        1 => String::new(),
        processes => format!(" in each of {processes} processes"),
    };
    format!(
        "{kind}: {} parameters ({symbol} = {}, {} layers), {} protocol, seed {}\n\
         {}: {} distinct bytes; {train} to train, {validation} to validate, {test} to test\n\
         {} steps of {} x {} bytes ({length}){resumed}; {threads} ({}) and {} MB of memory{processes}\n\
         validation on {} bytes{floor}\n\
         run: {}\n",
        thousands(plan.parameters),
        config.model.width(),
        config.model.layers(),
        config.protocol.name(),
        config.seed,
        plan.corpus,
        plan.vocabulary,
        thousands(plan.steps as usize),
        config.batch.sequences,
        config.batch.context,
        plan.device,
        plan.planned_bytes / 1_000_000,
        thousands(plan.validation_bytes),
        plan.run.display(),
    )
}

/// 12 days, 1 h 02 m, 3 m 05 s, 12 s; what a forged file may say instead of a time is no time.
pub fn seconds(time: f64) -> String {
    let Ok(time) = Duration::try_from_secs_f64(time) else { return "an unknown time".into() };
    match time.as_secs() {
        seconds @ 172_800.. => format!("{} days", seconds / 86_400),
        seconds @ 3600.. => format!("{} h {:02} m", seconds / 3600, seconds % 3600 / 60),
        seconds @ 60.. => format!("{} m {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{seconds} s"),
    }
}
