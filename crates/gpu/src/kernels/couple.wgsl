// The coupling A of Equation (1), Proposition 1: causal softmax of scores (sequences x HEADS x T x T) in
// place. A dropped weight keeps its value with the sign set, so one matrix is both A (its magnitudes) and the
// mask (its signs). What lies after the diagonal is never read. The backward pass is part of a product's
// store (matrix.rs). Workgroups: one per token, and per sequence and head.
@group(0) @binding(0) var<storage, read> keys: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> coupling: array<f32>;

@compute @workgroup_size(THREADS)
fn forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let t = group.x;
    let z = group.y;
    let first = (z * T + t) * T;
    var largest = -3.0e38;
    for (var u = at; u <= t; u += THREADS) {
        largest = max(largest, coupling[first + u]);
    }
    largest = row_max(largest, at);
    var sum = 0.0;
    for (var u = at; u <= t; u += THREADS) {
        let e = exponential(coupling[first + u] - largest);
        coupling[first + u] = e;
        sum += e;
    }
    let inverse = 1.0 / row_sum(sum, at);
    let key = keys[z / HEADS];
    // Indices of the mask count rows of the sequence's own length.
    let index = ((z % HEADS) * batch.length + t) * batch.length;
    for (var u = at; u <= t; u += THREADS) {
        let weight = coupling[first + u] * inverse;
        coupling[first + u] = select(weight, -weight, dropped(index + u, key));
    }
}
