//! Any bytes as a weight file, and as the header of one: read or refused, never a panic.

#![no_main]

use kuramoto_model::{Kuramoto, KuramotoConfig};
use kuramoto_train::checkpoint;
use std::path::Path;
use std::sync::LazyLock;

static MODEL: LazyLock<Kuramoto> = LazyLock::new(|| {
    Kuramoto::new(KuramotoConfig { vocab: 2, width: 2, layers: 1, ..Default::default() }, 4).unwrap()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let layout = MODEL.layout();
    let _ = checkpoint::arena(Path::new("fuzz"), bytes, layout, "");
    // With the length of the header before it and enough values after it.
    let mut file = (bytes.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(bytes);
    file.resize(file.len() + 4 * layout.count(), 0);
    if let Ok(arena) = checkpoint::arena(Path::new("fuzz"), &file, layout, "") {
        assert_eq!(arena.len(), layout.count());
    }
});
