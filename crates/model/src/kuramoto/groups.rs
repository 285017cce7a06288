//! Slices that stages read and write together: `T` is `&[F]` where a stage reads them, `&mut
//! [F]` where it writes them.

/// One of each side of the score: metric gates (n x k), their inverse means (n x h), or phasors (n x row).
#[derive(Clone, Copy)]
pub(super) struct QueryKey<T> {
    pub query: T,
    pub key: T,
}

/// What attention averages. The circular mean is of `psi`; the value projection is a section of
/// `preactivations`; `contracted` is empty without a transport frame.
#[derive(Clone, Copy)]
pub(super) struct Values<T> {
    /// n x 2k
    pub psi: T,
    /// n x m
    pub preactivations: T,
    /// n x 2rh
    pub contracted: T,
}

/// The averages of [`Values`], in the same order. Projected values are the update already.
#[derive(Clone, Copy)]
pub(super) struct Means<T> {
    /// n x 2k
    pub resultant: T,
    /// n x k
    pub update: T,
    /// n x 2rh
    pub contracted: T,
}

impl<F: kuramoto_kernels::Real> Means<&mut [F]> {
    /// Sets them to zero.
    pub fn clear(&mut self) {
        for mean in [&mut self.resultant, &mut self.update, &mut self.contracted] {
            mean.fill(F::ZERO);
        }
    }
}

/// What a single token averages: `values` are psi or projected values, in rows of `stride`.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, F> {
    pub values: &'a [F],
    pub stride: usize,
    /// n x 2rh
    pub contracted: &'a [F],
}

/// The feed-forward block between its input and its increment.
pub(super) struct Block<T> {
    /// n x 2k; empty unless the block reads lifted phases
    pub middle_psi: T,
    /// n x 4k; empty without a SwiGLU, as is `hidden`
    pub gate_up: T,
    /// n x 2k
    pub hidden: T,
}
