//! Numeric primitives of Kuramoto Attention on plain slices.
//!
//! Every operation is one file with a `forward` and a `backward`. Matrices are row-major; the shapes stand on
//! the first doc line of each function, with `n` rows (tokens). A backward takes what its forward saved,
//! under the same names, and *adds* into gradients unless its doc line says that it writes.
//!
//! ```
//! use kuramoto_kernels::{lift, tangent};
//!
//! // Two oscillators of one token, and the phase that each of them attends to.
//! let (k, theta, attended) = (2, [0.0_f64, 1.0], [0.5, 1.0]);
//! let (mut psi, mut resultant, mut update) = ([0.0; 4], [0.0; 4], [0.0; 2]);
//! lift::forward(k, &theta, &mut psi);
//! lift::forward(k, &attended, &mut resultant);
//! tangent::forward(k, &psi, &resultant, &[1.0, 1.0], k, &mut update);
//! // The Kuramoto direction, sin(attended - theta): Lemma 2 of the paper.
//! assert!((update[0] - 0.5_f64.sin()).abs() < 1e-12 && update[1].abs() < 1e-12);
//! ```
//!
//! Everything is generic over [`Real`] (`f32`, `f64`), so gradient checks by finite differences run on the
//! very code that trains. Vector instructions are chosen at run time in one place, [`arch`].

#[macro_use]
pub mod arch;
pub mod adamw;
pub mod aligned;
pub mod bound;
pub mod couple;
pub mod cross_entropy;
pub mod drift;
pub mod dropout;
pub mod frame;
pub mod gate;
pub mod layer_norm;
pub mod lift;
pub mod linear;
mod microkernel;
pub mod peak;
#[cfg(not(target_arch = "aarch64"))]
mod portable;
pub mod product;
pub mod real;
mod real_f32;
mod real_f64;
pub mod reduce;
pub mod rope;
pub mod swiglu;
pub mod tangent;
pub mod turn;
pub mod wrap;

pub use aligned::AlignedVec;
pub use dropout::Dropout;
pub use product::{Causal, Packed, View};
pub use real::Real;
