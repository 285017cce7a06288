//! Corpora, for now the embedded one; the training loop arrives here.

pub mod data;
