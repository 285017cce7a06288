// Sums over rows of what each row gave to a scalar parameter: scalars (columns x ROWS), added to slab 0.
// table: for each parameter its place, its first column, how many columns it has, and their distance.
// Workgroups: one per parameter.
@group(0) @binding(0) var<storage, read> scalars: array<f32>;
@group(0) @binding(1) var<storage, read> table: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> slabs: array<f32>;

@compute @workgroup_size(THREADS)
fn backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let what = table[group.x];
    var own = 0.0;
    for (var column = 0u; column < what.z; column++) {
        let first = (what.y + column * what.w) * ROWS;
        for (var row = at; row < M; row += THREADS) {
            own += scalars[first + row];
        }
    }
    let sum = row_sum(own, at);
    if at == 0u {
        slabs[what.x] = slabs[what.x] + sum;
    }
}
