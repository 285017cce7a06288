//! Any bytes as a weight file: read or refused, never a panic.

#![no_main]

use kuramoto_model::{Kuramoto, KuramotoConfig};
use kuramoto_train::checkpoint;
use std::path::Path;
use std::sync::LazyLock;

static MODEL: LazyLock<Kuramoto> = LazyLock::new(|| {
    Kuramoto::new(KuramotoConfig { vocab: 2, width: 2, layers: 1, ..Default::default() }, 4).unwrap()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = checkpoint::arena(Path::new("fuzz"), bytes, MODEL.layout(), "");
});
