//! What a report says, apart from how it is written.

use kuramoto_phase::figure::Figure;

/// A report.
pub struct Document {
    pub title: String,
    pub blocks: Vec<Block>,
}

impl Document {
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Figure(figure) => Some(&**figure),
            _ => None,
        })
    }
}

/// A part of a report.
pub enum Block {
    Heading(String),
    Text(String),
    List(Vec<String>),
    Table(Table),
    Figure(Box<Figure>),
}

/// A table.
pub struct Table {
    /// What it shows.
    pub caption: String,
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<Cell>>,
    /// False for tables that serve as an index rather than as a result; LaTeX leaves them out.
    pub result: bool,
}

/// A cell.
#[derive(Clone)]
pub struct Cell {
    pub text: String,
    /// A number, or something that lines up like one.
    pub number: bool,
    /// Set only where a test says so.
    pub bold: bool,
    /// Where it leads.
    pub link: Option<String>,
    /// Where links may lead.
    pub anchor: Option<String>,
}

impl Cell {
    fn new(text: impl Into<String>, number: bool) -> Cell {
        Cell { text: text.into(), number, bold: false, link: None, anchor: None }
    }

    pub fn text(text: impl Into<String>) -> Cell {
        Cell::new(text, false)
    }

    pub fn number(text: impl Into<String>) -> Cell {
        Cell::new(text, true)
    }

    pub fn bold_if(self, bold: bool) -> Cell {
        Cell { bold, ..self }
    }

    pub fn link(self, to: impl Into<String>) -> Cell {
        Cell { link: Some(to.into()), ..self }
    }

    pub fn link_if(self, to: Option<&String>) -> Cell {
        Cell { link: to.cloned().or(self.link), ..self }
    }

    pub fn anchor(self, name: Option<String>) -> Cell {
        Cell { anchor: name, ..self }
    }
}
