// Sums over a row by one workgroup, in an order that never changes. Every thread of the workgroup must call
// them.
var<workgroup> lanes: array<vec2<f32>, THREADS>;

fn row_sums(own: vec2<f32>, at: u32) -> vec2<f32> {
    workgroupBarrier();
    lanes[at] = own;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half = half / 2u) {
        if at < half {
            lanes[at] = lanes[at] + lanes[at + half];
        }
        workgroupBarrier();
    }
    return lanes[0];
}

fn row_sum(own: f32, at: u32) -> f32 {
    return row_sums(vec2<f32>(own, 0.0), at).x;
}

fn row_max(own: f32, at: u32) -> f32 {
    workgroupBarrier();
    lanes[at] = vec2<f32>(own, 0.0);
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half = half / 2u) {
        if at < half {
            lanes[at] = max(lanes[at], lanes[at + half]);
        }
        workgroupBarrier();
    }
    return lanes[0].x;
}
