//! Tables and numbers for the terminal.

pub use kuramoto_report::TextTable as Table;

/// 1003386 as 1,003,386.
pub fn thousands(n: usize) -> String {
    indicatif::HumanCount(n as u64).to_string()
}

/// A number of things: 1 step, 1,400 steps.
pub fn count(n: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(n), if n == 1 { "" } else { "s" })
}
