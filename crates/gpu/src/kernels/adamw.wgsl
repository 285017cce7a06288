// AdamW, as kernels/adamw.rs: gradient (COUNT) -> parameters, first, second, updated. `rates` has, for every 64
// parameters, which is how tensors are aligned, the learning rate over the first moment's correction, and
// 1 - learning rate * weight decay.
struct How {
    // One over the root of the second moment's correction.
    root: f32,
    beta1: f32,
    beta2: f32,
    rest1: f32,
    rest2: f32,
    epsilon: f32,
    // The clip by the global norm.
    scale: f32,
}
@group(0) @binding(15) var<uniform> how: How;
@group(0) @binding(0) var<storage, read> rates: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read> gradient: array<f32>;
@group(0) @binding(2) var<storage, read_write> parameters: array<f32>;
@group(0) @binding(3) var<storage, read_write> first: array<f32>;
@group(0) @binding(4) var<storage, read_write> second: array<f32>;

@compute @workgroup_size(THREADS)
fn update(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    for (var part = 0u; part < EACH; part++) {
        let i = (group.x * EACH + part) * THREADS + at;
        if i < COUNT {
            let g = gradient[i] * how.scale;
            let m = how.beta1 * first[i] + how.rest1 * g;
            let v = how.beta2 * second[i] + how.rest2 * g * g;
            first[i] = m;
            second[i] = v;
            let own = rates[i / 64u];
            parameters[i] = own.y * parameters[i] - own.x * m / (sqrt(v) * how.root + how.epsilon);
        }
    }
}
