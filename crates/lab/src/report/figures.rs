//! Learning curves, the ablation chart, and the grid.

use crate::arm::{Arm, GRID, PaperTable};
use crate::claims::{Claim, Verdict, best, groups, value};
use crate::equal::Axis;
use crate::paper::Part;
use crate::plan::{size, size as size_of};
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
    figures.extend(costs(&results.arms).map(|figure| (PaperTable::Compare, figure)));
    figures.extend(scatter(&results.arms).map(|figure| (PaperTable::Compare, figure)));
    // One corpus needs no name.
    let suffix = |group: &[&ArmResults], count: usize| {
        if count > 1 { format!("-{}-{}", group[0].corpus, size(group[0].budget)) } else { String::new() }
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
    for group in &gridded {
        let suffix = suffix(group, gridded.len());
        figures.push((PaperTable::Grid, grid(group, &suffix)));
        figures.extend(heat_map(group, &suffix).map(|figure| (PaperTable::Grid, figure)));
    }
    figures
}

const VALIDATION: &str = "validation (bits per byte)";
const READ: &str = "bytes read (millions)";

/// Seeds that get a line of their own in a figure of curves: more would hide each other.
const FEW: usize = 12;

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

/// Adds a thin line for every seed.
fn with_seeds(panel: Panel, arm: &ArmResults, colour: &str) -> Panel {
    arm.runs.values().take(FEW).fold(panel, |panel, run| {
        let points = run.curve.iter().map(|&(bytes, bits)| (bytes as f64 / 1e6, bits));
        panel.line(Line::new(points, colour).width(THIN))
    })
}

/// Learning curves of what is compared: a colour a model, dashes for the paper's recipe, a panel a corpus and
/// size.
fn curves(arms: &[ArmResults]) -> Option<Figure> {
    let panel = |arms: Vec<&ArmResults>| {
        let empty = Panel::new(place(&arms)).labels(READ, VALIDATION).legend(Corner::Outside);
        arms.iter().fold(empty, |panel, arm| {
            let dashed = is_papers_recipe(arm);
            let of_model = colour_of(arm.arm.model());
            with_seeds(with_curve(panel, arm, of_model, dashed, Some(&arm.arm.to_string())), arm, of_model)
        })
    };
    let panels: Vec<Panel> = groups(arms, PaperTable::Compare).into_iter().map(panel).collect();
    let caption = "Learning curves: means over seeds, bands from the least to the most, the first twelve seeds as thin \
         lines. Dashed: the paper's recipe.";
    (!panels.is_empty()).then(|| Figure::row("compare-curves", caption, panels, (680.0, 420.0)))
}

/// The same by operations and by seconds, one line per seed.
fn costs(arms: &[ArmResults]) -> Option<Figure> {
    let axes = [(Axis::Operations, 1e12, "operations (10^12)"), (Axis::Seconds, 1.0, "seconds")];
    let panel = |arms: &[&ArmResults], (axis, unit, label): (Axis, f64, &str)| {
        let empty = Panel::new(place(arms)).labels(label, VALIDATION).legend(Corner::TopRight);
        arms.iter().fold(empty, |panel, arm| {
            arm.runs.values().take(FEW).enumerate().fold(panel, |panel, (i, run)| {
                let points = run.curve.iter().map(|&(bytes, bits)| (run.at(axis, bytes) / unit, bits));
                let mut line = Line::new(points, colour_of(arm.arm.model()));
                if is_papers_recipe(arm) {
                    line = line.dashed();
                }
                panel.line(if i == 0 { line.legend(arm.arm.to_string()) } else { line })
            })
        })
    };
    let groups = groups(arms, PaperTable::Compare);
    let panels: Vec<Panel> =
        groups.iter().flat_map(|arms| axes.into_iter().map(|axis| panel(arms, axis))).collect();
    let caption = "Learning curves by operations and by seconds at a run's median speed, one line per seed (the first twelve). Dashed: \
                   the paper's recipe.";
    let grid = Grid { columns: 2, cell: (480.0, 380.0), shared_legend: false };
    (!panels.is_empty()).then(|| Figure::grid("compare-cost", caption, panels, grid))
}

fn is_papers_recipe(arm: &ArmResults) -> bool {
    matches!(arm.arm, Arm::Compare { protocol: Protocol::Paper, .. })
}

/// Width of the line of a single seed.
const THIN: f64 = 0.5;

fn colour_of(model: ModelKind) -> &'static str {
    match model {
        ModelKind::Kuramoto => colour::BLUE,
        ModelKind::Transformer => colour::ORANGE,
    }
}

/// Corpus and size of a group of arms.
fn place(arms: &[&ArmResults]) -> String {
    format!("{}, {} parameters", arms[0].corpus, size(arms[0].budget))
}

/// Validation of every seed, one column per arm; separated seeds are squares, the paper's values diamonds.
fn scatter(arms: &[ArmResults]) -> Option<Figure> {
    let panel = |arms: Vec<&ArmResults>| {
        let mut panel = Panel::new(place(&arms)).labels("arm", VALIDATION);
        panel = panel.x_range(0.4, arms.len() as f64 + 0.6).x_tick_step(1.0);
        let mut keys = Vec::new();
        for (i, arm) in arms.iter().enumerate() {
            let (x, own) = ((i + 1) as f64, colour_of(arm.arm.model()));
            let seeds: Vec<(u64, f64)> = arm
                .runs
                .iter()
                .filter_map(|(seed, run)| Some((*seed, value(run, Part::Validation)?)))
                .collect();
            // Beside each other, so that none hides another.
            let spread = |j: usize| x + 0.3 * ((j as f64 + 0.5) / seeds.len() as f64 - 0.5);
            let marked = |apart: bool| {
                seeds.iter().enumerate().filter(move |(_, (seed, _))| arm.separated.contains(seed) == apart)
            };
            let points = |apart| marked(apart).map(|(j, &(_, bits))| (spread(j), bits)).collect::<Vec<_>>();
            panel = panel
                .points(Points::new(points(false), own).size(3.5))
                .points(Points::new(points(true), own).marker(Marker::Square).size(5.0));
            keys.push(Key {
                label: format!("{}: {}", i + 1, arm.arm),
                colour: own,
                marker: Some(Marker::Circle),
            });
            if let Some(paper) = arm.paper.filter(|_| arm.as_in_paper) {
                let at = Points::new([(x + 0.3, paper.mean)], colour::GREY).marker(Marker::Diamond);
                panel = panel.points(at.whiskers([paper.sd]));
            }
        }
        let key =
            |label: &str, marker| Key { label: label.into(), colour: colour::GREY, marker: Some(marker) };
        keys.extend(
            arms.iter().any(|arm| !arm.separated.is_empty()).then(|| key("separated seed", Marker::Square)),
        );
        keys.extend(
            arms.iter().any(|arm| arm.as_in_paper).then(|| key("paper, mean and sd", Marker::Diamond)),
        );
        panel.keys(keys, Corner::Outside)
    };
    let panels: Vec<Panel> = groups(arms, PaperTable::Compare).into_iter().map(panel).collect();
    let caption = "Best validation of every seed, one column per arm. No seed is left out; squares are separated from \
                   the cluster of the others.";
    (!panels.is_empty()).then(|| Figure::row("compare-seeds", caption, panels, (560.0, 420.0)))
}

/// Mean validation of every cell as a colour, a panel a model; only of a whole grid.
fn heat_map(arms: &[&ArmResults], suffix: &str) -> Option<Figure> {
    let cell = |model, heads, layers| {
        let arm = arms.iter().find(|arm| arm.arm == Arm::Grid { model, heads, layers })?;
        Some(mean(&arm.validations())).filter(|mean| mean.is_finite())
    };
    let rows = |&model: &ModelKind| {
        let row = |heads| GRID.map(|layers| cell(model, heads, layers)).collect::<Option<Vec<_>>>();
        Some((model, GRID.map(row).collect::<Option<Vec<_>>>()?))
    };
    let grids: Vec<(ModelKind, Vec<Vec<f64>>)> = ModelKind::VARIANTS.iter().filter_map(rows).collect();
    let values = || grids.iter().flat_map(|(_, rows)| rows.iter().flatten().copied());
    let range = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let first = *GRID.start() as f64;
    let panel = |(model, rows): &(ModelKind, Vec<Vec<f64>>)| {
        let found = best(&|heads, layers| Some(rows[heads - GRID.start()][layers - GRID.start()]));
        let at = found
            .map_or_else(String::new, |(heads, layers)| format!(": best {heads} heads, {layers} layers"));
        Panel::new(format!("{model}{at}")).labels("layers", "heads").x_tick_step(1.0).heat(
            rows,
            (first, first),
            range,
        )
    };
    let panels: Vec<Panel> = grids.iter().map(panel).collect();
    let caption = format!(
        "{}: mean validation of every cell, bits per byte; dark is better, and both models share the colours.",
        place(arms)
    );
    let name = format!("grid-heat{suffix}");
    (!panels.is_empty()).then(|| Figure::row(&name, &caption, panels, (460.0, 400.0)))
}

/// What every ablation changes, here and in the paper; beside it the small changes alone, where large ones
/// dwarf them.
fn forest(claims: &[&Claim], suffix: &str) -> Figure {
    let mut claims = claims.to_vec();
    claims.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    let size = |claim: &Claim| claim.mean.abs().max(claim.paper.unwrap_or(0.0).abs());
    let largest = claims.iter().map(|claim| size(claim)).fold(0.0, f64::max);
    let small: Vec<&Claim> = claims.iter().copied().filter(|claim| size(claim) < DWARFED * largest).collect();
    let place = claims
        .first()
        .map_or_else(String::new, |claim| format!("{}, {}", claim.corpus, size_of(claim.budget)));
    let mut panels = vec![panel(&claims, &format!("Ablations, {place}"))];
    if small.len() > 1 && small.len() < claims.len() {
        panels.push(panel(&small, "Small changes"));
    }
    let judged = claims.iter().any(|claim| claim.verdict != Verdict::NotJudged);
    // Beside the last panel, where it covers nothing.
    if let Some(last) = panels.pop() {
        panels.push(last.keys(keys(judged), Corner::Outside));
    }
    let mut caption = "What every ablation changes: mean paired difference to the reference and its 95% \
                       bootstrap interval. Higher is worse. Diamonds: the paper, at 1m and 50 epochs."
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
    let paper = claims.iter().enumerate().filter_map(|(i, claim)| Some((claim.paper?, height(i))));
    Panel::new(title)
        .x_label("change of validation (bits per byte)")
        .forest(claims.iter().map(row))
        .points(Points::new(paper, colour::ORANGE).marker(Marker::Diamond))
}

/// What the colours of the chart mean.
fn keys(judged: bool) -> Vec<Key<'static>> {
    let key = |label: &str, colour, marker| Key { label: label.into(), colour, marker };
    let paper = key("paper, 1m", colour::ORANGE, Some(Marker::Diamond));
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
        with_seeds(with_curve(beside, arm, colour::BLUE, false, None), arm, colour::BLUE)
    };
    let panels: Vec<Panel> =
        arms.iter().filter(|arm| arm.arm != Arm::Reference).map(|arm| panel(arm)).collect();
    let grid = Grid { columns: 4.min(panels.len().max(1)), cell: (300.0, 220.0), shared_legend: false };
    let caption = "Learning curves of the ablations (blue) beside the reference (grey, dashed): means over \
                   seeds, bands from the least to the most, the first twelve seeds of an ablation as thin lines.";
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
