//! Training, followed by Python.

use crate::error::{Raised, Result};
use crate::signals::Interrupted;
use crate::whole::Whole;
use crate::{run, threads};
use kuramoto_engine::Cpu;
use kuramoto_kernels::peak;
use kuramoto_train::overlay::FLAGS;
use kuramoto_train::{
    CorpusOptions, NewRun, Observer, Overlay, Row, Session, Setting, State, Summary, TrainingPlan,
};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Seconds in which the peak of a core is measured, for the utilisation of rows.
const PEAK_SECONDS: f64 = 0.2;

/// Calls a Python object as training goes on; its first exception stops training, which saves everything.
struct Follower<'a> {
    object: &'a Py<PyAny>,
    interrupted: &'a mut Interrupted,
}

impl Follower<'_> {
    fn tell(
        &mut self,
        method: &str,
        argument: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        let told = Python::attach(|py| {
            self.object.bind(py).call_method1(method, (argument(py)?,))?;
            Ok(())
        });
        self.interrupted.keep(told);
    }

    fn tell_text(&mut self, method: &str, text: &str) {
        self.tell(method, |py| Ok(text.into_pyobject(py)?.into_any()));
    }
}

impl Observer for Follower<'_> {
    fn plan(&mut self, plan: &TrainingPlan) {
        let plan = serde_json::json!({
            "run": plan.run.to_string_lossy(), "parameters": plan.parameters, "steps": plan.steps,
            "done": plan.done, "device": plan.device, "threads": plan.threads,
            "planned_bytes": plan.planned_bytes, "floor_bits_per_byte": plan.floor,
        });
        self.tell_text("plan", &plan.to_string());
    }

    fn step(&mut self, row: &Row, _state: &State) {
        self.tell_text("row", row.to_line().trim_end());
    }

    fn busy(&mut self, with: &str) {
        self.tell_text("busy", with);
    }

    fn warning(&mut self, text: &str) {
        self.tell_text("warning", text);
    }

    fn stop(&mut self) -> bool {
        self.interrupted.came()
    }
}

/// Opens a session and trains it; its summary as JSON. Saves and raises if Python asks to stop.
fn follow(
    py: Python<'_>,
    follower: &Py<PyAny>,
    threads: Option<Whole>,
    open: impl for<'a> FnOnce(Setting<'a>) -> kuramoto_train::Result<Session<'a>> + Send,
) -> PyResult<String> {
    let mut interrupted = Interrupted::default();
    let summary = py.detach(|| -> Result<Summary> {
        let device = Cpu::new(threads::count(threads)?);
        let setting = Setting { core_peak_flops: Some(peak::measure(PEAK_SECONDS)), ..Setting::new(&device) };
        let mut session = open(setting)?;
        Ok(session.train(&mut Follower { object: follower, interrupted: &mut interrupted })?)
    })?;
    interrupted.raise()?;
    Ok(serde_json::to_string(&summary).expect("a summary is plain data"))
}

/// Settings as keys laid over a preset: (origin, key, text of a TOML value).
pub fn overlays(settings: &[(String, String, String)]) -> Vec<Overlay> {
    settings.iter().map(|(origin, key, value)| Overlay::set(origin.as_str(), key, value)).collect()
}

/// A number of parameters such as 1M.
#[pyfunction]
pub fn parse_budget(text: &str) -> PyResult<usize> {
    Ok(kuramoto_model::matching::parse_budget(text).map_err(Raised::from)?)
}

/// Names of settings and the keys they set.
#[pyfunction]
pub fn setting_names() -> Vec<(String, &'static str)> {
    let name = |flag: &str| flag.trim_start_matches('-').replace('-', "_");
    FLAGS.iter().map(|(flag, key)| (name(flag), *key)).collect()
}

pub fn corpora(cache: Option<PathBuf>, download: bool) -> CorpusOptions {
    CorpusOptions { cache, download: download.then_some(|_| {}) }
}

/// Trains a new run.
#[pyfunction]
pub fn train(
    py: Python<'_>,
    settings: Vec<(String, String, String)>,
    ablations: Vec<String>,
    out: Option<PathBuf>,
    cache: Option<PathBuf>,
    download: bool,
    threads: Option<Whole>,
    follower: Py<PyAny>,
) -> PyResult<String> {
    let new =
        NewRun { overlays: overlays(&settings), ablations, folder: out, corpora: corpora(cache, download) };
    follow(py, &follower, threads, |setting| Session::create(&new, setting))
}

/// Goes on with a run.
#[pyfunction]
pub fn resume(
    py: Python<'_>,
    folder: PathBuf,
    settings: Vec<(String, String, String)>,
    data_path: Option<&str>,
    cache: Option<PathBuf>,
    threads: Option<Whole>,
    follower: Py<PyAny>,
) -> PyResult<String> {
    let (overlays, corpora, folder) = (overlays(&settings), corpora(cache, false), run::folder(&folder)?);
    follow(py, &follower, threads, |setting| {
        Session::resume(&folder, &overlays, data_path, &corpora, setting)
    })
}
