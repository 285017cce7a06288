//! Tables and numbers for the terminal.

pub use kuramoto_report::TextTable as Table;
pub use kuramoto_report::table::thousands;
