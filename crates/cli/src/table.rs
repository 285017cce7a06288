//! Tables and numbers for the terminal.

pub use kuramoto_report::TextTable as Table;

/// 1003386 as 1,003,386.
pub fn thousands(n: usize) -> String {
    indicatif::HumanCount(n as u64).to_string()
}
