//! Angles taken to the circle: the state is on the torus, whatever turns it has made.

use crate::Real;
use std::f64::consts::{PI, TAU};

/// theta (n x k) -> theta in (-pi, pi]. Its derivative is 1, so there is no backward.
pub fn forward<F: Real>(theta: &mut [F]) {
    for theta in theta {
        // In f64, because a small difference of large angles is what is left.
        let angle = theta.to_f64();
        let wrapped = angle - TAU * (angle / TAU).round();
        *theta = F::from_f64(if wrapped <= -PI { wrapped + TAU } else { wrapped });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_keep_their_place_on_the_circle() {
        for turns in [-100.0, -1.0, 0.0, 1.0, 7.0] {
            for angle in [-3.1, -0.5, 0.0, 2.0, PI] {
                let mut theta = [angle + turns * TAU];
                forward(&mut theta);
                assert!((theta[0] - angle).abs() < 1e-12 * (1.0 + turns.abs()), "{angle} and {turns} turns");
            }
        }
        let mut theta = [-PI];
        forward(&mut theta);
        assert_eq!(theta, [PI]);
    }
}
