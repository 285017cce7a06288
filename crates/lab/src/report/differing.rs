//! What differs from the paper, as tables.

use crate::arm::PaperTable;
use crate::differences::{self, Difference, Rule};
use crate::plan::Plan;
use kuramoto_report::document::{Block, Cell, Table};

/// Every difference of the plan's configurations from the paper's.
pub fn blocks(plan: &Plan) -> Vec<Block> {
    let (fixed, open): (Vec<Difference>, Vec<Difference>) =
        differences::of(plan).into_iter().partition(|difference| difference.rule == Rule::Fixed);
    let mut blocks = vec![match fixed.is_empty() {
        true => Block::Text("Nothing that the paper fixes.".into()),
        false => Block::Table(table(
            &fixed,
            "What the paper fixes and this plan sets differently: every key of every configuration was compared.",
            "paper",
        )),
    }];
    if !open.is_empty() {
        blocks.push(Block::Table(table(
            &open,
            "What the paper does not say, and this plan sets differently from our reading of the paper's recipe.",
            "our reading",
        )));
    }
    let tables = PaperTable::all().filter(|&table| plan.cells().any(|run| run.arm.table() == table));
    let held = tables.map(|table| {
        let (held, all) = differences::coverage(plan, table);
        format!("{}: {held} of the paper's {all} cells are in this plan as the paper has them.", name(table))
    });
    blocks.push(Block::List(held.chain([RECONSTRUCTION.into()]).collect()));
    blocks
}

const RECONSTRUCTION: &str = "The paper published no code. Both models were reconstructed from its text, and what \
                              it leaves open, such as where parameters start, was chosen: \
                              docs/reconstruction.md lists every choice.";

fn name(table: PaperTable) -> &'static str {
    match table {
        PaperTable::Compare => "Tables 1 and 2",
        PaperTable::Ablations => "Table 3",
        PaperTable::Grid => "Table 4",
    }
}

/// Cells that are named before the rest is counted.
const NAMED: usize = 4;

fn table(differences: &[Difference], caption: &str, head: &'static str) -> Table {
    let cells = |cells: &[String]| match cells {
        [] => "all".into(),
        cells => {
            let named = &cells[..cells.len().min(NAMED)];
            let rest = cells.len() - named.len();
            named.join(", ") + &if rest > 0 { format!(" and {rest} more") } else { String::new() }
        }
    };
    let row = |difference: &Difference| {
        vec![
            Cell::text(&difference.key),
            Cell::text(&difference.paper),
            Cell::text(&difference.here),
            Cell::text(cells(&difference.cells)),
        ]
    };
    Table {
        caption: caption.into(),
        head: vec!["key", head, "here", "arms"],
        rows: differences.iter().map(row).collect(),
        result: true,
    }
}
