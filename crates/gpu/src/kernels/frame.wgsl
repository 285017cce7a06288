// The low-rank transport frame F_t (KH x RANK per head) of Table 3. It is a section of `pre`: for each
// coordinate of a head RANK values. F is real, so real and imaginary parts contract alike. Contracted rows
// hold, per head, RANK real and RANK imaginary parts. Workgroups: one per row.
//   contract: key (its phasors z~) -> F^T z~ after each head's phasors of key and, scaled, of query; with
//     transported values also contracted = F^T psi
//   expand: contracted mean -> mean += F contracted mean
//   expand_backward: dmean, contracted mean -> dcontracted (written), the frame's section of dpre (written)
//   contract_backward: dquery, dkey of the contractions, dcontracted -> dkey of the phasors (added), dpsi
//     (added), the frame's section of dpre (written or added to), the score scale's share of each row
@group(0) @binding(0) var<storage, read> pre: array<f32>;

const HEAD_ROW: u32 = 2u * KH + EXTRA;
const PARTS: u32 = HEADS * 2u * RANK;

// Element (i, c) of the frame of a token's head.
fn frame_at(row: u32, head: u32, i: u32, c: u32) -> u32 {
    return row * PRE + FRAME + (head * KH + i) * RANK + c;
}
//if contract
@group(0) @binding(1) var<storage, read> tau: array<f32>;
@group(0) @binding(2) var<storage, read_write> query: array<f32>;
@group(0) @binding(3) var<storage, read_write> key: array<f32>;
//if transport
@group(0) @binding(4) var<storage, read> psi: array<f32>;
@group(0) @binding(5) var<storage, read_write> contracted: array<f32>;
//endif

@compute @workgroup_size(THREADS)
fn contract(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    let scale = tau[0] * INVERSE_ROOT_HEAD;
    for (var p = at; p < PARTS; p += THREADS) {
        let head = p / (2u * RANK);
        let c = p % (2u * RANK);
        let imaginary = c / RANK;
        let z = row * ROW + head * HEAD_ROW;
        var sum = 0.0;
        for (var i = 0u; i < KH; i++) {
            sum += pre[frame_at(row, head, i, c % RANK)] * key[z + imaginary * KH + i];
        }
        key[z + 2u * KH + c] = sum;
        query[z + 2u * KH + c] = scale * sum;
//if transport
        var value = 0.0;
        for (var i = 0u; i < KH; i++) {
            let z = psi[row * 2u * K + imaginary * K + head * KH + i];
            value += pre[frame_at(row, head, i, c % RANK)] * z;
        }
        contracted[row * PARTS + p] = value;
//endif
    }
}
//endif
//if expand
@group(0) @binding(1) var<storage, read> contracted: array<f32>;
@group(0) @binding(2) var<storage, read_write> mean: array<f32>;

@compute @workgroup_size(THREADS)
fn expand(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    for (var j = at; j < K; j += THREADS) {
        let head = j / KH;
        let y = row * PARTS + head * 2u * RANK;
        var sum = vec2<f32>();
        for (var c = 0u; c < RANK; c++) {
            let part = vec2<f32>(contracted[y + c], contracted[y + RANK + c]);
            sum += pre[frame_at(row, head, j % KH, c)] * part;
        }
        mean[row * 2u * K + j] = mean[row * 2u * K + j] + sum.x;
        mean[row * 2u * K + K + j] = mean[row * 2u * K + K + j] + sum.y;
    }
}
//endif
//if expand_backward
@group(0) @binding(1) var<storage, read> contracted: array<f32>;
@group(0) @binding(2) var<storage, read> dmean: array<f32>;
@group(0) @binding(3) var<storage, read_write> dcontracted: array<f32>;
@group(0) @binding(4) var<storage, read_write> dpre: array<f32>;

@compute @workgroup_size(THREADS)
fn expand_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    for (var j = at; j < K; j += THREADS) {
        let head = j / KH;
        let y = row * PARTS + head * 2u * RANK;
        let d = vec2<f32>(dmean[row * 2u * K + j], dmean[row * 2u * K + K + j]);
        for (var c = 0u; c < RANK; c++) {
            dpre[frame_at(row, head, j % KH, c)] = d.x * contracted[y + c] + d.y * contracted[y + RANK + c];
        }
    }
    for (var p = at; p < PARTS; p += THREADS) {
        let head = p / (2u * RANK);
        let c = p % (2u * RANK);
        var sum = 0.0;
        for (var i = 0u; i < KH; i++) {
            sum += pre[frame_at(row, head, i, c % RANK)] * dmean[row * 2u * K + c / RANK * K + head * KH + i];
        }
        dcontracted[row * PARTS + p] = sum;
    }
}
//endif
//if contract_backward
@group(0) @binding(1) var<storage, read> tau: array<f32>;
@group(0) @binding(2) var<storage, read> key: array<f32>;
@group(0) @binding(3) var<storage, read> dquery: array<f32>;
@group(0) @binding(4) var<storage, read_write> dkey: array<f32>;
@group(0) @binding(5) var<storage, read_write> dpre: array<f32>;
@group(0) @binding(6) var<storage, read_write> scalars: array<f32>;
//if transport
@group(0) @binding(7) var<storage, read> psi: array<f32>;
@group(0) @binding(8) var<storage, read> dcontracted: array<f32>;
@group(0) @binding(9) var<storage, read_write> dpsi: array<f32>;
//endif

@compute @workgroup_size(THREADS)
fn contract_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    let scale = tau[0] * INVERSE_ROOT_HEAD;
    var dscale = 0.0;
    for (var p = at; p < PARTS; p += THREADS) {
        // The query's contraction is the key's, scaled: what both received goes one way.
        let place = row * ROW + p / (2u * RANK) * HEAD_ROW + 2u * KH + p % (2u * RANK);
        dscale += dquery[place] * key[place];
        dkey[place] = dkey[place] + scale * dquery[place];
    }
    let total = row_sum(dscale, at);
    if at == 0u {
        scalars[row] = total * INVERSE_ROOT_HEAD;
    }
    storageBarrier();
    for (var j = at; j < K; j += THREADS) {
        let head = j / KH;
        let i = j % KH;
        let z = row * ROW + head * HEAD_ROW;
        var dz = vec2<f32>();
        var dpsi_own = vec2<f32>();
        for (var c = 0u; c < RANK; c++) {
            let at_frame = frame_at(row, head, i, c);
            let d = vec2<f32>(dkey[z + 2u * KH + c], dkey[z + 2u * KH + RANK + c]);
            dz += pre[at_frame] * d;
            var dframe = key[z + i] * d.x + key[z + KH + i] * d.y;
//if transport
            let y = row * PARTS + head * 2u * RANK + c;
            let dvalue = vec2<f32>(dcontracted[y], dcontracted[y + RANK]);
            dpsi_own += pre[at_frame] * dvalue;
            dframe += psi[row * 2u * K + j] * dvalue.x + psi[row * 2u * K + K + j] * dvalue.y;
            dframe += dpre[at_frame];
//endif
            dpre[at_frame] = dframe;
        }
        dkey[z + i] = dkey[z + i] + dz.x;
        dkey[z + KH + i] = dkey[z + KH + i] + dz.y;
//if transport
        dpsi[row * 2u * K + j] = dpsi[row * 2u * K + j] + dpsi_own.x;
        dpsi[row * 2u * K + K + j] = dpsi[row * 2u * K + K + j] + dpsi_own.y;
//endif
    }
}
//endif
