// gradient (COUNT) = the sum of the slabs in order, and squares: the sum of squares of each workgroup's part.
@group(0) @binding(0) var<storage, read> slabs: array<f32>;
@group(0) @binding(1) var<storage, read_write> gradient: array<f32>;
@group(0) @binding(2) var<storage, read_write> squares: array<f32>;

@compute @workgroup_size(THREADS)
fn reduce(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    var own = 0.0;
    for (var part = 0u; part < EACH; part++) {
        let i = (group.x * EACH + part) * THREADS + at;
        if i < COUNT {
            var sum = 0.0;
            for (var slab = 0u; slab < SLABS; slab++) {
                sum += slabs[slab * SLAB + i];
            }
            gradient[i] = sum;
            own += sum * sum;
        }
    }
    let total = row_sum(own, at);
    if at == 0u {
        squares[group.x] = total;
    }
}
