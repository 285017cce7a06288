//! LaTeX with booktabs: the tables of results, to be put into a paper with `\input`.

use super::{Block, Cell, Document};
use std::fmt::Write;

pub(super) fn render(document: &Document) -> String {
    let mut text = format!("% {}\n% Needs \\usepackage{{booktabs}}.\n", document.title.replace('\n', " "));
    for block in &document.blocks {
        let Block::Table(table) = block else { continue };
        if !table.result {
            continue;
        }
        // Sentences are broken into lines, names are not.
        let longest = |column: usize| table.rows.iter().map(|row| row[column].text.len()).max().unwrap_or(0);
        let column = |(i, cell): (usize, &Cell)| match cell.number {
            true => "r",
            false if longest(i) > 40 => "p{0.3\\textwidth}",
            false => "l",
        };
        let columns: String = table.rows.first().into_iter().flatten().enumerate().map(column).collect();
        writeln!(
            text,
            "\n\\begin{{table}}[htbp]\\centering\\small\n\\begin{{tabular}}{{{columns}}}\n\\toprule"
        )
        .ok();
        let head: Vec<String> = table.head.iter().map(|title| escape(title)).collect();
        writeln!(text, "{} \\\\\n\\midrule", head.join(" & ")).ok();
        for row in &table.rows {
            writeln!(text, "{} \\\\", row.iter().map(cell).collect::<Vec<_>>().join(" & ")).ok();
        }
        writeln!(
            text,
            "\\bottomrule\n\\end{{tabular}}\n\\caption{{{}}}\n\\end{{table}}",
            escape(&table.caption)
        )
        .ok();
    }
    text
}

fn cell(cell: &Cell) -> String {
    let text = escape(&cell.text);
    if cell.bold { format!("\\textbf{{{text}}}") } else { text }
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
            '+' | '-' if before == ' ' => write!(escaped, "${c}$").unwrap_or_default(),
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(c),
        }
        before = c;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_is_left_for_latex_to_trip_over() {
        assert_eq!(escape("5% of a_b & {c} ± 1"), "5\\% of a\\_b \\& \\{c\\} $\\pm$ 1");
        assert_eq!(escape("-0.01 to +0.02, no-value-gate"), "$-$0.01 to $+$0.02, no-value-gate");
    }
}
