//! Tables and numbers for the terminal.

pub use kuramoto_report::TextTable as Table;
pub use kuramoto_report::table::thousands;

/// `1 run`, `2 runs`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}
