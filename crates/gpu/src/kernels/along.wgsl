// For the transformer's softmax on its way back: mean, dmean (M x K) -> along (M x HEADS), their inner
// product over each head, which is sum_u A_tu dA_tu. Workgroups: one per row.
@group(0) @binding(0) var<storage, read> mean: array<f32>;
@group(0) @binding(1) var<storage, read> dmean: array<f32>;
@group(0) @binding(2) var<storage, read_write> along: array<f32>;

@compute @workgroup_size(THREADS)
fn backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    for (var head = 0u; head < HEADS; head++) {
        var own = 0.0;
        for (var i = at; i < KH; i += THREADS) {
            own += mean[row * K + head * KH + i] * dmean[row * K + head * KH + i];
        }
        let total = row_sum(own, at);
        if at == 0u {
            along[row * HEADS + head] = total;
        }
    }
}
