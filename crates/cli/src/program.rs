//! Commands that are printed for people to copy.

/// The program as it was started, so that a printed command works where this one did: `kuramoto` if it is
/// installed, `target/release/kuramoto` after `cargo run`.
pub fn program() -> String {
    quoted(&std::env::args().next().unwrap_or_else(|| "kuramoto".into()))
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The longest command that others are aligned with.
const ALIGNED: usize = 60;

/// Commands in a column, each with what it is for.
pub fn listed(commands: &[(String, String)]) -> String {
    let program = program();
    let lengths = commands.iter().map(|(command, _)| command.chars().count());
    let width = lengths.filter(|&length| length <= ALIGNED).max().unwrap_or(0);
    let line = |(command, why): &(String, String)| format!("    {program} {command:<width$}  # {why}\n");
    commands.iter().map(line).collect()
}
