//! Runs that are the paper's, tested against the paper's own summaries.

use super::tables::anchor;
use crate::arm::{Arm, PaperTable};
use crate::paper::Part;
use crate::results::{ArmResults, Results};
use crate::statistics::holm;
use kuramoto_report::document::{Cell, Table};
use kuramoto_report::samples::{Moments, Welch, welch};

/// Our runs of one cell beside the paper's.
struct Row<'a> {
    arm: &'a ArmResults,
    part: Part,
    ours: Moments,
    paper: Moments,
    found: Welch,
}

/// Welch's test of every cell of a table that is the paper's; None where no cell is.
pub fn table(results: &Results, table: PaperTable) -> Option<Table> {
    let arms = results.arms.iter().filter(|arm| arm.arm.table() == table && arm.as_in_paper);
    let rows: Vec<Row<'_>> = arms
        .flat_map(|arm| [Part::Validation, Part::Test].map(|part| row(arm, part, results)))
        .flatten()
        .collect();
    let corrected = holm(&rows.iter().map(|row| row.found.p).collect::<Vec<_>>());
    let cells = rows.iter().zip(corrected).map(|(row, p)| {
        let number = |x: Moments| Cell::number(format!("{:.4} ± {:.4} ({})", x.mean, x.sd, x.n));
        vec![
            Cell::text(format!("{}, {}, {}", row.arm.arm, row.arm.corpus, row.part))
                .link(format!("#{}", anchor(row.arm))),
            number(row.ours),
            number(row.paper),
            Cell::number(format!("{:+.4}", row.found.difference)).bold_if(p <= crate::claims::LEVEL),
            Cell::number(row.found.interval.to_string()),
            Cell::number(format!("{:.4}", row.found.p)),
            Cell::number(format!("{p:.4}")),
        ]
    });
    (!rows.is_empty()).then(|| Table {
        caption: "Our runs against the paper's own mean, deviation and number of seeds: Welch's test from \
                  summaries. The paper's deviations include what was rounded away, and for ablations, which are \
                  differences to the reference, that of its reference. It does not say how many seeds the \
                  transformer has at 5M on enwik8; five are assumed. Bold: another value than the paper's, at 5% \
                  after Holm's correction."
            .into(),
        head: vec!["cell", "here", "paper", "here - paper", "95% interval", "p", "p corrected"],
        rows: cells.collect(),
        result: true,
    })
}

fn row<'a>(arm: &'a ArmResults, part: Part, results: &Results) -> Option<Row<'a>> {
    let paper = arm.published(part)?;
    let (ours, paper) = match arm.arm {
        Arm::Ablation(_) => {
            let place = (Arm::Reference, &*arm.corpus, arm.budget);
            let reference = results.arms.iter().find(|other| other.cell() == place)?;
            let differences = arm.minus(reference, |run| crate::claims::value(run, part));
            (differences, paper.moments_beside(reference.published(part)?))
        }
        _ => (arm.values(part), paper.moments()),
    };
    let ours = Moments::of(&ours);
    Some(Row { arm, part, ours, paper, found: welch(ours, paper)? })
}
