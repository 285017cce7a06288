//! The SwiGLU nonlinearity between its matrix products: silu(gate) * up.

use crate::Real;
use crate::arch::Arch;
use macro_rules_attribute::apply;

/// pre (n x 2m, the m gates of a row before its m ups) -> hidden (n x m)
#[apply(vectorised)]
pub fn forward<A: Arch, F: Real>(m: usize, pre: &[F], hidden: &mut [F]) {
    for (pre, hidden) in pre.chunks_exact(2 * m).zip(hidden.chunks_exact_mut(m)) {
        let (gate, up) = pre.split_at(m);
        for ((&gate, &up), hidden) in gate.iter().zip(up).zip(hidden) {
            *hidden = gate.silu::<A>() * up;
        }
    }
}

/// pre (n x 2m), dhidden (n x m) -> dpre (written, n x 2m), hidden (written again, n x m)
#[apply(vectorised)]
pub fn backward<A: Arch, F: Real>(m: usize, pre: &[F], dhidden: &[F], dpre: &mut [F], hidden: &mut [F]) {
    let rows = pre.chunks_exact(2 * m).zip(dhidden.chunks_exact(m));
    let outputs = dpre.chunks_exact_mut(2 * m).zip(hidden.chunks_exact_mut(m));
    for ((pre, dhidden), (dpre, hidden)) in rows.zip(outputs) {
        let (gate, up) = pre.split_at(m);
        let (dgate, dup) = dpre.split_at_mut(m);
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
