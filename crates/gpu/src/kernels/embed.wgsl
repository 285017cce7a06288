// Embedding. Forward: tokens (M), emb (V x K) -> state (M x K), and with phases its lift psi (M x 2K).
// Backward: tokens (M), dstate (M x K) -> demb in every slab (V x K). Each element sums its tokens in order:
// no scatter, no atomics. Workgroups: forward one per row; backward one per byte and slab.
@group(0) @binding(0) var<storage, read> tokens: array<u32>;
//if forward
@group(0) @binding(1) var<storage, read> emb: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<f32>;
//if lift
@group(0) @binding(3) var<storage, read_write> psi: array<f32>;
//endif

@compute @workgroup_size(THREADS)
fn forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    let token = tokens[row];
    for (var j = at; j < K; j += THREADS) {
        var x = emb[token * K + j];
//if lift
        // Section 2, psi = (cos theta, sin theta); wrapped angles are taken to the circle first.
        x = select(x, wrapped(x), WRAP);
        let z = cos_sin(x);
        psi[row * 2u * K + j] = z.x;
        psi[row * 2u * K + K + j] = z.y;
//endif
        state[row * K + j] = x;
    }
}
//endif
//if backward
@group(0) @binding(4) var<storage, read> dstate: array<f32>;
@group(0) @binding(5) var<storage, read_write> demb: array<f32>;

@compute @workgroup_size(THREADS)
fn backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let byte = group.x;
    let slab = group.y;
    let begin = min(slab * SLAB_ROWS, M);
    let end = min(begin + SLAB_ROWS, M);
    for (var j = at; j < K; j += THREADS) {
        var sum = 0.0;
        for (var row = begin; row < end; row++) {
            if tokens[row] == byte {
                sum += dstate[row * K + j];
            }
        }
        let place = slab * SLAB + byte * K + j;
        demb[place] = demb[place] + sum;
    }
}
//endif
