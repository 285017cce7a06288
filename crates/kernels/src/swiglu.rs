//! The SwiGLU's nonlinearity between its matrix products, silu(gate) * up (Equation (1),
//! second update; Section 2.0.3).

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// Section 2.0.3: gate_up (n x 2m, the m gates of a row before its m ups) -> hidden (n x m)
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(m: usize, gate_up: &[F], hidden: &mut [F]) {
    for (gate_up, hidden) in gate_up.chunks_exact(2 * m).zip(hidden.chunks_exact_mut(m)) {
        let (gate, up) = gate_up.split_at(m);
        for ((&gate, &up), hidden) in gate.iter().zip(up).zip(hidden) {
            *hidden = gate.silu::<A>() * up;
        }
    }
}

/// Section 2.0.3: gate_up (n x 2m), dhidden (n x m) -> dgate_up (written, n x 2m),
/// hidden (written again, n x m)
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(
    m: usize,
    gate_up: &[F],
    dhidden: &[F],
    dgate_up: &mut [F],
    hidden: &mut [F],
) {
    let rows = gate_up.chunks_exact(2 * m).zip(dhidden.chunks_exact(m));
    let outputs = dgate_up.chunks_exact_mut(2 * m).zip(hidden.chunks_exact_mut(m));
    for ((gate_up, dhidden), (dgate_up, hidden)) in rows.zip(outputs) {
        let (gate, up) = gate_up.split_at(m);
        let (dgate, dup) = dgate_up.split_at_mut(m);
        for j in 0..m {
            let sigmoid = gate[j].sigmoid::<A>();
            let silu = gate[j] * sigmoid;
            hidden[j] = silu * up[j];
            dup[j] = silu * dhidden[j];
            // silu' = sigmoid + silu (1 - sigmoid)
            dgate[j] = (sigmoid + silu * (F::ONE - sigmoid)) * up[j] * dhidden[j];
        }
    }
}
