//! Experiments: plans of runs, their runner, and what they came to next to the paper.
//!
//! A [`Request`] names [`Arm`]s, and a [`Plan`] of them is a folder with a `plan.json` that lists every run
//! completely: its configuration, seed and folder.
//! [`runner`] runs what is missing, any number of processes side by side, [`submit`] on a cluster;
//! [`results`] gathers what is finished, [`claims`] asks it with [`statistics`] of paired seeds, and
//! [`report`] writes it down next to [`paper`]'s numbers.

pub mod arm;
mod check;
pub mod claims;
pub mod error;
pub mod paper;
pub mod plan;
mod proof;
pub mod report;
mod request;
pub mod results;
pub mod runner;
pub mod scale;
pub mod standing;
pub mod submit;

pub use arm::{Arm, PaperTable};
pub use error::{Error, Result};
pub use kuramoto_report::statistics;
pub use plan::{Plan, Planned};
pub use request::{Experiment, Request};
