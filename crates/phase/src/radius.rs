//! The radii that bound a layer's two increments.

use kuramoto_kernels::Real;
use kuramoto_model::{Kuramoto, Network, Weights};

/// Radii (r1, r2) of every layer's two bounds, where it has them.
pub type Radii = Vec<(Option<f64>, Option<f64>)>;

/// Radii of every layer's two bounds.
pub fn radii<F: Real>(weights: &Weights<F, Kuramoto>) -> Radii
where
    Kuramoto: Network<F>,
{
    let radius = |layer: usize, name: &str| {
        let logarithm = weights.parameter(&format!("layers.{layer}.{name}"))?;
        Some(logarithm[0].to_f64().exp())
    };
    (0..weights.network().config().layers)
        .map(|layer| (radius(layer, "log_r1"), radius(layer, "log_r2")))
        .collect()
}
