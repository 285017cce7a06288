// The synchronization step of Equation (1), Lemma 2 and Section 2.0.2:
//   middle = theta + dropout(bound(v . a)), with a = Im(conj(e^{i theta}) G), across the token's own phase
//   bound(x) = x (r / n) tanh(n / r), with n the root mean square of x
// With projected values, `mean` (M x K) is the increment itself; otherwise it is the resultant G (M x 2K).
// Forward: theta (M x K), psi, mean, pre (its value section is v), log r -> middle (M x K).
// Backward: dtheta of the middle -> dmean (written), the value section of dpre (written), dtheta (what the
// own phase receives is added), log r's share of each row, and along (M x HEADS): the sum over a head of
// increment times its gradient. That sum is sum_u A_tu dA_tu, all that the softmax needs on its way back.
// Workgroups: one per row.
@group(0) @binding(0) var<storage, read> mean: array<f32>;
@group(0) @binding(1) var<storage, read> keys: array<vec2<u32>>;
//if circular
@group(0) @binding(2) var<storage, read> psi: array<f32>;
//endif
//if value
@group(0) @binding(3) var<storage, read> pre: array<f32>;
//endif
//if bounded
@group(0) @binding(4) var<storage, read> log_radius: array<f32>;
//endif

// v of a coordinate; 1 without a value gate.
fn value_gate(row: u32, j: u32) -> f32 {
    var v = 1.0;
//if value
    v = pre[row * PRE + VALUE + j];
//endif
    return v;
}

// The Kuramoto direction a of a coordinate.
fn direction(row: u32, j: u32) -> f32 {
//if circular
    let c = row * 2u * K + j;
    return psi[c] * mean[c + K] - psi[c + K] * mean[c];
//endif
//if projection
    return mean[row * K + j];
//endif
}
//if forward
@group(0) @binding(5) var<storage, read> theta: array<f32>;
@group(0) @binding(6) var<storage, read_write> middle: array<f32>;

@compute @workgroup_size(THREADS)
fn forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    var by = batch.scale;
//if bounded
    var own = 0.0;
    for (var j = at; j < K; j += THREADS) {
        let x = value_gate(row, j) * direction(row, j);
        own += x * x;
    }
    let n = sqrt(row_sum(own, at) / f32(K) + 1e-12);
    let radius = exponential(log_radius[0]);
    by = by * (radius / n * tanh_positive(n / radius));
//endif
    let key = keys[row / T];
    for (var j = at; j < K; j += THREADS) {
        let x = value_gate(row, j) * direction(row, j);
        middle[row * K + j] = theta[row * K + j] + select(x * by, 0.0, dropped((row % T) * K + j, key));
    }
}
//endif
//if backward
@group(0) @binding(5) var<storage, read_write> dtheta: array<f32>;
@group(0) @binding(6) var<storage, read_write> dmean: array<f32>;
@group(0) @binding(7) var<storage, read_write> along: array<f32>;
//if bounded
@group(0) @binding(8) var<storage, read_write> scalars: array<f32>;
//endif
//if value
@group(0) @binding(9) var<storage, read_write> dpre: array<f32>;
//endif

fn kept(row: u32, j: u32, key: vec2<u32>) -> f32 {
    return select(dtheta[row * K + j] * batch.scale, 0.0, dropped((row % T) * K + j, key));
}

@compute @workgroup_size(THREADS)
fn backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    let key = keys[row / T];
    var by = 1.0;
    var pull = 0.0;
//if bounded
    var own = vec2<f32>();
    for (var j = at; j < K; j += THREADS) {
        let x = value_gate(row, j) * direction(row, j);
        own += x * vec2<f32>(x, kept(row, j, key));
    }
    let sums = row_sums(own, at);
    let n = sqrt(sums.x / f32(K) + 1e-12);
    let radius = exponential(log_radius[0]);
    let gap = bound_gap(n / radius);
    by = radius / n * tanh_positive(n / radius);
    pull = -gap / (n * n) * sums.y / f32(K);
    if at == 0u {
        scalars[row] = sums.y * gap;
    }
//endif
    for (var head = 0u; head < HEADS; head++) {
        var own_along = 0.0;
        for (var i = at; i < KH; i += THREADS) {
            let j = head * KH + i;
            let v = value_gate(row, j);
            let a = direction(row, j);
            let d = v * a * pull + by * kept(row, j, key);
            own_along += v * a * d;
//if value
            dpre[row * PRE + VALUE + j] = a * d;
//endif
//if circular
            let c = row * 2u * K + j;
            dmean[c] = -psi[c + K] * v * d;
            dmean[c + K] = psi[c] * v * d;
            dtheta[row * K + j] = dtheta[row * K + j] - (psi[c] * mean[c] + psi[c + K] * mean[c + K]) * v * d;
//endif
//if projection
            dmean[row * K + j] = d;
//endif
        }
        let total = row_sum(own_along, at);
        if at == 0u {
            along[row * HEADS + head] = total;
        }
    }
}
//endif
