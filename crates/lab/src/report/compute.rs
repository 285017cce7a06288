//! Throughput and memory.

use super::tables::anchor;
use crate::arm;
use crate::error::Result;
use crate::paper;
use crate::plan::size;
use crate::results::{ArmResults, Finished, Results, pairs};
use crate::statistics::median;
use kuramoto_engine::Cpu;
use kuramoto_model::ModelKind;
use kuramoto_report::document::{Cell, Table};
use kuramoto_train::presets::Protocol;

fn speed(arm: &ArmResults) -> f64 {
    median(&arm.runs.values().map(|run| run.bytes_per_second).collect::<Vec<_>>())
}

/// What every arm but the grid's took.
pub fn table(results: &Results) -> Result<Option<Table>> {
    let arms = results.arms.iter().filter(|arm| arm.arm.table() != arm::PaperTable::Grid);
    let mut rows = Vec::new();
    for (arm, first) in arms.filter_map(|arm| Some((arm, arm.first()?))) {
        rows.push(row(arm, first)?);
    }
    Ok((!rows.is_empty()).then_some(Table {
        caption: "Speed and memory of training. Operations are counted from the configuration. Planned memory is \
                  what a run allocates before the first step, for one thread, besides the corpus. Peak memory is \
                  the highest of the process while it trained, the median over seeds, where it was measured; in \
                  brackets how many runs shared that process. Speeds are medians over steps and seeds of \
                  runs that shared the machine with each other, with as many threads as each was given: the \
                  command bench measures a quiet one. The paper's are of its GPU; only ratios between the \
                  models can be compared."
            .into(),
        head: vec![
            "arm",
            "corpus",
            "size",
            "MFLOP per byte",
            "bytes/s",
            "of peak",
            "planned, MB",
            "peak, MB",
            "paper, bytes/s",
            "paper, GB",
        ],
        rows,
        result: true,
    }))
}

fn row(arm: &ArmResults, first: &Finished) -> Result<Vec<Cell>> {
    let config = &first.planned.config;
    let shares: Vec<f64> = arm.runs.values().filter_map(|run| run.utilisation).collect();
    let memory = crate::plan::planned_memory(config, &Cpu::new(1))? as f64 / 1e6;
    let paper = match arm.arm {
        arm::Arm::Compare { model, .. } if paper::BUDGETS.contains(&arm.budget) => {
            paper::computed(&arm.corpus, arm.budget, model)
        }
        _ => None,
    };
    let (paper_speed, paper_memory) = paper.unzip();
    let number = |x: Option<f64>, digits: usize| {
        Cell::number(x.filter(|x| x.is_finite()).map_or_else(|| "-".into(), |x| format!("{x:.digits$}")))
    };
    let link = format!("#{}", anchor(arm));
    Ok(vec![
        Cell::text(arm.arm).link(&link),
        Cell::text(&arm.corpus),
        Cell::text(size(arm.budget)),
        number(Some(config.model.flops(config.batch.context).training / 1e6), 2),
        number(Some(speed(arm)), 0).link(&link),
        Cell::number(if shares.is_empty() { "-".into() } else { format!("{:.0}%", 100.0 * median(&shares)) }),
        number(Some(memory), 1),
        Cell::number(measured_memory(arm)),
        number(paper_speed, 0),
        number(paper_memory, 2),
    ])
}

/// Highest resident memory of the processes that trained an arm, the median over seeds.
fn measured_memory(arm: &ArmResults) -> String {
    let peaks: Vec<f64> = arm
        .runs
        .values()
        .filter_map(|run| run.summary.peak_memory_bytes)
        .map(|peak| peak as f64 / 1e6)
        .collect();
    let shared = arm.runs.values().filter_map(|run| run.summary.peak_memory_runs).max();
    match (peaks.is_empty(), shared) {
        (true, _) => "-".into(),
        (false, Some(runs)) if runs > 1 => format!("{:.0} ({runs})", median(&peaks)),
        (false, _) => format!("{:.0}", median(&peaks)),
    }
}

/// How much faster the transformer was, for every pair that was compared.
pub fn ratios(results: &Results) -> Vec<String> {
    let sentence = |(protocol, ours, theirs): (Protocol, &ArmResults, &ArmResults)| {
        let budget = size(ours.budget);
        let known = paper::BUDGETS.contains(&ours.budget);
        let paper = |model| Some(paper::computed(&ours.corpus, ours.budget, model).filter(|_| known)?.0);
        let beside = match (paper(ModelKind::Transformer), paper(ModelKind::Kuramoto)) {
            (Some(a), Some(b)) => format!("; in the paper {:.2} times", a / b),
            _ => String::new(),
        };
        let ratio = speed(theirs) / speed(ours);
        format!(
            "{}, {budget}, {protocol} protocol: the transformer reads {ratio:.2} times as many bytes a \
             second as the Kuramoto model{beside}.",
            ours.corpus
        )
    };
    pairs(&results.arms).map(sentence).collect()
}
