//! Where a plan stands, and how much of it is left.

use crate::error::Result;
use crate::plan::{Plan, Planned};
use crate::runner::{Status, status};
use crate::statistics::median;
use kuramoto_train::config::Length;
use kuramoto_train::metrics;

/// Where the runs of a plan are.
pub struct Standing {
    /// Every run's, in the plan's order; an error where a folder does not hold what it should.
    pub runs: Vec<Result<Status>>,
    /// Finished and proven.
    pub finished: usize,
    /// Trained by a process now.
    pub training: usize,
    /// Begun and left.
    pub begun: usize,
    /// Not begun.
    pub missing: usize,
    /// Stopped at a bad step, or folders that do not hold what they should.
    pub failed: usize,
    /// Operations that are still to be done.
    pub flops_left: f64,
    /// Operations a second of a finished run, the median; None if none has finished.
    pub flops_per_second: Option<f64>,
}

impl Standing {
    /// Looks at every run of a plan; finished ones are proven on the way.
    pub fn of(plan: &Plan) -> Standing {
        let runs: Vec<Result<Status>> = plan.runs.iter().map(|run| status(plan, run)).collect();
        let pairs = || plan.runs.iter().zip(&runs);
        let count = |is: fn(&Result<Status>) -> bool| runs.iter().filter(|run| is(run)).count();
        let left = |(run, status): (&Planned, &Result<Status>)| match status {
            Ok(Status::Missing) => run.flops,
            Ok(Status::Begun | Status::Training) => run.flops * (1.0 - share_done(plan, run)),
            Ok(Status::Finished(_) | Status::Failed(_)) | Err(_) => 0.0,
        };
        let speed = |(run, status): (&Planned, &Result<Status>)| match status {
            Ok(Status::Finished(proven)) => Some(run.flops / proven.summary.seconds),
            _ => None,
        };
        let speeds: Vec<f64> = pairs().filter_map(speed).filter(|speed| speed.is_finite()).collect();
        Standing {
            finished: count(|run| matches!(run, Ok(Status::Finished(_)))),
            training: count(|run| matches!(run, Ok(Status::Training))),
            begun: count(|run| matches!(run, Ok(Status::Begun))),
            missing: count(|run| matches!(run, Ok(Status::Missing))),
            failed: count(|run| matches!(run, Ok(Status::Failed(_)) | Err(_))),
            flops_left: pairs().map(left).sum(),
            flops_per_second: (!speeds.is_empty()).then(|| median(&speeds)),
            runs,
        }
    }
}

/// Share of a run's bytes that it has read; 0 where that cannot be told.
fn share_done(plan: &Plan, run: &Planned) -> f64 {
    let all = match run.config.length {
        Length::Steps(steps) => steps * run.config.batch.tokens(),
        Length::Tokens(tokens) => tokens,
        Length::Epochs(_) => return 0.0,
    };
    let rows = metrics::read(&plan.run_folder(run).join("metrics.jsonl"));
    let read = rows.ok().and_then(|rows| Some(rows.last()?.tokens)).unwrap_or(0);
    (read as f64 / all.max(1) as f64).min(1.0)
}
