// The loss: cross-entropy of logits (M x VOCAB) times a scale, that of the phase readout (Section 2.0.4).
// Forward: logits, targets (M) -> losses (M) in nats.
// Backward: also the gradient in place of the logits, and the scale's share of each row.
// Workgroups: one per row.
@group(0) @binding(0) var<storage, read> targets: array<u32>;
@group(0) @binding(1) var<storage, read_write> losses: array<f32>;
//if forward
@group(0) @binding(2) var<storage, read> logits: array<f32>;
//endif
//if backward
@group(0) @binding(2) var<storage, read_write> logits: array<f32>;
//endif
//if scale
@group(0) @binding(3) var<storage, read> logit_scale: array<f32>;
//if backward
@group(0) @binding(4) var<storage, read_write> scalars: array<f32>;
//endif
//endif

@compute @workgroup_size(THREADS)
fn cross_entropy(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let row = group.x;
    var scale = 1.0;
//if scale
    scale = logit_scale[0] * INVERSE_ROOT_WIDTH;
//endif
    let chosen = scale * logits[row * VOCAB + targets[row]];
    var largest = -3.0e38;
    for (var v = at; v < VOCAB; v += THREADS) {
        largest = max(largest, scale * logits[row * VOCAB + v]);
    }
    largest = row_max(largest, at);
    var own = 0.0;
    for (var v = at; v < VOCAB; v += THREADS) {
        own += exponential(scale * logits[row * VOCAB + v] - largest);
    }
    let sum = row_sum(own, at);
    if at == 0u {
        losses[row] = logarithm(sum) + (largest - chosen);
    }
//if backward
    let counts = row % T < batch.length && row / T < batch.sequences;
    let weight = select(0.0, batch.weight, counts);
    var dscale = 0.0;
    for (var v = at; v < VOCAB; v += THREADS) {
        let x = logits[row * VOCAB + v];
        let p = exponential(scale * x - largest) / sum;
        let d = (p - select(0.0, 1.0, v == targets[row])) * weight;
        dscale += d * x;
        logits[row * VOCAB + v] = scale * d;
    }
//if scale
    let total = row_sum(dscale, at);
    if at == 0u {
        scalars[row] = total * INVERSE_ROOT_WIDTH;
    }
//endif
//endif
}
