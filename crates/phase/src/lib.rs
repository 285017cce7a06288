//! What one measures on a trained Kuramoto model, and how it is drawn.
//!
//! A [`Probe`] runs the model over a window of text; a [`Trace`] is what it left at the hook points: phases, couplings,
//! gates. From traces follow the order parameters of the paper ([`order`]), and, for whole texts, its diagnostics
//! ([`diagnostics`]). [`circular`] and [`statistics`] hold the arithmetic, [`figure`] the look of all figures.

pub mod circular;
pub mod classical;
pub mod coalition;
pub mod diagnostics;
pub mod error;
pub mod export;
pub mod intervention;
pub mod lesion;
pub mod locking;
pub mod measure;
pub mod order;
pub mod pull;
pub mod survey;
pub mod trace;
pub mod windows;

pub use error::{Error, Result};
pub use trace::{Probe, Trace};
