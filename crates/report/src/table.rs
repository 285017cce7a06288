//! Aligned plain-text tables for a terminal.

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
                let gap = if c == 0 { "" } else { "  " };
                line += &match c == 0 || self.left.contains(&c) {
                    true => format!("{gap}{cell:<width$}"),
                    false => format!("{gap}{cell:>width$}"),
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::TextTable;

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
}
