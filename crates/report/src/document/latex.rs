//! LaTeX with array and booktabs: the tables of results, to be put into a paper with `\input`.
//!
//! A table must fit the page. Its type is as large as its numbers allow, titles of columns are stacked, and
//! columns of text share what is left of the line.

use super::{Block, Document, Table};
use std::fmt::Write;

/// Width of a line in the class `article`, points.
const LINE: f64 = 345.0;
/// Space on either side of a column, points.
const SPACE: f64 = 3.0;
/// Sizes of type from large to small: name, and points of an em; small type is cut wider.
const SIZES: [(&str, f64); 4] =
    [("small", 9.25), ("footnotesize", 8.5), ("scriptsize", 7.97), ("tiny", 6.81)];
/// Ems that a column of text has at least, if its text is that long.
const LEAST_TEXT: f64 = 6.0;

pub(super) fn render(document: &Document) -> String {
    let mut text =
        format!("% {}\n% Needs \\usepackage{{array,booktabs}}.\n", document.title.replace('\n', " "));
    for block in &document.blocks {
        if let Block::Table(table) = block
            && table.result
        {
            text += &grid(table);
        }
    }
    text
}

/// How a column is set.
struct Column {
    number: bool,
    /// Width of its longest cell, ems.
    natural: f64,
    /// Width that it gets, ems.
    width: f64,
}

impl Column {
    /// As wide as what cannot be broken.
    fn least(table: &Table, i: usize) -> Column {
        let number = table.rows.first().is_some_and(|row| row[i].number);
        let longest_word =
            |text: &str, bold: bool| text.split(' ').map(|word| width(word, bold)).fold(0.0, f64::max);
        let widest =
            |of: &dyn Fn(&super::Cell) -> f64| table.rows.iter().map(|row| of(&row[i])).fold(0.0, f64::max);
        let natural = widest(&|cell| width(&cell.text, cell.bold));
        let unbroken = match number {
            true => natural,
            false => widest(&|cell| longest_word(&cell.text, cell.bold)).max(natural.min(LEAST_TEXT)),
        };
        let title = longest_word(table.head[i], false);
        Column { number, natural: natural.max(title), width: unbroken.max(title) }
    }

    fn is_broken(&self) -> bool {
        self.width < self.natural && !self.number
    }

    fn letter(&self, em: f64) -> String {
        match (self.number, self.is_broken()) {
            (true, _) => "r".into(),
            (false, false) => "l".into(),
            (false, true) => {
                format!(
                    ">{{\\raggedright\\arraybackslash}}p{{{:.3}\\textwidth}}",
                    (1000.0 * self.width * em / LINE).floor() / 1000.0
                )
            }
        }
    }
}

/// The columns of a table and the size of its type.
fn layout(table: &Table) -> (Vec<Column>, (&'static str, f64)) {
    let mut columns: Vec<Column> = (0..table.head.len()).map(|i| Column::least(table, i)).collect();
    let spaces = 2.0 * SPACE * columns.len().saturating_sub(1) as f64;
    let ems: f64 = columns.iter().map(|column| column.width).sum();
    let fits = |(_, em): &&(&str, f64)| ems * em + spaces <= LINE;
    let size = *SIZES.iter().find(fits).unwrap_or(&SIZES[SIZES.len() - 1]);
    // What is left of the line goes to the text that is broken, in proportion to what it lacks.
    let left = ((LINE - spaces) / size.1 - ems).max(0.0);
    let lack: f64 = columns.iter().filter(|c| c.is_broken()).map(|c| c.natural - c.width).sum();
    let share = if lack > 0.0 { (left / lack).min(1.0) } else { 0.0 };
    for column in columns.iter_mut().filter(|column| column.is_broken()) {
        column.width += share * (column.natural - column.width);
    }
    (columns, size)
}

fn grid(table: &Table) -> String {
    let (columns, (size, em)) = layout(table);
    let letters: String = columns.iter().map(|column| column.letter(em)).collect();
    let head: Vec<String> =
        table.head.iter().zip(&columns).map(|(title, column)| stacked(title, column)).collect();
    let mut text = format!(
        "\n\\begin{{table}}[htbp]\\centering\\{size}\\setlength{{\\tabcolsep}}{{{SPACE}pt}}\n\
         \\begin{{tabular}}{{@{{}}{letters}@{{}}}}\n\\toprule\n{} \\\\\n\\midrule\n",
        head.join(" & ")
    );
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(set).collect();
        writeln!(text, "{} \\\\", cells.join(" & ")).ok();
    }
    let caption = escape(&table.caption);
    write!(text, "\\bottomrule\n\\end{{tabular}}\n\\caption{{{caption}}}\n\\end{{table}}\n").ok();
    text
}

/// The title of a column, its words in as many lines as its width asks for.
fn stacked(title: &str, column: &Column) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in title.split(' ') {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), false) <= column.width => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.into()),
        }
    }
    let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
    let side = if column.number { "r" } else { "l" };
    if lines.len() == 1 { lines.concat() } else { format!("\\shortstack[{side}]{{{}}}", lines.join("\\\\")) }
}

fn set(cell: &super::Cell) -> String {
    let text = escape(&cell.text);
    if cell.bold { format!("\\textbf{{{text}}}") } else { text }
}

/// Width in ems, as Computer Modern sets it, or a little more.
fn width(text: &str, bold: bool) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' => 0.29,
        't' | 'r' | 'f' | 's' | '-' | ' ' | '(' | ')' | '/' => 0.4,
        'm' | 'w' | '%' | '+' | '±' | '=' | '<' | '>' => 0.84,
        'A'..='Z' => 0.76,
        _ => 0.53,
    };
    text.chars().map(of).sum::<f64>() * if bold { 1.16 } else { 1.0 }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    // Signs in front of numbers become mathematics, so that a minus is not a hyphen.
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '±' => escaped += "$\\pm$",
            '×' => escaped += "$\\times$",
            'θ' => escaped += "$\\theta$",
            'ω' => escaped += "$\\omega$",
            'τ' => escaped += "$\\tau$",
            '<' | '>' | '|' => write!(escaped, "${c}$").unwrap_or_default(),
            '+' | '-' if matches!(before, ' ' | '(') => write!(escaped, "${c}$").unwrap_or_default(),
            '\n' | '\r' => escaped.push(' '),
            // The standard fonts have Latin letters with accents and nothing else.
            c if c.is_ascii() || ('à'..='ÿ').contains(&c) || ('À'..='Þ').contains(&c) => escaped.push(c),
            _ => escaped.push('?'),
        }
        before = c;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Cell;

    #[test]
    fn nothing_is_left_for_latex_to_trip_over() {
        assert_eq!(escape("5% of a_b & {c} ± 1"), "5\\% of a\\_b \\& \\{c\\} $\\pm$ 1");
        assert_eq!(escape("-0.01 to +0.02, no-value-gate"), "$-$0.01 to $+$0.02, no-value-gate");
        assert_eq!(escape("é <|ω|> 文 (+2%)"), "é $<$$|$$\\omega$$|$$>$ ? ($+$2\\%)");
    }

    fn table(claim: &str, numbers: usize) -> Table {
        let mut cells = vec![Cell::text(claim)];
        cells.extend((0..numbers).map(|_| Cell::number("+0.1234")));
        let head = [vec!["claim of the paper"], vec!["least p possible, corrected"; numbers]].concat();
        Table { caption: "What it shows.".into(), head, rows: vec![cells; 2], result: true }
    }

    /// The sum of all columns stays within the line, as far as their numbers allow.
    #[test]
    fn tables_are_no_wider_than_the_line() {
        let long = "tuned protocol, validation: the Kuramoto model is behind the transformer ".repeat(2);
        for claim in ["short", &long] {
            for numbers in 1..8 {
                let table = table(claim, numbers);
                let (columns, (_, em)) = layout(&table);
                let wide: f64 = columns.iter().map(|column| column.width * em).sum();
                assert!(wide + 2.0 * SPACE * numbers as f64 <= LINE + 1e-6, "{wide} for {numbers}");
            }
        }
        assert!(grid(&table(&long, 3)).contains("p{0."), "sentences are broken");
        assert!(grid(&table("short", 3)).contains("{@{}lrrr@{}}"), "names are not");
        assert!(grid(&table("short", 3)).contains("\\shortstack[r]{least p\\\\possible,\\\\corrected}"));
    }
}
