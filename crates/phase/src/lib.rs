//! What one measures on a trained Kuramoto model.
//!
//! A [`Probe`] runs the model over a window of text; a [`Trace`] is what it left at the hook points: phases,
//! couplings, gates. From traces follow the order parameters of the paper ([`order`]), [`locking`], [`pull`]s
//! and [`coalition`]s; [`measure`] lists one-number measures, [`survey`] takes them over whole texts and
//! beside [`surrogate`]s, and [`diagnostics`] makes tables, figures and statements of them. [`intervention`]
//! changes a pass while it runs, [`lesion`] finds out what a part is worth, [`export`] writes arrays for
//! other programs. [`classical`] is the model that the layer is named after.
//!
//! The feature `runs`, on by default, adds [`subject`], which opens run folders.

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
#[cfg(feature = "runs")]
pub mod subject;
pub mod surrogate;
pub mod survey;
pub mod trace;
pub mod windows;

pub use error::{Error, Result};
#[cfg(feature = "runs")]
pub use subject::{Subject, TextSource};
pub use trace::{Probe, Trace};
