//! Any line of a CodeParrot shard: text that ends in a line break, or an error.

#![no_main]

libfuzzer_sys::fuzz_target!(|line: &[u8]| {
    if let Ok(text) = kuramoto_train::data::codeparrot::content(line) {
        assert!(text.ends_with('\n'));
    }
});
