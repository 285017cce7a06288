// Sums over rows of x (M x K), into the slab of their rows. Workgroups: one per 32 columns and slab, of 32
// columns by 8 rows; each thread takes every eighth row, and the eight sums are added in order.
//   rates: domega_j = sum over rows of t angle_tj
//   norm: dweight_j = sum of dy normal, dbias_j = sum of dy
@group(0) @binding(0) var<storage, read> x: array<f32>;
//if norm
@group(0) @binding(1) var<storage, read> normal: array<f32>;
//endif
@group(0) @binding(2) var<storage, read_write> slabs: array<f32>;

var<workgroup> sums: array<vec2<f32>, 256>;

@compute @workgroup_size(256)
fn columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let j = group.x * 32u + at % 32u;
    let end = min((group.y + 1u) * SLAB_ROWS, M);
    var sum = vec2<f32>();
    if j < K {
        for (var row = group.y * SLAB_ROWS + at / 32u; row < end; row += 8u) {
//if rates
            sum.x += f32(row % T) * x[row * K + j];
//endif
//if norm
            sum += x[row * K + j] * vec2<f32>(normal[row * K + j], 1.0);
//endif
        }
    }
    sums[at] = sum;
    workgroupBarrier();
    if at < 32u && j < K {
        for (var lane = 1u; lane < 8u; lane++) {
            sum += sums[lane * 32u + at];
        }
        let place = group.y * SLAB + j;
        slabs[place] = slabs[place] + sum.x;
//if norm
        slabs[place + BIAS] = slabs[place + BIAS] + sum.y;
//endif
    }
}
