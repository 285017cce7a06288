// The lift psi = (cos theta, sin theta) of Section 2; rows have K angles and 2K values.
// Forward: theta (rows x K) -> psi, and on request the state with wrapped angles.
// Backward: psi, dpsi (rows x 2K) -> dtheta (rows x K), added or written.
// Fold: psi of the prototypes, dpsi in every slab -> dproto in the same slab.
// Workgroups: one per row, and for the fold per slab.
//if forward
@group(0) @binding(0) var<storage, read> theta: array<f32>;
@group(0) @binding(1) var<storage, read_write> psi: array<f32>;
//if state
@group(0) @binding(2) var<storage, read_write> state: array<f32>;
//endif

@compute @workgroup_size(THREADS)
fn forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    for (var j = at; j < K; j += THREADS) {
        var angle = theta[row * K + j];
//if state
        angle = select(angle, wrapped(angle), WRAP);
        state[row * K + j] = angle;
//endif
        let z = cos_sin(angle);
        psi[row * 2u * K + j] = z.x;
        psi[row * 2u * K + K + j] = z.y;
    }
}
//endif
//if backward
@group(0) @binding(0) var<storage, read> psi: array<f32>;
@group(0) @binding(1) var<storage, read> dpsi: array<f32>;
@group(0) @binding(2) var<storage, read_write> dtheta: array<f32>;

@compute @workgroup_size(THREADS)
fn backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    for (var j = at; j < K; j += THREADS) {
        let c = row * 2u * K + j;
        let before = select(0.0, dtheta[row * K + j], ACCUMULATE);
        dtheta[row * K + j] = before + (psi[c] * dpsi[c + K] - psi[c + K] * dpsi[c]);
    }
}
//endif
//if fold
@group(0) @binding(0) var<storage, read> psi: array<f32>;
@group(0) @binding(1) var<storage, read_write> slabs: array<f32>;

@compute @workgroup_size(THREADS)
fn fold(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    let slab = group.y * SLAB;
    for (var j = at; j < K; j += THREADS) {
        let c = row * 2u * K + j;
        let d = slab + TABLE + c;
        slabs[slab + PROTO + row * K + j] = psi[c] * slabs[d + K] - psi[c + K] * slabs[d];
    }
}
//endif
