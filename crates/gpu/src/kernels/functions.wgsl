// For the self-test: what the functions of numeric.wgsl make of inputs (COUNT x 2: an argument, a position).
// Outputs (COUNT x 8): cos, sin, cos and sin of the drift, e^-|x|, softplus, tanh |x|, log(1 + |x|).
@group(0) @binding(0) var<storage, read> inputs: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> outputs: array<f32>;
// The smallest normal number, and its half: 0 where subnormal numbers are flushed.
@group(0) @binding(2) var<storage, read_write> subnormal: array<f32>;

@compute @workgroup_size(THREADS)
fn functions(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= COUNT {
        return;
    }
    let x = inputs[i].x;
    let z = cos_sin(x);
    let drift = cos_sin_drift(x, u32(inputs[i].y));
    var values = array<f32, 8>(
        z.x, z.y, drift.x, drift.y,
        exponential(-abs(x)), softplus(x), tanh_positive(abs(x)), logarithm(1.0 + abs(x)),
    );
    for (var j = 0u; j < 8u; j++) {
        outputs[i * 8u + j] = values[j];
    }
    if i == 0u {
        subnormal[1] = subnormal[0] * 0.5;
    }
}
