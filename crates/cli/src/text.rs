//! Bytes for people's eyes.

pub use kuramoto_report::wrap;

/// Valid UTF-8 as it is, other bytes as \xNN, control characters but line breaks escaped: nothing a model
/// writes can steer the terminal.
pub fn printable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' | '\t' => out.push(c),
                c if c.is_control() => out.extend(c.escape_default()),
                c => out.push(c),
            }
        }
        out.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    out
}

/// On one line, in quotes, everything but plain letters escaped: single bytes of a text can be distinguished.
pub fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

/// Turns bytes that come one at a time into text, holding back a character until it is whole.
#[derive(Default)]
pub struct Stream {
    held: Vec<u8>,
}

impl Stream {
    /// Takes a byte and returns what can be shown now.
    pub fn push(&mut self, byte: u8) -> String {
        self.held.push(byte);
        match std::str::from_utf8(&self.held) {
            // The beginning of a character that may still become whole.
            Err(error) if error.error_len().is_none() => {
                let shown = printable(&self.held[..error.valid_up_to()]);
                self.held.drain(..error.valid_up_to());
                shown
            }
            _ => printable(&std::mem::take(&mut self.held)),
        }
    }

    /// What was still held back.
    pub fn finish(self) -> String {
        printable(&self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_whole_characters_and_shows_broken_ones() {
        let show = |bytes: &[u8]| {
            let mut stream = Stream::default();
            let mut pieces: Vec<String> = bytes.iter().map(|&byte| stream.push(byte)).collect();
            pieces.push(stream.finish());
            pieces
        };
        assert_eq!(show("é!".as_bytes()), ["", "é", "!", ""]);
        assert_eq!(show(b"\xffa"), ["\\xff", "a", ""]);
        assert_eq!(show(b"\xc3a"), ["", "\\xc3a", ""]);
        assert_eq!(show(b"\xe2\x82"), ["", "", "\\xe2\\x82"]);
        assert_eq!(show(b"\x1b["), ["\\u{1b}", "[", ""]);
    }
}
