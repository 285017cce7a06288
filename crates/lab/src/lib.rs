//! Experiments: plans of runs, their runner, and what they came to next to the paper.
//!
//! A [`Request`] names [`Arm`]s, and a [`Plan`] of them is a folder with a `plan.json` that lists every run
//! completely: its configuration, seed and folder.
//! [`runner`] runs what is missing, any number of processes side by side, [`submit`] on a cluster;
//! [`results`] gathers what is finished, [`claims`] asks it with [`statistics`] of paired seeds, and
//! [`report`] writes it down next to [`paper`]'s numbers.
//!
//! ```
//! use kuramoto_engine::Cpu;
//! use kuramoto_lab::results::Results;
//! use kuramoto_lab::runner::{Corpora, run_one};
//! use kuramoto_lab::scale::Scale;
//! use kuramoto_lab::{Arm, Experiment, Plan, Request, report};
//! use kuramoto_train::{Overlay, Setting};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (folder, cache) = (folder.path().join("plan"), folder.path().join("cache"));
//! let request = Request {
//!     arms: vec!["no-value-gate".parse::<Arm>()?],
//!     overlays: vec![Overlay::parse("example", "data.bytes = 60000\nlength = { steps = 4 }")?],
//!     seeds: Some(1),
//!     ..Request::new(Experiment::Ablations, Scale::Smoke)
//! };
//! let plan = Plan::create(&request, &folder, &cache)?;
//! assert_eq!(plan.runs.len(), 2); // the reference and its ablation
//! let (device, corpora) = (Cpu::new(1), Corpora::new(&cache));
//! for run in &plan.runs {
//!     run_one(&plan, run, &corpora, Setting::new(&device), &mut ())?;
//! }
//! report::write(&plan, &Results::gather(&plan))?;
//! assert!(folder.join("report.html").exists());
//! # Ok(())
//! # }
//! ```

pub mod arm;
mod check;
pub mod claims;
pub mod differences;
pub mod equal;
pub mod error;
mod failure;
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
