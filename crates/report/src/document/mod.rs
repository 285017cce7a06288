//! Documents: what a report says, apart from the format it is written in.

mod html;
mod latex;
mod markdown;

use crate::figure::Figure;

/// A title and what follows it.
pub struct Document {
    /// Its heading.
    pub title: String,
    /// Its parts, in order.
    pub blocks: Vec<Block>,
}

impl Document {
    /// A web page that needs nothing but itself: style and figures are inside.
    pub fn html(&self) -> String {
        html::render(self)
    }

    /// Markdown as GitHub shows it, readable as it is; figures are links to their files.
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// LaTeX of the tables of results.
    pub fn latex(&self) -> String {
        latex::render(self)
    }

    /// The figures, in order.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Figure(figure) => Some(&**figure),
            _ => None,
        })
    }
}

/// A part of a document.
pub enum Block {
    /// A heading below the title.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Items with a bullet each.
    List(Vec<String>),
    /// A table with a caption.
    Table(Table),
    /// A figure with its caption.
    Figure(Box<Figure>),
}

/// Rows of cells under a header.
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Titles of the columns.
    pub head: Vec<&'static str>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// False for tables that serve as an index rather than as a result; only the page has them.
    pub result: bool,
}

/// A cell of a table.
#[derive(Clone)]
pub struct Cell {
    /// What it shows.
    pub text: String,
    /// Right-aligned, as numbers are.
    pub number: bool,
    /// Emphasized, where a test says so.
    pub bold: bool,
    /// The target of its link.
    pub link: Option<String>,
    /// Its own name as the target of links.
    pub anchor: Option<String>,
}

impl Cell {
    fn new(text: impl Into<String>, number: bool) -> Cell {
        Cell { text: text.into(), number, bold: false, link: None, anchor: None }
    }

    /// Left-aligned.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::new(text, false)
    }

    /// Right-aligned.
    pub fn number(text: impl Into<String>) -> Cell {
        Cell::new(text, true)
    }

    /// Emphasized on a condition.
    pub fn bold_if(self, bold: bool) -> Cell {
        Cell { bold, ..self }
    }

    /// With a link to a page or an anchor.
    pub fn link(self, to: impl Into<String>) -> Cell {
        Cell { link: Some(to.into()), ..self }
    }

    /// With a link, if there is one.
    pub fn link_if(self, to: Option<&String>) -> Cell {
        Cell { link: to.cloned().or(self.link), ..self }
    }

    /// With a name that links can lead to.
    pub fn anchor(self, name: Option<String>) -> Cell {
        Cell { anchor: name, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Line, Panel, colour};

    fn document() -> Document {
        let cells = vec![
            Cell::text("a|b & <c>").anchor(Some("here".into())),
            Cell::number("-0.1").bold_if(true).link("#here"),
        ];
        let table = |result| Table {
            caption: "What it shows.".into(),
            head: vec!["arm", "value"],
            rows: vec![cells.clone()],
            result,
        };
        let panel = Panel::new("lines").line(Line::new([(0.0, 0.0), (1.0, 1.0)], colour::BLUE));
        let figure = Figure::single("lines", "A line.", panel, (300.0, 200.0));
        Document {
            title: "Report".into(),
            blocks: vec![
                Block::Heading("Results".into()),
                Block::Text("All < some.".into()),
                Block::List(vec!["one".into(), "two".into()]),
                Block::Table(table(true)),
                Block::Table(table(false)),
                Block::Figure(Box::new(figure)),
            ],
        }
    }

    #[test]
    fn pages_hold_everything_and_escape_text() {
        let page = document().html();
        for part in
            ["<h1>Report</h1>", "All &lt; some.", "<li>two</li>", "href=\"#here\"", "id=\"here\"", "<svg"]
        {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn markdown_reads_as_text() {
        let text = document().markdown();
        let expected = "# Report\n\n## Results\n\nAll < some.\n\n- one\n- two\n\nWhat it shows.\n\n\
                        | arm        |    value |\n| ---------- | -------: |\n\
                        | a\\|b & <c> | **-0.1** |\n\n![lines]";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with("![lines](lines.svg)\n\n*A line.*\n"), "{text}");
        let long = Document {
            title: "Long".into(),
            blocks: vec![Block::List(vec!["word ".repeat(60)]), Block::Text("word ".repeat(60))],
        };
        for line in long.markdown().lines() {
            assert!(line.len() <= 100 && !line.ends_with(' '), "{line}");
        }
    }

    #[test]
    fn latex_holds_the_tables_of_results_only() {
        let text = document().latex();
        assert_eq!(text.matches("\\begin{tabular}{@{}lr@{}}").count(), 1, "{text}");
        assert!(text.contains("a$|$b \\& $<$c$>$ & \\textbf{$-$0.1} \\\\"), "{text}");
    }
}
