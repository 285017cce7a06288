//! Aligned plain-text tables for a terminal, and numbers in them.

/// Rows of cells under a header. Columns are as wide as their widest cell; the first is left-aligned, the
/// others are right-aligned unless they are said to hold text.
pub struct TextTable {
    rows: Vec<Vec<String>>,
    /// Columns that are left-aligned besides the first.
    left: Vec<usize>,
}

impl TextTable {
    /// An empty table with these columns.
    pub fn new(header: &[&str]) -> Self {
        TextTable { rows: vec![header.iter().map(|cell| cell.to_string()).collect()], left: Vec::new() }
    }

    /// With these columns left-aligned, as text is.
    pub fn left_aligned(mut self, columns: &[usize]) -> Self {
        self.left = columns.to_vec();
        self
    }

    /// Appends a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl std::fmt::Display for TextTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |c: usize| self.rows.iter().filter_map(move |row| row.get(c));
        let width = |c: usize| cells(c).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (c, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // Not by a width in a format, which has an upper limit.
                let padding = " ".repeat(width - cell.chars().count());
                let gap = if c == 0 { "" } else { "  " };
                line += &match c == 0 || self.left.contains(&c) {
                    true => format!("{gap}{cell}{padding}"),
                    false => format!("{gap}{padding}{cell}"),
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// 1003386 as 1,003,386.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let comma = |i: usize| if i > 0 && (digits.len() - i).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(i, digit)| format!("{}{digit}", comma(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::{TextTable, thousands};

    #[test]
    fn thousands_have_commas() {
        assert_eq!([0, 999, 1000, 1_003_386].map(thousands), ["0", "999", "1,000", "1,003,386"]);
    }

    #[test]
    fn columns_line_up() {
        let mut table = TextTable::new(&["measure", "x"]);
        table.row(["a".into(), "+1.50".into()]);
        table.row(["±".into(), String::new()]);
        assert_eq!(table.to_string(), "measure      x\na        +1.50\n±\n");
        let mut table = TextTable::new(&["run", "note"]).left_aligned(&[1]);
        table.row(["a".into(), "x".into()]);
        assert_eq!(table.to_string(), "run  note\na    x\n");
    }

    #[test]
    fn cells_of_any_length() {
        let mut table = TextTable::new(&["measure", "x"]);
        table.row(["a".into(), "x".repeat(100_000)]);
        assert_eq!(table.to_string().len(), 2 * (100_000 + 10));
    }
}
