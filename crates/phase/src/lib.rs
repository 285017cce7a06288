//! What one measures on a trained model, and how it is drawn.

pub mod figure;
