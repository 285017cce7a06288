//! Tables and numbers for the terminal.

pub use kuramoto_report::TextTable as Table;
pub use kuramoto_report::table::thousands;

/// `1 run`, `2 runs`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// A number of things: 1 step, 1,400 steps.
pub fn count(n: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(n), if n == 1 { "" } else { "s" })
}
