// What changes from batch to batch. Sequences are padded to T tokens and the batch to its planned size: what
// comes after `length` tokens or `sequences` sequences is computed, has no weight in the loss, and so no
// gradient. Attention is causal: what pads a sequence never reaches it.
struct Batch {
    length: u32,
    sequences: u32,
    // An element is dropped if its hash is below this; 0 where nothing is.
    threshold: u32,
    // What kept elements are multiplied by.
    scale: f32,
    // 1 / tokens of the whole batch.
    weight: f32,
}
@group(0) @binding(15) var<uniform> batch: Batch;

// Dropout as a pure function of a key and an index, bit for bit the processor's (kernels/dropout.rs).
fn hash(index: u32, key: vec2<u32>) -> u32 {
    var x = index + key.x;
    x = (x ^ (x >> 17u)) * 0xED5AD4BBu;
    x = x ^ key.y;
    x = (x ^ (x >> 11u)) * 0xAC4C1B51u;
    x = (x ^ (x >> 15u)) * 0x31848BABu;
    return x ^ (x >> 14u);
}

fn dropped(index: u32, key: vec2<u32>) -> bool {
    return batch.threshold > 0u && hash(index, key) < batch.threshold;
}
