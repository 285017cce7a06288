// Drift in values: G_t = sum_u A_tu e^{i (theta_u - omega (t - u))}. Values are turned forward by omega u,
// averaged, and the mean is turned back by omega t. Rows hold K real and K imaginary parts.
//   values: psi -> turned
//   means: mean -> mean in the token's own frame, in place
//   means backward: mean in the own frame, dmean -> dmean of the average, in place; angle (written)
//   values backward: turned, dpsi of the turned values -> dpsi, in place; angle (added)
// `angle` (M x K) is what omega t receives. Workgroups: one per row.
@group(0) @binding(0) var<storage, read> omega: array<f32>;
//if values
@group(0) @binding(1) var<storage, read> psi: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
//endif
//if means
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
//endif
//if backward
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
//if angle
@group(0) @binding(1) var<storage, read> z: array<f32>;
@group(0) @binding(3) var<storage, read_write> angle: array<f32>;
//endif
//endif

@compute @workgroup_size(THREADS)
fn turn(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    for (var j = at; j < K; j += THREADS) {
        let re = row * 2u * K + j;
        let im = re + K;
        let drift = cos_sin_drift(omega[j], row % T);
//if values
        let d = vec2<f32>(psi[re], psi[im]);
//endif
//if means
        let d = vec2<f32>(out[re], out[im]);
//endif
//if backward
        let d = vec2<f32>(out[re], out[im]);
//if angle
        // A mean was turned back by omega t, a value forward by omega u.
        let across = z[re] * d.y - z[im] * d.x;
        angle[row * K + j] = select(angle[row * K + j] + across, -across, FORWARD);
//endif
//endif
        let turned_d = select(turned_back(d, drift), turned(d, drift), FORWARD);
        out[re] = turned_d.x;
        out[im] = turned_d.y;
    }
}
