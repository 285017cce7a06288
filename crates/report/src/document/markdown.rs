//! Markdown, as GitHub shows it and as one reads it in a terminal: columns line up, lines are short, and there
//! is no HTML. Links between cells are for the page only.

use super::{Block, Cell, Document, Table};
use crate::wrap;
use std::fmt::Write;

/// Longest line of running text.
const WIDTH: usize = 100;

pub(super) fn render(document: &Document) -> String {
    let mut text = format!("# {}\n", document.title);
    for block in &document.blocks {
        let part = match block {
            Block::Heading(heading) => format!("## {heading}\n"),
            Block::Text(words) => paragraph(words, ""),
            Block::List(items) => items.iter().map(|item| paragraph(item, "- ")).collect(),
            Block::Figure(figure) => {
                let caption = paragraph(&format!("*{}*", figure.caption), "");
                format!("![{0}]({0}.svg)\n\n{caption}", figure.name)
            }
            Block::Table(table) if table.result => {
                format!("{}\n{}", paragraph(&table.caption, ""), grid(table))
            }
            Block::Table(_) => continue,
        };
        write!(text, "\n{part}").ok();
    }
    text
}

/// Wrapped; lines after the first are indented as far as `bullet` is.
fn paragraph(words: &str, bullet: &str) -> String {
    let indent = " ".repeat(bullet.len());
    let lines = wrap(words, WIDTH - bullet.len());
    let line = |(i, line): (usize, &String)| format!("{}{line}\n", if i == 0 { bullet } else { &*indent });
    lines.iter().enumerate().map(line).collect()
}

fn grid(table: &Table) -> String {
    let numbers: Vec<bool> =
        (0..table.head.len()).map(|i| table.rows.first().is_some_and(|row| row[i].number)).collect();
    let head: Vec<String> = table.head.iter().map(|title| escape(title)).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let length = |text: &String| text.chars().count();
    let width = |i: usize| rows.iter().map(|row| length(&row[i])).chain([length(&head[i]), 3]).max();
    let widths: Vec<usize> = (0..head.len()).map(|i| width(i).unwrap_or(3)).collect();
    let line = |cells: &[String]| {
        let aligned = cells.iter().zip(&widths).zip(&numbers).map(|((cell, width), number)| match number {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        format!("| {} |\n", aligned.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<String> = widths
        .iter()
        .zip(&numbers)
        .map(
            |(width, number)| {
                if *number { format!("{}:", "-".repeat(width - 1)) } else { "-".repeat(*width) }
            },
        )
        .collect();
    [line(&head), line(&rule)].into_iter().chain(rows.iter().map(|row| line(row))).collect()
}

/// A bar or a line break would end the cell.
fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

fn cell(cell: &Cell) -> String {
    let text = escape(&cell.text);
    if cell.bold { format!("**{text}**") } else { text }
}
