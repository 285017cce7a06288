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
        caption: "Both models at equal bytes, equal operations and equal seconds: validation where the one that \
                  gets there first ends, read off the learning curves of both, linear between validations. \
                  Operations are counted from the configuration, seconds are those of a run's median speed. The \
                  other model is read before its schedule has ended there: a run planned for that length would \
                  come out lower, so at unequal bytes the difference favours the one that ends."
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
