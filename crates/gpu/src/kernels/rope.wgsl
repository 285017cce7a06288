// Rotary position of the transformer: pairs (i, i + half) of a head turn by t base^(-i / half); with an odd
// head width the last coordinate stays. qkv (M x 3K), its queries (with the factor 1 / sqrt(KH)) and keys
// turned in place: forward, or for gradients back. table (T x half): cos and sin. Workgroups: one per row.
@group(0) @binding(0) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> qkv: array<f32>;

const HALF: u32 = KH / 2u;

@compute @workgroup_size(THREADS)
fn rotate(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    // Twice KH - HALF items of every head: pairs, and what has no partner.
    let items = KH - HALF;
    for (var p = at; p < 2u * HEADS * items; p += THREADS) {
        let i = p % items;
        let head = p / items % HEADS;
        let part = p / (items * HEADS);
        let scale = select(1.0, INVERSE_ROOT_HEAD, part == 0u);
        let first = row * 3u * K + part * K + head * KH + i;
        if i < HALF {
            let z = vec2<f32>(qkv[first], qkv[first + HALF]);
            let w = table[(row % T) * HALF + i];
            let out = select(turned_back(z, w), turned(z, w), FORWARD);
            qkv[first] = scale * out.x;
            qkv[first + HALF] = scale * out.y;
        } else {
            qkv[first + HALF] = scale * qkv[first + HALF];
        }
    }
}
