//! Who pulls whom: the exact terms of the synchronization step.
//!
//! The direction of token t in oscillator j is the sum over u of A_tu sin(theta_uj - theta_tj) v_tj. Every
//! term is the pull of token u; together, scaled by the bound, they are the increment the model made.

use crate::error::{Error, Result};
use crate::trace::Trace;
use kuramoto_kernels::Real;
use kuramoto_model::Kuramoto;
use kuramoto_model::config::{Metric, Value};

/// The pulls on one token in one layer.
pub struct Pulls {
    /// The token that is pulled.
    pub token: usize,
    /// Oscillators.
    pub k: usize,
    /// Terms (t + 1 x k): what each token at or before `token` adds to each oscillator, before the bound.
    pub terms: Vec<f64>,
    /// What the bound scales their sum by: (r / n) tanh(n / r), n its root mean square; 1 without a bound.
    pub scale: f64,
}

/// The pull of one token on another, over all oscillators.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Pull {
    /// Who pulls.
    pub by: usize,
    /// Its share of the coupling, averaged over heads.
    pub coupling: f64,
    /// Root mean square over oscillators of what it adds to the increment, radians.
    pub size: f64,
    /// Share of the pull that brings the two closer, less the share that drives them apart: 1 attracts in
    /// every oscillator, -1 repels in every one.
    pub attraction: f64,
}

impl Pulls {
    /// Says so if a model's step is not a sum of pulls between phases.
    pub fn check(network: &Kuramoto) -> Result<()> {
        let config = network.config();
        match config.value == Value::Circular && config.metric != Metric::Transport {
            true => Ok(()),
            false => Err(Error::NoPulls),
        }
    }

    /// On token `t` in a layer with bound radius `radius`.
    pub fn on<F: Real>(trace: &Trace<F>, layer: usize, t: usize, radius: Option<f64>) -> Pulls {
        let (n, k, kh) = (trace.n, trace.k, trace.head_width());
        let phases = &trace.states[layer];
        let mut terms = vec![0.0; (t + 1) * k];
        for u in 0..=t {
            for j in 0..k {
                let coupling = trace.coupling(layer, j / kh)[t * n + u].to_f64();
                let value = trace.value[layer].get(t * k + j).map_or(1.0, |v| v.to_f64());
                let apart =
                    phases[u * k + j].to_f64() - phases[t * k + j].to_f64() - trace.drifted(layer, j, t - u);
                terms[u * k + j] = coupling * apart.sin() * value;
            }
        }
        let mut pulls = Pulls { token: t, k, terms, scale: 1.0 };
        if let Some(radius) = radius {
            let squares: f64 = (0..k).map(|j| pulls.direction(j).powi(2)).sum();
            // The model's own guard against a direction of zero.
            let size = (squares / k as f64 + 1e-12).sqrt();
            pulls.scale = radius / size * (size / radius).tanh();
        }
        pulls
    }

    /// The direction in oscillator `j`, before the bound.
    pub fn direction(&self, j: usize) -> f64 {
        self.terms.iter().skip(j).step_by(self.k).sum()
    }

    /// The increment in oscillator `j`.
    pub fn increment(&self, j: usize) -> f64 {
        self.scale * self.direction(j)
    }

    /// The pulls token by token, strongest first. A token's pull on itself is nothing.
    pub fn strongest<F: Real>(&self, trace: &Trace<F>, layer: usize) -> Vec<Pull> {
        let (n, k, t) = (trace.n, self.k, self.token);
        let phases = &trace.states[layer];
        let of = |u: usize| {
            let terms = &self.terms[u * k..][..k];
            let squares: f64 = terms.iter().map(|x| x * x).sum();
            let apart = |j: usize| {
                (phases[u * k + j].to_f64() - phases[t * k + j].to_f64() - trace.drifted(layer, j, t - u))
                    .sin()
            };
            // A term that has the sign of the way from t to u brings them closer.
            let (closer, all) = terms.iter().enumerate().fold((0.0, 0.0), |(closer, all), (j, term)| {
                (closer + term * apart(j).signum(), all + term.abs())
            });
            let coupling =
                (0..trace.heads).map(|head| trace.coupling(layer, head)[t * n + u].to_f64()).sum::<f64>();
            Pull {
                by: u,
                coupling: coupling / trace.heads as f64,
                size: self.scale * (squares / k as f64).sqrt(),
                attraction: if all > 0.0 { closer / all } else { 0.0 },
            }
        };
        let mut pulls: Vec<Pull> = (0..=t).map(of).collect();
        pulls.sort_by(|a, b| b.size.total_cmp(&a.size).then(a.by.cmp(&b.by)));
        pulls
    }
}
