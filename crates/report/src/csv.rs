//! Comma-separated values, for spreadsheets and data frames.

use std::fmt::Display;

/// A table that is written row by row.
pub struct Csv {
    writer: csv::Writer<Vec<u8>>,
}

impl Csv {
    /// An empty table with these columns.
    pub fn new<T: AsRef<[u8]>>(header: impl IntoIterator<Item = T>) -> Csv {
        let mut table = Csv { writer: csv::Writer::from_writer(Vec::new()) };
        table.row(header);
        table
    }

    /// Appends a row.
    ///
    /// # Panics
    ///
    /// If it has not as many fields as the header.
    pub fn row<T: AsRef<[u8]>>(&mut self, fields: impl IntoIterator<Item = T>) {
        self.writer.write_record(fields).expect("a row has as many fields as the header");
    }

    /// The text of the table; fields with a comma, a quote or a line break are quoted.
    pub fn finish(self) -> String {
        let bytes = self.writer.into_inner().expect("writing to memory does not fail");
        String::from_utf8(bytes).expect("fields are text")
    }
}

/// A number as a field; empty for NaN, which spreadsheets do not read.
pub fn number(x: f64) -> String {
    if x.is_nan() { String::new() } else { x.to_string() }
}

/// A value as a field; empty if there is none.
pub fn optional(x: Option<impl Display>) -> String {
    x.map(|x| x.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_need_it_are_quoted() {
        let mut table = Csv::new(["name", "note", "value"]);
        table.row(["a,b", "c \"d\"", "e"]);
        table.row(["two\nlines", "", " "]);
        assert_eq!(table.finish(), "name,note,value\n\"a,b\",\"c \"\"d\"\"\",e\n\"two\nlines\",, \n");
    }

    #[test]
    fn missing_numbers_are_empty() {
        assert_eq!([number(f64::NAN), number(0.1), number(f64::INFINITY)], ["", "0.1", "inf"]);
        assert_eq!([optional(Some(3)), optional(None::<f64>)], ["3", ""]);
    }

    #[test]
    #[should_panic(expected = "as many fields as the header")]
    fn rows_fit_the_header() {
        Csv::new(["a", "b"]).row(["1"]);
    }
}
