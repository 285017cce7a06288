//! Markdown, as GitHub shows it.

use super::{Block, Cell, Document};
use std::fmt::Write;

pub(super) fn render(document: &Document) -> String {
    let mut text = format!("# {}\n", document.title);
    for block in &document.blocks {
        text.push('\n');
        match block {
            Block::Heading(heading) => writeln!(text, "## {heading}").ok(),
            Block::Text(words) => writeln!(text, "{words}").ok(),
            Block::List(items) => items.iter().try_for_each(|item| writeln!(text, "- {item}")).ok(),
            Block::Figure(figure) => {
                writeln!(text, "![{0}]({0}.svg)\n\n*{1}*", figure.name, figure.caption).ok()
            }
            Block::Table(table) => {
                let numbers = table
                    .rows
                    .first()
                    .into_iter()
                    .flatten()
                    .map(|cell| if cell.number { "---:" } else { "---" });
                let rule: Vec<&str> =
                    numbers.chain(std::iter::repeat("---")).take(table.head.len()).collect();
                writeln!(text, "{}\n", table.caption).ok();
                writeln!(text, "| {} |\n| {} |", table.head.join(" | "), rule.join(" | ")).ok();
                let row = |cells: &Vec<Cell>| cells.iter().map(cell).collect::<Vec<_>>().join(" | ");
                table.rows.iter().try_for_each(|cells| writeln!(text, "| {} |", row(cells))).ok()
            }
        };
    }
    text
}

fn cell(cell: &Cell) -> String {
    // A bar or a line break would end the cell.
    let mut text = cell.text.replace('|', "\\|").replace(['\n', '\r'], " ");
    if cell.bold {
        text = format!("**{text}**");
    }
    if let Some(link) = &cell.link {
        text = format!("[{text}]({})", link.replace(' ', "%20"));
    }
    match &cell.anchor {
        Some(name) => format!("<a id=\"{name}\"></a>{text}"),
        None => text,
    }
}
