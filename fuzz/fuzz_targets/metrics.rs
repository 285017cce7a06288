//! Any bytes as rows: those that are rows are written and read again as they are.

#![no_main]

use kuramoto_train::metrics;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for row in metrics::parse(bytes) {
        let line = row.to_line();
        let again = metrics::parse(line.as_bytes());
        assert_eq!(again.len(), 1, "{line}");
        assert_eq!(again[0].to_line(), line);
    }
});
