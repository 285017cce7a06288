//! Running text in lines.

/// Lines of at most `width` characters; a longer word has a line of its own.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_inclusive(' ') {
            if !line.is_empty() && line.chars().count() + word.trim_end().chars().count() > width {
                lines.push(std::mem::take(&mut line).trim_end().to_string());
            }
            line += word;
        }
        lines.push(line.trim_end().to_string());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_are_no_longer_than_asked() {
        assert_eq!(wrap("one two three\n\nfour", 8), ["one two", "three", "", "four"]);
    }
}
