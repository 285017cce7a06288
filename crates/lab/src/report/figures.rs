//! Learning curves, the ablation chart, and the grid.

use crate::arm::{Arm, GRID, Table};
use crate::claims::{Claim, Verdict, groups};
use crate::results::{ArmResults, Results};
use crate::statistics::mean;
use kuramoto_model::ModelKind;
use kuramoto_phase::figure::kuva::plot::legend::LegendPosition;
use kuramoto_phase::figure::kuva::prelude::*;
use kuramoto_phase::figure::kuva::render::figure::Figure as Panels;
use kuramoto_phase::figure::{Figure, colour, range, style};
use kuramoto_train::presets::Protocol;
use std::collections::BTreeMap;
use strum::VariantArray;

/// Every figure these results can fill, each with the table it belongs to, in the order of the tables.
pub fn all(results: &Results) -> Vec<(Table, Figure)> {
    let mut figures: Vec<(Table, Figure)> = Vec::new();
    figures.extend(curves(&results.arms).map(|figure| (Table::Compare, figure)));
    // One corpus needs no name.
    let suffix =
        |group: &[&ArmResults], count: usize| if count > 1 { format!("-{}", group[0].corpus) } else { String::new() };
    let ablated = groups(&results.arms, Table::Ablations);
    for group in &ablated {
        let own = |claim: &&Claim| {
            let place = (claim.arm.table(), &claim.corpus, claim.budget);
            place == (Table::Ablations, &group[0].corpus, group[0].budget)
        };
        let claims: Vec<&Claim> = results.claims.iter().filter(own).collect();
        let suffix = suffix(group, ablated.len());
        let chart = (!claims.is_empty()).then(|| forest(&claims, &suffix));
        figures
            .extend(chart.into_iter().chain(small_multiples(group, &suffix)).map(|figure| (Table::Ablations, figure)));
    }
    let gridded = groups(&results.arms, Table::Grid);
    figures.extend(gridded.iter().map(|group| (Table::Grid, grid(group, &suffix(group, gridded.len())))));
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

/// A line of means and a band from the least to the most.
fn line(arm: &ArmResults, colour: &str, dashed: bool, legend: Option<&str>) -> [Plot; 2] {
    let points = curve(arm);
    let column = |f: fn(&(f64, f64, f64, f64)) -> f64| points.iter().map(f).collect::<Vec<f64>>();
    let band = BandPlot::new(column(|p| p.0), column(|p| p.2), column(|p| p.3)).with_color(colour).with_opacity(0.18);
    let mut line =
        LinePlot::new().with_data(points.iter().map(|p| (p.0, p.1))).with_color(colour).with_stroke_width(1.6);
    if dashed {
        line = line.with_dashed();
    }
    if let Some(legend) = legend {
        line = line.with_legend(legend);
    }
    [band.into(), line.into()]
}

/// Learning curves of what is compared: a colour a model, dashes for the paper's recipe, a panel a corpus and size.
fn curves(arms: &[ArmResults]) -> Option<Figure> {
    let (mut plots, mut layouts) = (Vec::new(), Vec::new());
    for arms in groups(arms, Table::Compare) {
        let lines = arms.iter().flat_map(|arm| {
            let colour = match arm.arm.model() {
                ModelKind::Kuramoto => colour::BLUE,
                ModelKind::Transformer => colour::ORANGE,
            };
            let dashed = matches!(arm.arm, Arm::Compare { protocol: Protocol::Paper, .. });
            line(arm, colour, dashed, Some(&arm.arm.to_string()))
        });
        let lines: Vec<Plot> = lines.collect();
        let layout = Layout::auto_from_plots(&lines)
            .with_title(format!("{}, {} parameters", arms[0].corpus, crate::plan::size(arms[0].budget)))
            .with_x_label(READ)
            .with_y_label(VALIDATION)
            .with_legend_position(LegendPosition::InsideTopRight);
        plots.push(lines);
        layouts.push(style(layout));
    }
    if plots.is_empty() {
        return None;
    }
    let panels = Panels::new(1, plots.len()).with_plots(plots).with_layouts(layouts).with_cell_size(620.0, 420.0);
    let caption = "Learning curves: means over seeds, bands from the least to the most. Dashed: the paper's recipe.";
    Some(Figure::panels("compare-curves", caption, panels))
}

/// What every ablation changes, here and in the paper; beside it the small changes alone, where large ones dwarf them.
fn forest(claims: &[&Claim], suffix: &str) -> Figure {
    let mut claims = claims.to_vec();
    claims.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    let size = |claim: &Claim| claim.mean.abs().max(claim.paper.abs());
    let largest = claims.iter().map(|claim| size(claim)).fold(0.0, f64::max);
    let small: Vec<&Claim> = claims.iter().copied().filter(|claim| size(claim) < DWARFED * largest).collect();
    let mut panels = vec![panel(&claims, "Ablations", true)];
    if small.len() > 1 && small.len() < claims.len() {
        panels.push(panel(&small, "Ablations of small effect", false));
    }
    let count = panels.len();
    let (plots, layouts): (Vec<_>, Vec<_>) = panels.into_iter().unzip();
    let panels = Panels::new(1, count).with_plots(plots).with_layouts(layouts).with_cell_size(640.0, 480.0);
    let caption = "What every ablation changes: mean paired difference to the reference and its 95% bootstrap interval. Higher is \
                   worse. Blue: the corrected test tells it from chance; grey: it does not. Diamonds: the paper, at another scale.";
    Figure::panels(&format!("ablations-chart{suffix}"), caption, panels)
}

/// Share of the largest change below which a change needs a scale of its own.
const DWARFED: f64 = 0.15;

/// A row a claim, from the largest change to the least.
fn panel(claims: &[&Claim], title: &str, legend: bool) -> (Vec<Plot>, Layout) {
    let label = |claim: &Claim| match claim.arm {
        Arm::Ablation(row) => row.title.to_string(),
        arm => arm.to_string(),
    };
    let mut rows = ForestPlot::new().with_null_value(0.0).with_marker_size(4.0).with_whisker_width(1.6);
    for claim in claims {
        // One seed has no interval.
        let whisker = |end: f64| if end.is_nan() { claim.mean } else { end };
        let colour = if claim.verdict == Verdict::Inconclusive { colour::GREY } else { colour::BLUE };
        rows = rows.with_colored_row(
            label(claim),
            claim.mean,
            whisker(claim.interval.low),
            whisker(claim.interval.high),
            colour,
        );
    }
    // Rows are drawn from the top, and counted from the bottom.
    let height = |i: usize| (claims.len() - i) as f64;
    let marks = claims.iter().enumerate().map(|(i, claim)| (claim.paper, height(i)));
    let paper =
        ScatterPlot::new().with_data(marks).with_color(colour::ORANGE).with_marker(MarkerShape::Diamond).with_size(4.0);
    let plots = vec![Plot::Forest(rows), paper.into()];
    let key = |label: &str, colour: &str, shape| LegendEntry {
        label: label.into(),
        color: colour.into(),
        shape,
        dasharray: None,
    };
    let mut layout =
        Layout::auto_from_plots(&plots).with_title(title).with_x_label("change of validation (bits per byte)");
    if legend {
        let keys = vec![
            key("here, told from chance", colour::BLUE, LegendShape::Rect),
            key("here, not told from chance", colour::GREY, LegendShape::Rect),
            key("paper", colour::ORANGE, LegendShape::Marker(MarkerShape::Diamond)),
        ];
        layout = layout.with_legend_entries(keys).with_legend_position(LegendPosition::InsideBottomRight);
    }
    (plots, style(layout))
}

/// Learning curves of every ablation beside the reference's.
fn small_multiples(arms: &[&ArmResults], suffix: &str) -> Option<Figure> {
    let reference = arms.iter().find(|arm| arm.arm == Arm::Reference)?;
    let (low, high) = range(arms.iter().flat_map(|arm| curve(arm)).flat_map(|point| [point.2, point.3]));
    let (mut plots, mut layouts) = (Vec::new(), Vec::new());
    for arm in arms.iter().filter(|arm| arm.arm != Arm::Reference) {
        let lines = [line(reference, colour::GREY, true, None), line(arm, colour::BLUE, false, None)];
        let lines: Vec<Plot> = lines.into_iter().flatten().collect();
        let layout = Layout::auto_from_plots(&lines)
            .with_title(arm.arm.to_string())
            .with_x_label(READ)
            .with_y_label("bits per byte")
            .with_y_axis_min(low)
            .with_y_axis_max(high);
        plots.push(lines);
        layouts.push(style(layout).with_title_size(12).with_label_size(10).with_tick_size(9).with_ticks(4));
    }
    let columns = 4.min(plots.len().max(1));
    let panels = Panels::new(plots.len().div_ceil(columns), columns)
        .with_plots(plots)
        .with_layouts(layouts)
        .with_cell_size(300.0, 220.0);
    let caption = "Learning curves of the ablations (blue) beside the reference (grey, dashed): means over seeds, bands \
                   from the least to the most.";
    Some(Figure::panels(&format!("ablations-curves{suffix}"), caption, panels))
}

/// Validation by depth, a line for every number of heads, a panel for every model.
fn grid(arms: &[&ArmResults], suffix: &str) -> Figure {
    let value = |model: ModelKind, heads: usize, layers: usize| {
        let cell = Arm::Grid { model, heads, layers };
        arms.iter().find(|arm| arm.arm == cell).map(|arm| mean(&arm.validations()))
    };
    let (low, high) = range(arms.iter().map(|arm| mean(&arm.validations())));
    let (mut plots, mut layouts) = (Vec::new(), Vec::new());
    for &model in ModelKind::VARIANTS {
        let line = |heads: usize| {
            let points = GRID.filter_map(|layers| Some((layers as f64, value(model, heads, layers)?)));
            let line =
                LinePlot::new().with_data(points).with_color(colour::ALL[heads - GRID.start()]).with_stroke_width(1.6);
            line.with_legend(format!("{heads} heads")).into()
        };
        let lines: Vec<Plot> = GRID.map(line).collect();
        let layout = Layout::auto_from_plots(&lines)
            .with_title(model.name())
            .with_x_label("layers")
            .with_y_label(VALIDATION)
            .with_x_axis_min(1.8)
            .with_x_axis_max(6.2)
            .with_x_tick_step(1.0)
            .with_y_axis_min(low)
            .with_y_axis_max(high);
        plots.push(lines);
        layouts.push(style(layout));
    }
    let panels =
        Panels::new(1, 2).with_plots(plots).with_layouts(layouts).with_cell_size(440.0, 400.0).with_shared_legend();
    let caption =
        "Validation by depth, a line for every number of heads: means over seeds, parameters matched in every cell.";
    Figure::panels(&format!("grid-depth{suffix}"), caption, panels)
}
