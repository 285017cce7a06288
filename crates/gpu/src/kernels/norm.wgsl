// Residual step and layer norm of the transformer, with biased variance. The scale and bias of a norm are
// applied by the product that reads it.
// Forward: stream (M x K), increment (M x K) -> stream + dropout(increment), normal (M x K), inverse_sd (M).
// Backward: dy (M x K, of what the product read), normal, inverse_sd, weight -> dstream (M x K, written or
// added to), and dincrement (M x K, written): dstream where dropout kept the increment.
// Workgroups: one per row.
//if residual
@group(0) @binding(0) var<storage, read> keys: array<vec2<u32>>;
//endif
//if forward
@group(0) @binding(1) var<storage, read_write> stream: array<f32>;
@group(0) @binding(2) var<storage, read_write> normal: array<f32>;
@group(0) @binding(3) var<storage, read_write> inverse_sd: array<f32>;
//if residual
@group(0) @binding(4) var<storage, read> increment: array<f32>;
//endif

@compute @workgroup_size(THREADS)
fn forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    var own = 0.0;
//if residual
    let key = keys[row / T];
//endif
    for (var j = at; j < K; j += THREADS) {
//if residual
        let kept = select(increment[row * K + j] * batch.scale, 0.0, dropped((row % T) * K + j, key));
        stream[row * K + j] = stream[row * K + j] + kept;
//endif
        own += stream[row * K + j];
    }
    let mean = row_sum(own, at) / f32(K);
    var squares = 0.0;
    for (var j = at; j < K; j += THREADS) {
        let x = stream[row * K + j] - mean;
        squares += x * x;
    }
    let inverse = 1.0 / sqrt(row_sum(squares, at) / f32(K) + 1e-5);
    for (var j = at; j < K; j += THREADS) {
        normal[row * K + j] = (stream[row * K + j] - mean) * inverse;
    }
    if at == 0u {
        inverse_sd[row] = inverse;
    }
}
//endif
//if backward
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read> normal: array<f32>;
@group(0) @binding(3) var<storage, read> inverse_sd: array<f32>;
@group(0) @binding(4) var<storage, read_write> dstream: array<f32>;
//if affine
@group(0) @binding(5) var<storage, read> weight: array<f32>;
//endif
//if residual
@group(0) @binding(6) var<storage, read_write> dincrement: array<f32>;
//endif

fn dnormal(row: u32, j: u32) -> f32 {
    var d = dy[row * K + j];
//if affine
    d = d * weight[j];
//endif
    return d;
}

@compute @workgroup_size(THREADS)
fn backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    var own = vec2<f32>();
    for (var j = at; j < K; j += THREADS) {
        own += dnormal(row, j) * vec2<f32>(1.0, normal[row * K + j]);
    }
    let means = row_sums(own, at) / f32(K);
//if residual
    let key = keys[row / T];
//endif
    for (var j = at; j < K; j += THREADS) {
        let before = select(0.0, dstream[row * K + j], ACCUMULATE);
        let d = before + inverse_sd[row] * (dnormal(row, j) - means.x - normal[row * K + j] * means.y);
        dstream[row * K + j] = d;
//if residual
        dincrement[row * K + j] = select(d * batch.scale, 0.0, dropped((row % T) * K + j, key));
//endif
    }
}
//endif
