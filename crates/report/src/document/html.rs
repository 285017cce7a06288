//! A page that needs nothing but itself: style and figures are inside.

use super::{Block, Cell, Document, Table};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("report.css");

pub(super) fn render(document: &Document) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (document.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (document.title) }
                    @for part in &document.blocks { (block(part)) }
                }
            }
        }
    };
    page.into_string()
}

fn block(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Heading(heading) => h2 { (heading) },
            Block::Text(words) => p { (words) },
            Block::List(items) => ul { @for item in items { li { (item) } } },
            // The drawing is our own, and the library escapes the text in it.
            Block::Figure(figure) => figure {
                (PreEscaped(figure.svg()))
                figcaption { (figure.caption) }
            },
            Block::Table(table) => (grid(table)),
        }
    }
}

fn grid(table: &Table) -> Markup {
    let numbers: Vec<bool> = table.rows.first().into_iter().flatten().map(|cell| cell.number).collect();
    html! {
        // Wide tables scroll by themselves, not the page.
        div.wide tabindex="0" {
            table {
                caption { (table.caption) }
                thead {
                    tr {
                        @for (i, title) in table.head.iter().enumerate() {
                            th.number[numbers.get(i) == Some(&true)] scope="col" { (title) }
                        }
                    }
                }
                tbody { @for row in &table.rows { tr { @for part in row { (cell(part)) } } } }
            }
        }
    }
}

/// Letters up to which a cell stays on one line.
const SHORT: usize = 24;

fn cell(cell: &Cell) -> Markup {
    let text = html! { @if cell.bold { strong { (cell.text) } } @else { (cell.text) } };
    html! {
        td.number[cell.number] .short[cell.text.len() <= SHORT] id=[cell.anchor.as_ref()] {
            @match &cell.link {
                Some(to) => a href=(to) { (text) },
                None => (text),
            }
        }
    }
}
