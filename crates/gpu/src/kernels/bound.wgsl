// The second residual update of Equation (1), Section 2.0.3: theta = middle + dropout(bound(x)), and psi.
//   bound(x) = x (r / n) tanh(n / r), n = rms of x over all K coordinates
// Forward: middle, x (M x K), log r -> theta (M x K), psi (M x 2K).
// Backward: psi, dpsi (M x 2K) of theta -> dtheta (M x K, written or added to), then dx (written, M x K) and
// log r's share of each row. The gradient of the middle is dtheta itself. Workgroups: one per row.
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> log_radius: array<f32>;
@group(0) @binding(2) var<storage, read> keys: array<vec2<u32>>;
//if forward
@group(0) @binding(3) var<storage, read> middle: array<f32>;
@group(0) @binding(4) var<storage, read_write> theta: array<f32>;
@group(0) @binding(5) var<storage, read_write> psi: array<f32>;

@compute @workgroup_size(THREADS)
fn forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    var own = 0.0;
    for (var j = at; j < K; j += THREADS) {
        own += x[row * K + j] * x[row * K + j];
    }
    let n = sqrt(row_sum(own, at) / f32(K) + 1e-12);
    let radius = exponential(log_radius[0]);
    let by = batch.scale * (radius / n * tanh_positive(n / radius));
    let key = keys[row / T];
    for (var j = at; j < K; j += THREADS) {
        let sum = middle[row * K + j] + select(x[row * K + j] * by, 0.0, dropped((row % T) * K + j, key));
        let angle = select(sum, wrapped(sum), WRAP);
        let z = cos_sin(angle);
        theta[row * K + j] = angle;
        psi[row * 2u * K + j] = z.x;
        psi[row * 2u * K + K + j] = z.y;
    }
}
//endif
//if backward
@group(0) @binding(3) var<storage, read> psi: array<f32>;
@group(0) @binding(4) var<storage, read> dpsi: array<f32>;
@group(0) @binding(5) var<storage, read_write> dtheta: array<f32>;
@group(0) @binding(6) var<storage, read_write> dx: array<f32>;
@group(0) @binding(7) var<storage, read_write> scalars: array<f32>;

fn kept(row: u32, j: u32, key: vec2<u32>) -> f32 {
    return select(dtheta[row * K + j] * batch.scale, 0.0, dropped((row % T) * K + j, key));
}

@compute @workgroup_size(THREADS)
fn backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    let key = keys[row / T];
    var own = vec2<f32>();
    for (var j = at; j < K; j += THREADS) {
        let c = row * 2u * K + j;
        let before = select(0.0, dtheta[row * K + j], ACCUMULATE);
        dtheta[row * K + j] = before + (psi[c] * dpsi[c + K] - psi[c + K] * dpsi[c]);
        own += x[row * K + j] * vec2<f32>(x[row * K + j], kept(row, j, key));
    }
    let sums = row_sums(own, at);
    let n = sqrt(sums.x / f32(K) + 1e-12);
    let radius = exponential(log_radius[0]);
    let gap = bound_gap(n / radius);
    let by = radius / n * tanh_positive(n / radius);
    let pull = -gap / (n * n) * sums.y / f32(K);
    if at == 0u {
        scalars[row] = sums.y * gap;
    }
    for (var j = at; j < K; j += THREADS) {
        dx[row * K + j] = x[row * K + j] * pull + by * kept(row, j, key);
    }
}
//endif
