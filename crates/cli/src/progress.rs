//! What a person, a log or a script sees of training.

use crate::describe;
use crate::signals::Signals;
use crate::table::{counted, thousands};
use indicatif::{ProgressBar, ProgressStyle};
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

/// Characters of the bar.
const BAR: usize = 12;
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

    /// What there is to say of a step, the most important first.
    fn parts(&self, row: &Row, state: &State) -> Vec<String> {
        let bits = |nats: f64| nats / std::f64::consts::LN_2;
        // Validations and saving count too: the mean over all of this process.
        let (began, after) = self.began;
        let share = (self.steps - row.step) as f64 / (row.step - after).max(1) as f64;
        let left = seconds(began.elapsed().as_secs_f64() * share);
        let mut parts = vec![self.position(row.step)];
        parts.extend(state.validation.map(|bits| format!("validation {bits:.3}")));
        parts.extend(state.best.map(|best| format!("best {:.3}", best.bits_per_byte)));
        parts.push(format!("{left} left"));
        parts.extend(state.recent_loss.map(|nats| format!("train {:.3}", bits(nats))));
        parts.push(format!("{} bytes/s", thousands(self.tokens_per_second.unwrap_or(0.0) as usize)));
        parts.extend(self.utilisation.map(|share| format!("{:.0}% of peak", 100.0 * share)));
        parts
    }

    fn position(&self, step: u64) -> String {
        format!("step {step}/{}", self.steps)
    }

    /// Characters that a line may have: all, if nobody sees it on a terminal.
    fn width(&self) -> usize {
        match self.style {
            Style::Bar => console::Term::stderr().size().1.into(),
            _ => usize::MAX,
        }
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
            let style = ProgressStyle::with_template(&format!("{{bar:{BAR}.cyan/blue}} {{wide_msg}}"));
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
                let room = self.width().saturating_sub(BAR + 1);
                self.bar.set_message(fitted(&self.parts(row, state), room));
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
            self.say(&fitted(&self.parts(row, state), self.width()));
        }
        if self.signals.came() && !self.announced {
            self.announced = true;
            self.say("stopping after this step; a second signal leaves at once, without saving");
        }
    }

    fn busy(&mut self, with: &str) {
        if let Style::Bar = self.style {
            self.bar.set_message(format!("{}  {with} ..", self.position(self.bar.position())));
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
    let resumed = if plan.done > 0 { format!(", going on after step {}", plan.done) } else { String::new() };
    let floor = plan
        .floor
        .map_or_else(String::new, |floor| format!("; the best possible is {floor:.3} bits per byte"));
    let processes = match plan.processes {
        1 => String::new(),
        processes => format!(" in each of {processes} processes"),
    };
    format!(
        "{}{}{}{resumed}; {} and {} MB of memory{processes}\nvalidation on {}{floor}\nrun: {}\n",
        describe::model(&plan.config, plan.parameters),
        describe::corpus(&plan.corpus, plan.vocabulary, plan.splits),
        describe::length(&plan.config, plan.steps, plan.steps_per_epoch),
        describe::device(&plan.device, plan.threads),
        plan.planned_bytes.div_ceil(1_000_000),
        counted(plan.validation_bytes, "byte"),
        plan.run.display(),
    )
}

/// As many of the parts, in order, as fit in the width.
fn fitted(parts: &[String], width: usize) -> String {
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { "" } else { "  " };
        if !line.is_empty() && line.chars().count() + gap.len() + part.chars().count() > width {
            break;
        }
        line += gap;
        line += part;
    }
    line
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_shows_at_80_columns() {
        let mut progress = Progress::new(Style::Lines, Signals::default());
        progress.steps = 275_000;
        let row =
            Row { step: 123_456, tokens_per_second: 1_234_567.0, utilisation: Some(0.7), ..Row::default() };
        progress.smooth(&row);
        let best = kuramoto_train::state::Best { step: 123_000, bits_per_byte: 1.234 };
        let state =
            State { validation: Some(1.245), best: Some(best), recent_loss: Some(1.0), ..State::default() };
        let parts = progress.parts(&row, &state);
        let line = fitted(&parts, 80 - BAR - 1);
        assert!(line.chars().count() < 80 - BAR, "{line}");
        assert!(
            line.starts_with("step 123456/275000  validation 1.245  best 1.234  ") && line.ends_with(" left")
        );
        assert_eq!(fitted(&parts, 20), "step 123456/275000");
        assert!(fitted(&parts, usize::MAX).ends_with("  train 1.443  1,234,567 bytes/s  70% of peak"));
    }
}
