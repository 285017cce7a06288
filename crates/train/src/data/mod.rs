//! What models are trained on.

pub mod tales;
