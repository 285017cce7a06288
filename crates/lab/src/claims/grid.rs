//! What the paper says of heads and layers (Section 4.5), as quantities that every seed has one value of.

use super::questions::{Place, Quantity, Question, other, prefix, scope};
use super::{Scope, Test};
use crate::arm::{Arm, GRID};
use crate::paper;
use crate::statistics::mean;
use kuramoto_model::ModelKind;
use kuramoto_train::presets::Protocol;
use std::collections::BTreeSet;
use strum::VariantArray;

/// Something about the cells of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// The range over depths, averaged over heads, less the range over heads, averaged over depths.
    DepthOverHeads(ModelKind),
    /// What five layers gain over two, averaged over heads.
    FiveLayers(ModelKind),
    /// The same for the number of heads that gains least, see [`gains`].
    LeastGain(ModelKind),
    /// What a sixth layer changes, averaged over heads.
    SixthLayer(ModelKind),
    /// The base, one head and four layers, less the best cell.
    Tuning(ModelKind),
    /// The best Kuramoto cell less the best transformer cell.
    BestAgainstBest,
}

/// Validation of a cell.
type Cells<'a> = dyn Fn(ModelKind, usize, usize) -> Option<f64> + 'a;

/// Every cell of the grid, heads before layers.
fn shapes() -> impl Iterator<Item = (usize, usize)> {
    GRID.flat_map(|heads| GRID.map(move |layers| (heads, layers)))
}

fn over_heads(of: impl Fn(usize) -> Option<f64>) -> Option<Vec<f64>> {
    GRID.map(of).collect()
}

/// Ranges grow with noise, so ranges of as many cells each are compared: were depth and heads alike, either
/// could come out larger.
fn depth_over_heads(value: &dyn Fn(usize, usize) -> Option<f64>) -> Option<f64> {
    let range = |of: &dyn Fn(usize) -> Option<f64>| {
        let row = GRID.map(of).collect::<Option<Vec<f64>>>()?;
        Some(row.iter().copied().fold(f64::MIN, f64::max) - row.iter().copied().fold(f64::MAX, f64::min))
    };
    let over_depths = GRID.map(|heads| range(&|layers| value(heads, layers))).collect::<Option<Vec<_>>>()?;
    let over_heads = GRID.map(|layers| range(&|heads| value(heads, layers))).collect::<Option<Vec<_>>>()?;
    Some(mean(&over_depths) - mean(&over_heads))
}

impl Measure {
    /// Its value where every cell has one. `best` are the cells that count as best, base validations are given
    /// by `base`.
    fn of(
        self,
        cells: &Cells<'_>,
        base: &dyn Fn(ModelKind) -> Option<f64>,
        best: &dyn Fn(ModelKind) -> Option<(usize, usize)>,
    ) -> Option<f64> {
        let gain =
            |model, from, to| over_heads(|heads| Some(cells(model, heads, from)? - cells(model, heads, to)?));
        let at_best = |model| best(model).and_then(|(heads, layers)| cells(model, heads, layers));
        match self {
            Measure::DepthOverHeads(model) => depth_over_heads(&|heads, layers| cells(model, heads, layers)),
            Measure::FiveLayers(model) => Some(mean(&gain(model, 2, 5)?)),
            Measure::LeastGain(model) => gain(model, 2, 5)?.into_iter().reduce(f64::min),
            Measure::SixthLayer(model) => Some(-mean(&gain(model, 5, 6)?)),
            Measure::Tuning(model) => Some(base(model)? - at_best(model)?),
            Measure::BestAgainstBest => {
                Some(at_best(ModelKind::Kuramoto)? - at_best(ModelKind::Transformer)?)
            }
        }
    }

    /// Its value in the paper's Table 4.
    fn in_paper(self) -> Option<f64> {
        let cells = |model, heads, layers| Some(paper::gridded(model, heads, layers)?.mean);
        let base =
            |model| Some(paper::validated(Arm::base(model), paper::CORPORA[0], paper::BUDGETS[0])?.mean);
        self.of(&cells, &base, &|model| best(&|heads, layers| cells(model, heads, layers)))
    }

    fn statement(self) -> String {
        match self {
            Measure::DepthOverHeads(model) => format!("{model}: depth matters more than heads"),
            Measure::FiveLayers(model) => {
                let (low, high) = FIVE_LAYERS;
                format!("{model}: five layers gain {low} to {high} over two, averaged over heads")
            }
            Measure::LeastGain(model) => {
                format!("{model}: five layers gain over two at every number of heads")
            }
            Measure::SixthLayer(model) => {
                format!("{model}: a sixth layer changes at most {SIXTH_LAYER}, averaged over heads")
            }
            Measure::Tuning(model) => {
                format!("{model}: the best shape is better than one head and four layers")
            }
            Measure::BestAgainstBest => "best shapes: Kuramoto behind transformer".into(),
        }
    }

    fn test(self) -> Test {
        match self {
            Measure::FiveLayers(_) => Test::Within { low: FIVE_LAYERS.0, high: FIVE_LAYERS.1 },
            Measure::SixthLayer(_) => Test::Within { low: -SIXTH_LAYER, high: SIXTH_LAYER },
            _ => Test::Sign,
        }
    }

    /// The models whose cells it needs.
    fn models(self) -> Vec<ModelKind> {
        match self {
            Measure::DepthOverHeads(model)
            | Measure::FiveLayers(model)
            | Measure::LeastGain(model)
            | Measure::SixthLayer(model)
            | Measure::Tuning(model) => vec![model],
            Measure::BestAgainstBest => ModelKind::VARIANTS.to_vec(),
        }
    }
}

/// What five layers gain over two, in the paper's words "about 0.06 to 0.11".
const FIVE_LAYERS: (f64, f64) = (0.06, 0.11);
/// What a sixth layer changes, in the paper's words "at most about 0.02".
const SIXTH_LAYER: f64 = 0.02;

/// The cell of the least value, of those that have one.
pub(crate) fn best(value: &dyn Fn(usize, usize) -> Option<f64>) -> Option<(usize, usize)> {
    let cells = shapes().filter_map(|(heads, layers)| Some((value(heads, layers)?, (heads, layers))));
    cells.filter(|(value, _)| value.is_finite()).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, shape)| shape)
}

/// Everything that the paper says of the grid, of every grid that is whole.
pub(super) fn questions(places: &[Place<'_>]) -> Vec<Question> {
    // A grid is listed under its cell of fewest heads and layers.
    let corner = |model| Arm::Grid { model, heads: *GRID.start(), layers: *GRID.start() };
    let of_model = |model| {
        let measures = [
            Measure::DepthOverHeads(model),
            Measure::FiveLayers(model),
            Measure::LeastGain(model),
            Measure::SixthLayer(model),
            Measure::Tuning(model),
        ];
        places.iter().filter(move |place| place.arm == corner(model)).flat_map(move |place| {
            measures.into_iter().filter_map(move |measure| question(measure, place, places))
        })
    };
    let mut all: Vec<Question> = ModelKind::VARIANTS.iter().flat_map(|&model| of_model(model)).collect();
    let first = places.iter().filter(|place| place.arm == corner(ModelKind::Kuramoto));
    all.extend(first.filter_map(|place| question(Measure::BestAgainstBest, place, places)));
    all
}

fn question(measure: Measure, place: &Place<'_>, places: &[Place<'_>]) -> Option<Question> {
    let mut needed = Vec::new();
    for model in measure.models() {
        for (heads, layers) in shapes() {
            needed.push(other(places, place, Arm::Grid { model, heads, layers })?);
        }
        if matches!(measure, Measure::Tuning(_)) {
            // Table 1 has the base only where all recipes are the paper's.
            let exact = needed.iter().all(|place| place.exact);
            let table_1 = || other(places, place, bases(model)[1]).filter(|base| exact && base.exact);
            other(places, place, Arm::base(model)).or_else(table_1)?;
        }
    }
    let scope = scope(&needed);
    // A range that the paper gives for its own runs means nothing for others.
    if scope != Scope::Paper && measure.test() != Test::Sign {
        return None;
    }
    Some(Question {
        statement: format!("{}: {}", prefix(place), measure.statement()),
        arm: place.arm,
        corpus: place.corpus.into(),
        budget: place.budget,
        scope,
        test: measure.test(),
        quantity: Quantity::Gridded(measure),
        paper: (scope != Scope::Own).then(|| measure.in_paper()).flatten(),
    })
}

/// Arms that can stand for the shape of Table 1: the grid's own base, or in the paper's own plan, where both
/// models have one head and four layers there, the arm of Table 1 itself.
fn bases(model: ModelKind) -> [Arm; 2] {
    [Arm::base(model), Arm::Compare { model, protocol: Protocol::Paper }]
}

/// What five layers gain over two in every seed, for each number of heads.
pub(super) fn gains(
    model: ModelKind,
    seeds: &BTreeSet<u64>,
    of: &dyn Fn(Arm, u64) -> Option<f64>,
) -> Vec<Vec<f64>> {
    let gain = |heads, seed| {
        let cell = |layers| of(Arm::Grid { model, heads, layers }, seed);
        Some(cell(2)? - cell(5)?)
    };
    GRID.map(|heads| seeds.iter().filter_map(|&seed| gain(heads, seed)).collect()).collect()
}

/// A value for every seed that all cells have; `of` is the validation of an arm in a seed. The best cell is
/// chosen by the other seeds: chosen and judged by the same one, it would seem better than it is.
pub(super) fn by_seed(
    measure: Measure,
    seeds: &BTreeSet<u64>,
    of: &dyn Fn(Arm, u64) -> Option<f64>,
) -> Vec<f64> {
    let cell = |model, heads, layers, seed| of(Arm::Grid { model, heads, layers }, seed);
    let base = |model, seed| bases(model).into_iter().find_map(|arm| of(arm, seed));
    let best_in_others = |model: ModelKind, left_out: u64| {
        let others = || seeds.iter().copied().filter(move |&seed| seed != left_out);
        let mean_of = |heads, layers| {
            let values: Vec<f64> = others().filter_map(|seed| cell(model, heads, layers, seed)).collect();
            (!values.is_empty()).then(|| mean(&values))
        };
        best(&mean_of)
    };
    let value = |&seed: &u64| {
        measure.of(
            &|model, heads, layers| cell(model, heads, layers, seed),
            &|model| base(model, seed),
            &|model| best_in_others(model, seed),
        )
    };
    seeds.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} against {expected}");
    }

    #[test]
    fn neither_depth_nor_heads_is_favoured() {
        // A layer gains 0.1, a head 0.02.
        near(depth_over_heads(&|h, l| Some(3.0 - 0.1 * l as f64 - 0.02 * h as f64)), 0.4 - 0.08);
        // Exchanged, they change the sign and nothing else, whatever the noise.
        let noisy = |h: usize, l: usize| Some(((h * 7919 + l * 104_729) as f64).sin());
        near(depth_over_heads(&|h, l| noisy(l, h)), -depth_over_heads(&noisy).unwrap());
        assert_eq!(depth_over_heads(&|h, l| (h + l < 12).then_some(1.0)), None, "a cell is missing");
    }

    /// The sentences of Section 4.5, from the numbers of Table 4.
    #[test]
    fn the_papers_table_says_what_the_paper_says() {
        use ModelKind::{Kuramoto, Transformer};
        for model in [Kuramoto, Transformer] {
            assert!(Measure::DepthOverHeads(model).in_paper().unwrap() > 0.0);
            let gain = Measure::FiveLayers(model).in_paper().unwrap();
            assert!((FIVE_LAYERS.0..FIVE_LAYERS.1).contains(&gain), "{model}: {gain}");
            assert!(Measure::SixthLayer(model).in_paper().unwrap().abs() < SIXTH_LAYER);
        }
        near(Measure::LeastGain(Kuramoto).in_paper(), 0.067);
        // The cell of five heads and five layers, which the paper calls the main exception.
        near(Measure::LeastGain(Transformer).in_paper(), 0.022);
        near(Measure::Tuning(Kuramoto).in_paper(), 0.052);
        near(Measure::Tuning(Transformer).in_paper(), 0.050);
        near(Measure::BestAgainstBest.in_paper(), 0.019);
    }

    #[test]
    fn a_whole_grid_is_asked_everything_and_a_part_nothing() {
        let cell = |arm| Place { arm, corpus: "enwik8", budget: 168_000, exact: false, tested: false };
        let grid = || Arm::all().filter(|arm| matches!(arm, Arm::Grid { .. })).map(cell);
        let whole: Vec<Place<'_>> = grid().collect();
        let asked = questions(&whole);
        assert_eq!(asked.len(), 7, "ranges are asked of the paper's runs alone");
        assert!(asked.iter().all(|question| question.scope == Scope::Elsewhere));
        assert!(asked.iter().all(|question| question.statement.starts_with("enwik8, 168k: ")));
        let no_base: Vec<Place<'_>> = grid().filter(|place| place.arm.is_in_paper()).collect();
        assert_eq!(questions(&no_base).len(), 5, "nothing to compare the best shape with");
        let first = Arm::Grid { model: ModelKind::Kuramoto, heads: 2, layers: 2 };
        let part: Vec<Place<'_>> = grid().filter(|place| place.arm != first).collect();
        assert_eq!(questions(&part).len(), 3, "one model is whole");
    }

    /// Of cells that differ by noise alone, the best seems better only where the seed that chose it judges it.
    #[test]
    fn the_best_cell_is_not_judged_by_the_seed_that_chose_it() {
        let noise = |arm: Arm, seed: u64| match arm {
            Arm::Grid { heads: 1, .. } => Some(0.0),
            Arm::Grid { heads, layers, .. } => {
                let mixed = (seed as usize * 31 + heads * 7919 + layers * 104_729) as f64;
                Some((mixed * mixed).sin())
            }
            _ => None,
        };
        let seeds: BTreeSet<u64> = (0..40).collect();
        let found = by_seed(Measure::Tuning(ModelKind::Kuramoto), &seeds, &noise);
        assert_eq!(found.len(), 40);
        assert!(mean(&found).abs() < 0.4, "{}", mean(&found));
        let cells =
            |seed| move |heads, layers| noise(Arm::Grid { model: ModelKind::Kuramoto, heads, layers }, seed);
        let biased = seeds.iter().map(|&seed| {
            let (heads, layers) = best(&cells(seed)).unwrap();
            -cells(seed)(heads, layers).unwrap()
        });
        assert!(mean(&biased.collect::<Vec<_>>()) > 0.9);
        assert!(
            by_seed(Measure::Tuning(ModelKind::Kuramoto), &[3].into(), &noise).is_empty(),
            "one seed cannot"
        );
    }
}
