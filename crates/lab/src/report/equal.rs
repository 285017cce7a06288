//! Equal bytes, operations and seconds as a table.

use crate::equal::{Axis, Equal};
use crate::plan::size;
use crate::statistics::mean;
use kuramoto_report::document::{Cell, Table};

/// A row for every pair of models and axis; None if there is no pair.
pub fn table(equals: &[Equal]) -> Option<Table> {
    let row = |equal: &Equal| {
        let amount = match equal.axis {
            Axis::Bytes => format!("{:.3} million bytes", equal.amount / 1e6),
            Axis::Operations => format!("{:.3e} operations", equal.amount),
            Axis::Seconds => format!("{:.0} seconds", equal.amount),
        };
        vec![
            Cell::text(format!("{}, {}, {}", equal.corpus, size(equal.budget), equal.protocol)),
            Cell::text(amount),
            Cell::number(format!("{:.4}", equal.kuramoto)),
            Cell::number(format!("{:.4}", equal.transformer)),
            Cell::number(format!("{:+.4}", mean(&equal.differences))),
            Cell::number(equal.interval.to_string()),
            Cell::number(equal.differences.len().to_string()),
        ]
    };
    (!equals.is_empty()).then(|| Table {
        caption: "Both models at equal bytes, equal operations and equal seconds: the last validation of the one \
                  that gets there first, and what the learning curve of the other says there, linear between its \
                  validations (other tables have the best validation of a run). Operations are counted from the \
                  configuration, seconds are those of a run's median speed. Under a falling learning rate the \
                  other model is read before its rate has fallen: a run planned for that length would come out \
                  lower. Runs that are not finite are left out."
            .into(),
        head: vec![
            "runs",
            "at equal",
            "Kuramoto",
            "transformer",
            "difference",
            "95% interval",
            "seeds",
        ],
        rows: equals.iter().map(row).collect(),
        result: true,
    })
}
