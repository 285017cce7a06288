// Metric gates and drifted phasors, the factors of the score of Equation (1); Sections 2.0.1 and 3.5.
//   query_t = c g^q_t (cos, sin)(theta_t + omega t), with c = tau / sqrt(k / h)
//   key_u = g^k_u (cos, sin)(theta_u + omega u)
//   g = rho(W psi + b): an activation, divided by the mean of its size over the head's coordinates
// Rows of phasors hold, head by head, KH cosines, KH sines, and the EXTRA values of a transport frame.
// Forward: psi (M x 2K), pre (M x PRE), omega (K), tau -> query, key (M x ROW).
// Backward: dquery, dkey (M x ROW) -> the gates' sections of dpre (written), dtheta (added), angle (M x K):
// what omega t receives (written, or added to), and the score scale's share of each row.
// Workgroups: one per row.
@group(0) @binding(0) var<storage, read> psi: array<f32>;
//if gates
@group(0) @binding(1) var<storage, read> pre: array<f32>;
//endif
@group(0) @binding(2) var<storage, read> omega: array<f32>;
@group(0) @binding(3) var<storage, read> tau: array<f32>;

const HEAD_ROW: u32 = 2u * KH + EXTRA;

// 0 is softplus, 1 sigmoid, 2 linear.
fn activated(x: f32) -> f32 {
    if ACTIVATION == 0u {
        return softplus(x);
    }
    if ACTIVATION == 1u {
        return sigmoid(x);
    }
    return x;
}

fn slope(x: f32) -> f32 {
    if ACTIVATION == 2u {
        return 1.0;
    }
    let s = sigmoid(x);
    return select(s * (1.0 - s), s, ACTIVATION == 0u);
}

// Query and key gates of a coordinate before they are normalized.
fn raw_gates(row: u32, j: u32) -> vec2<f32> {
    var gates = vec2<f32>(1.0);
//if gates
    gates = vec2<f32>(activated(pre[row * PRE + QUERY + j]), activated(pre[row * PRE + KEY + j]));
//endif
    return gates;
}

// One over the mean gates of a head.
fn inverse_means(row: u32, head: u32, at: u32) -> vec2<f32> {
    var inverse = vec2<f32>(1.0);
//if gates
    if NORMALIZE {
        var own = vec2<f32>();
        for (var i = at; i < KH; i += THREADS) {
            own += abs(raw_gates(row, head * KH + i));
        }
        inverse = 1.0 / (row_sums(own, at) / f32(KH) + 1e-12);
    }
//endif
    return inverse;
}

fn drifted(row: u32, j: u32) -> vec2<f32> {
    let z = vec2<f32>(psi[row * 2u * K + j], psi[row * 2u * K + K + j]);
    return turned(z, cos_sin_drift(omega[j], row % T));
}
//if forward
@group(0) @binding(4) var<storage, read_write> query: array<f32>;
@group(0) @binding(5) var<storage, read_write> key: array<f32>;

@compute @workgroup_size(THREADS)
fn forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    let scale = tau[0] * INVERSE_ROOT_HEAD;
    for (var head = 0u; head < HEADS; head++) {
        let inverse = inverse_means(row, head, at);
        for (var i = at; i < KH; i += THREADS) {
            let j = head * KH + i;
            let z = drifted(row, j);
            let gates = raw_gates(row, j) * inverse;
            let out = row * ROW + head * HEAD_ROW + i;
            query[out] = scale * gates.x * z.x;
            query[out + KH] = scale * gates.x * z.y;
            key[out] = gates.y * z.x;
            key[out + KH] = gates.y * z.y;
        }
    }
}
//endif
//if backward
@group(0) @binding(4) var<storage, read> dquery: array<f32>;
@group(0) @binding(5) var<storage, read> dkey: array<f32>;
@group(0) @binding(6) var<storage, read_write> dtheta: array<f32>;
@group(0) @binding(7) var<storage, read_write> scalars: array<f32>;
//if gates
@group(0) @binding(8) var<storage, read_write> dpre: array<f32>;
//endif
//if angle
@group(0) @binding(9) var<storage, read_write> angle: array<f32>;
//endif

@compute @workgroup_size(THREADS)
fn backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    let scale = tau[0] * INVERSE_ROOT_HEAD;
    var dscale = 0.0;
    for (var head = 0u; head < HEADS; head++) {
        let inverse = inverse_means(row, head, at);
        var shift = vec2<f32>();
        for (var i = at; i < KH; i += THREADS) {
            let j = head * KH + i;
            let z = drifted(row, j);
            let gates = raw_gates(row, j) * inverse;
            let source = row * ROW + head * HEAD_ROW + i;
            let dq = vec2<f32>(dquery[source], dquery[source + KH]);
            let dk = vec2<f32>(dkey[source], dkey[source + KH]);
            // Along the phasor: the gates. Across it: the angle theta + omega t.
            let dgates = vec2<f32>(z.x * dq.x + z.y * dq.y, z.x * dk.x + z.y * dk.y);
            let across = vec2<f32>(z.x * dq.y - z.y * dq.x, z.x * dk.y - z.y * dk.x);
            let dangle = scale * gates.x * across.x + gates.y * across.y;
            dtheta[row * K + j] = dtheta[row * K + j] + dangle;
//if angle
            angle[row * K + j] = select(0.0, angle[row * K + j], ACCUMULATE) + dangle;
//endif
            dscale += dgates.x * gates.x;
//if gates
            let scaled = vec2<f32>(scale * dgates.x, dgates.y);
            shift += scaled * gates;
            // The slope comes once the mean's share is known.
            dpre[row * PRE + QUERY + j] = scaled.x;
            dpre[row * PRE + KEY + j] = scaled.y;
//endif
        }
//if gates
        // d(g / mean|g|): what moves the mean moves every gate of the head.
        let mean = select(vec2<f32>(), row_sums(shift, at) / f32(KH), NORMALIZE);
        for (var i = at; i < KH; i += THREADS) {
            let q = row * PRE + QUERY + head * KH + i;
            let k = row * PRE + KEY + head * KH + i;
            let signs = select(vec2<f32>(1.0), vec2<f32>(-1.0), raw_gates(row, head * KH + i) < vec2<f32>());
            dpre[q] = (dpre[q] - signs.x * mean.x) * inverse.x * slope(pre[q]);
            dpre[k] = (dpre[k] - signs.y * mean.y) * inverse.y * slope(pre[k]);
        }
//endif
    }
    let total = row_sum(dscale, at);
    if at == 0u {
        scalars[row] = total * INVERSE_ROOT_HEAD;
    }
}
//endif
