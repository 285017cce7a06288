//! What a plan costs: on this machine, on other numbers of cores, and on the paper's graphics card.

use crate::progress::seconds;
use crate::table::{Table, counted, thousands};
use anyhow::Result;
use kuramoto_kernels::peak;
use kuramoto_lab::plan::{size, width};
use kuramoto_lab::{Plan, Planned, paper};

/// Share of the multiply-add peak that an estimate counts on: what runs of this size reached, one a core, on
/// two cores. Small models spend more of their time outside of products.
pub fn expected_utilisation(parameters: usize) -> f64 {
    match parameters {
        ..30_000 => 0.05,
        30_000..500_000 => 0.45,
        _ => 0.7,
    }
}

/// Cores that a plan is estimated for besides this machine's, where none are asked for.
const CLUSTER: usize = 64;

/// The runs as a table, and their cost.
pub fn text(plan: &Plan, asked: Option<usize>) -> Result<String> {
    let cores = crate::threads(None)?;
    let peak = peak::measure(0.1);
    let on_one_core = |run: &Planned| run.flops / (peak * expected_utilisation(run.parameters));
    let mut table = Table::new(&[
        "arm",
        "table",
        "corpus",
        "size",
        "width",
        "parameters",
        "difference",
        "seeds",
        "a run on one core",
    ]);
    for run in plan.cells() {
        table.row([
            run.arm.to_string(),
            run.arm.table().to_string(),
            run.corpus.clone(),
            size(run.budget),
            width(&run.config.model),
            thousands(run.parameters),
            plan.off(run).map_or_else(|| "-".into(), |off| format!("{:+.1}%", 100.0 * off)),
            plan.runs.iter().filter(|other| other.cell() == run.cell()).count().to_string(),
            seconds(on_one_core(run)),
        ]);
    }
    let total: f64 = plan.runs.iter().map(on_one_core).sum();
    let longest = plan.runs.iter().map(on_one_core).fold(0.0, f64::max);
    // Runs do not wait for each other, but one alone uses at most as many cores as it has lanes.
    let lanes = plan.runs.iter().map(|run| run.config.batch.lanes).max().unwrap_or(1);
    let on = |cores: usize| seconds((total / cores as f64).max(longest / cores.min(lanes) as f64));
    let other = asked.unwrap_or(CLUSTER);
    let mut text = format!(
        "{table}\ndifference: in parameters, of a transformer to the Kuramoto model, of an ablation to its \
         reference\n{}, {:.2e} floating-point operations: about {} on the {} here, if nothing else runs on \
         them; {} on {} such cores\n",
        counted(plan.runs.len(), "run"),
        plan.flops(),
        on(cores),
        counted(cores, "core"),
        on(other),
        thousands(other),
    );
    if let Some(time) = on_the_papers_card(plan) {
        text += &format!(
            "about {} one after the other on a graphics card like the paper's, at the speeds it reports \
             (ablations and grid at those of Table 1's models); this program's own speed there was never \
             measured\n",
            seconds(time)
        );
    }
    Ok(text)
}

/// Seconds of training at the speeds the paper reports; None if a run is not of its sizes and corpora.
fn on_the_papers_card(plan: &Plan) -> Option<f64> {
    let time = |run: &Planned| {
        let sized = paper::BUDGETS.contains(&run.budget);
        let (speed, _) = paper::computed(&run.corpus, run.budget, run.arm.model()).filter(|_| sized)?;
        Some(run.flops / run.config.model.flops(run.config.batch.context).training / speed)
    };
    plan.runs.iter().map(time).sum()
}
