//! What surrounds a matrix product: bias rows, their gradient, rows of a table by token, and
//! products with one vector.

use crate::Real;
use crate::arch::Arch;
use crate::reduce::dot;
use macro_rules_attribute::apply;

/// bias (m) -> y (n rows of `stride`, m used): every row is the bias, ready for an accumulating product
pub fn fill_bias<F: Real>(bias: &[F], y: &mut [F], stride: usize) {
    for row in y.chunks_mut(stride.max(1)) {
        row[..bias.len()].copy_from_slice(bias);
    }
}

/// dy (n rows of `stride`, m used) -> dbias (m)
#[apply(vectorised)]
pub fn bias_backward<A: Arch, F: Real>(dy: &[F], stride: usize, dbias: &mut [F]) {
    for row in dy.chunks(stride.max(1)) {
        for (dbias, &dy) in dbias.iter_mut().zip(row) {
            *dbias += dy;
        }
    }
}

/// table (vocab x m), tokens (n) -> y (n x m)
pub fn gather<F: Real>(m: usize, table: &[F], tokens: &[u8], y: &mut [F]) {
    for (y, &token) in y.chunks_exact_mut(m.max(1)).zip(tokens) {
        y.copy_from_slice(&table[usize::from(token) * m..][..m]);
    }
}

/// dy (n x m), tokens (n) -> dtable (vocab x m)
#[apply(vectorised)]
pub fn scatter<A: Arch, F: Real>(m: usize, dy: &[F], tokens: &[u8], dtable: &mut [F]) {
    for (dy, &token) in dy.chunks_exact(m.max(1)).zip(tokens) {
        for (dtable, &dy) in dtable[usize::from(token) * m..][..m].iter_mut().zip(dy) {
            *dtable += dy;
        }
    }
}

/// w (m rows of `stride`, k used), x (k) -> y (m) = w x
#[apply(vectorised)]
pub fn apply_rows<A: Arch, F: Real>(w: &[F], stride: usize, x: &[F], y: &mut [F]) {
    for (row, y) in w.chunks(stride).zip(y) {
        *y = dot::<A, F>(x, row);
    }
}

/// w (n rows of `stride`, m used), x (n) -> y (m) += x w
#[apply(vectorised)]
pub fn combine_rows<A: Arch, F: Real>(w: &[F], stride: usize, x: &[F], y: &mut [F]) {
    for (row, &x) in w.chunks(stride).zip(x) {
        for (y, &w) in y.iter_mut().zip(row) {
            *y = x.mul_add::<A>(w, *y);
        }
    }
}
