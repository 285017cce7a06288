//! Learning curves, the ablation chart, and the grid.

use crate::arm::{Arm, GRID, PaperTable};
use crate::claims::{Claim, Verdict, groups};
use crate::results::{ArmResults, Results};
use crate::statistics::{mean, standard_deviation};
use kuramoto_model::ModelKind;
use kuramoto_report::figure::{
    Corner, Figure, ForestRow, Grid, Key, Line, Marker, Panel, Points, colour, range,
};
use kuramoto_train::presets::Protocol;
use std::collections::BTreeMap;
use strum::VariantArray;

/// Every figure these results can fill, each with the table it belongs to, in the order of the tables.
pub fn all(results: &Results) -> Vec<(PaperTable, Figure)> {
    let mut figures: Vec<(PaperTable, Figure)> = Vec::new();
    figures.extend(curves(&results.arms).map(|figure| (PaperTable::Compare, figure)));
    // One corpus needs no name.
    let suffix = |group: &[&ArmResults], count: usize| {
        if count > 1 { format!("-{}", group[0].corpus) } else { String::new() }
    };
    let ablated = groups(&results.arms, PaperTable::Ablations);
    for group in &ablated {
        let own = |claim: &&Claim| {
            let place = (claim.arm.table(), &claim.corpus, claim.budget);
            place == (PaperTable::Ablations, &group[0].corpus, group[0].budget)
        };
        let claims: Vec<&Claim> = results.claims.iter().filter(own).collect();
        let suffix = suffix(group, ablated.len());
        let chart = (!claims.is_empty()).then(|| forest(&claims, &suffix));
        figures.extend(
            chart
                .into_iter()
                .chain(small_multiples(group, &suffix))
                .map(|figure| (PaperTable::Ablations, figure)),
        );
    }
    let gridded = groups(&results.arms, PaperTable::Grid);
    figures
        .extend(gridded.iter().map(|group| (PaperTable::Grid, grid(group, &suffix(group, gridded.len())))));
    figures
}

const VALIDATION: &str = "validation (bits per byte)";
const READ: &str = "bytes read (millions)";

/// Mean, least and most over seeds of an arm's validations, by millions of bytes read.
fn curve(arm: &ArmResults) -> Vec<(f64, f64, f64, f64)> {
    let mut by_bytes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for &(bytes, bits) in arm.runs.values().flat_map(|run| &run.curve) {
        by_bytes.entry(bytes).or_default().push(bits);
    }
    let fold = |values: &[f64], f: fn(f64, f64) -> f64| values.iter().copied().reduce(f).unwrap_or(f64::NAN);
    by_bytes.iter().map(|(&b, v)| (b as f64 / 1e6, mean(v), fold(v, f64::min), fold(v, f64::max))).collect()
}

/// Adds a line of means and a band from the least to the most.
fn with_curve(panel: Panel, arm: &ArmResults, colour: &str, dashed: bool, legend: Option<&str>) -> Panel {
    let points = curve(arm);
    let mut line = Line::new(points.iter().map(|p| (p.0, p.1)), colour);
    if dashed {
        line = line.dashed();
    }
    if let Some(legend) = legend {
        line = line.legend(legend);
    }
    panel.band(points.iter().map(|p| (p.0, p.2, p.3)), colour).line(line)
}

/// Learning curves of what is compared: a colour a model, dashes for the paper's recipe, a panel a corpus and
/// size.
fn curves(arms: &[ArmResults]) -> Option<Figure> {
    let panel = |arms: Vec<&ArmResults>| {
        let title = format!("{}, {} parameters", arms[0].corpus, crate::plan::size(arms[0].budget));
        let empty = Panel::new(title).labels(READ, VALIDATION).legend(Corner::Outside);
        arms.iter().fold(empty, |panel, arm| {
            let colour = match arm.arm.model() {
                ModelKind::Kuramoto => colour::BLUE,
                ModelKind::Transformer => colour::ORANGE,
            };
            let dashed = matches!(arm.arm, Arm::Compare { protocol: Protocol::Paper, .. });
            with_curve(panel, arm, colour, dashed, Some(&arm.arm.to_string()))
        })
    };
    let panels: Vec<Panel> = groups(arms, PaperTable::Compare).into_iter().map(panel).collect();
    let caption =
        "Learning curves: means over seeds, bands from the least to the most. Dashed: the paper's recipe.";
    (!panels.is_empty()).then(|| Figure::row("compare-curves", caption, panels, (680.0, 420.0)))
}

/// What every ablation changes, here and in the paper; beside it the small changes alone, where large ones
/// dwarf them.
fn forest(claims: &[&Claim], suffix: &str) -> Figure {
    let mut claims = claims.to_vec();
    claims.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    let size = |claim: &Claim| claim.mean.abs().max(claim.paper.abs());
    let largest = claims.iter().map(|claim| size(claim)).fold(0.0, f64::max);
    let small: Vec<&Claim> = claims.iter().copied().filter(|claim| size(claim) < DWARFED * largest).collect();
    let mut panels = vec![panel(&claims, "Ablations")];
    if small.len() > 1 && small.len() < claims.len() {
        panels.push(panel(&small, "Ablations of small change"));
    }
    let judged = claims.iter().any(|claim| claim.verdict != Verdict::NotJudged);
    // Beside the last panel, where it covers nothing.
    if let Some(last) = panels.pop() {
        panels.push(last.keys(keys(judged), Corner::Outside));
    }
    let mut caption = "What every ablation changes: mean paired difference to the reference and its 95% \
                       bootstrap interval. Higher is worse. Diamonds: the paper, at another scale."
        .to_string();
    if judged {
        caption += " Blue: significant after correction; grey: not significant.";
    }
    Figure::row(&format!("ablations-chart{suffix}"), &caption, panels, (640.0, 480.0))
}

/// Share of the largest change below which a change needs a scale of its own.
const DWARFED: f64 = 0.15;

/// A row a claim, from the largest change to the least.
fn panel(claims: &[&Claim], title: &str) -> Panel {
    let row = |claim: &&Claim| {
        // One seed has no interval.
        let whisker = |end: f64| if end.is_nan() { claim.mean } else { end };
        ForestRow {
            label: match claim.arm {
                Arm::Ablation(row) => row.title.to_string(),
                arm => arm.to_string(),
            },
            mean: claim.mean,
            low: whisker(claim.interval.low),
            high: whisker(claim.interval.high),
            colour: if claim.verdict.is_shown() { colour::BLUE } else { colour::GREY },
        }
    };
    let height = |i: usize| (claims.len() - i) as f64;
    let paper = claims.iter().enumerate().map(|(i, claim)| (claim.paper, height(i)));
    Panel::new(title)
        .x_label("change of validation (bits per byte)")
        .forest(claims.iter().map(row))
        .points(Points::new(paper, colour::ORANGE).marker(Marker::Diamond))
}

/// What the colours of the chart mean.
fn keys(judged: bool) -> Vec<Key<'static>> {
    let key = |label: &str, colour, marker| Key { label: label.into(), colour, marker };
    let paper = key("paper", colour::ORANGE, Some(Marker::Diamond));
    match judged {
        true => vec![
            key("here, significant", colour::BLUE, None),
            key("here, not significant", colour::GREY, None),
            paper,
        ],
        false => vec![key("here", colour::GREY, None), paper],
    }
}

/// Learning curves of every ablation beside the reference's.
fn small_multiples(arms: &[&ArmResults], suffix: &str) -> Option<Figure> {
    let reference = arms.iter().find(|arm| arm.arm == Arm::Reference)?;
    let (low, high) = range(arms.iter().flat_map(|arm| curve(arm)).flat_map(|point| [point.2, point.3]));
    let panel = |arm: &ArmResults| {
        let empty =
            Panel::new(arm.arm.to_string()).labels(READ, "bits per byte").y_range(low, high).compact();
        let beside = with_curve(empty, reference, colour::GREY, true, None);
        with_curve(beside, arm, colour::BLUE, false, None)
    };
    let panels: Vec<Panel> =
        arms.iter().filter(|arm| arm.arm != Arm::Reference).map(|arm| panel(arm)).collect();
    let grid = Grid { columns: 4.min(panels.len().max(1)), cell: (300.0, 220.0), shared_legend: false };
    let caption = "Learning curves of the ablations (blue) beside the reference (grey, dashed): means over \
                   seeds, bands from the least to the most.";
    Some(Figure::grid(&format!("ablations-curves{suffix}"), caption, panels, grid))
}

/// Validation by depth, a line for every number of heads, a panel for every model.
fn grid(arms: &[&ArmResults], suffix: &str) -> Figure {
    // Mean and standard deviation over seeds; one seed has none.
    let of = |arm: &ArmResults| {
        let values = arm.validations();
        (mean(&values), Some(standard_deviation(&values)).filter(|sd| sd.is_finite()).unwrap_or(0.0))
    };
    let (low, high) =
        range(arms.iter().map(|arm| of(arm)).flat_map(|(middle, sd)| [middle - sd, middle + sd]));
    let panel = |&model: &ModelKind| {
        let with_heads = |panel: Panel, heads: usize| {
            let cell = |layers: usize| {
                let arm = arms.iter().find(|arm| arm.arm == Arm::Grid { model, heads, layers })?;
                let (middle, sd) = of(arm);
                Some((layers as f64, middle, sd))
            };
            let cells: Vec<(f64, f64, f64)> = GRID.filter_map(cell).collect();
            let points = || cells.iter().map(|&(layers, middle, _)| (layers, middle));
            let colour = colour::of(heads - GRID.start(), GRID.count());
            panel
                .line(Line::new(points(), &colour).legend(format!("{heads} heads")))
                .points(Points::new(points(), &colour).size(3.0).whiskers(cells.iter().map(|cell| cell.2)))
        };
        let empty = Panel::new(model.name())
            .labels("layers", VALIDATION)
            .x_range(1.8, 6.2)
            .x_tick_step(1.0)
            .y_range(low, high);
        GRID.fold(empty, with_heads)
    };
    let panels = ModelKind::VARIANTS.iter().map(panel).collect();
    let caption = "Validation by depth, a line for every number of heads: means over seeds, whiskers of one \
                   standard deviation; parameters matched in every cell.";
    let grid = Grid { columns: 2, cell: (440.0, 400.0), shared_legend: true };
    Figure::grid(&format!("grid-depth{suffix}"), caption, panels, grid)
}
