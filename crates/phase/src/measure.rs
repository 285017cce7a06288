//! Measures: one number for one layer of one window. A new measure is a function here and a row in
//! [`MEASURES`].

use crate::circular::Resultant;
use crate::locking;
use crate::metric::{self, Shape};
use crate::order::{Attended, over_tokens};
use crate::radius::Radii;
use crate::trace::Trace;
use kuramoto_report::statistics::{mean, standard_deviation};

/// Learned scales that measures need beside a trace.
#[derive(Clone, Debug)]
pub struct Scales {
    /// Of the two bounds.
    pub radii: Radii,
    /// tau / sqrt(k/h), the factor of the diagonal metric; None without such a metric.
    pub metric: Option<f64>,
}

/// The trace of a window, and what several measures need, computed once.
pub struct MeasuredWindow<'a> {
    /// What the model left at its hook points.
    pub trace: &'a Trace<f32>,
    /// Learned scales of its model.
    pub scales: &'a Scales,
    /// G of every layer.
    pub attended: Vec<Attended<f32>>,
    /// G of every layer without the token itself.
    pub neighbours: Vec<Attended<f32>>,
    /// The metric of every layer; empty without a diagonal one.
    pub metric: Vec<Shape>,
    /// R_t by layer, position.
    pub local_order: Vec<Vec<f64>>,
    /// Resultants over tokens by state (one more than layers), oscillator.
    pub resultants: Vec<Vec<Resultant>>,
    /// Phase locking between oscillators (k x k) by layer.
    pub oscillator_locking: Vec<Vec<f32>>,
}

impl<'a> MeasuredWindow<'a> {
    /// Of a trace of a model with these scales.
    pub fn new(trace: &'a Trace<f32>, scales: &'a Scales) -> MeasuredWindow<'a> {
        let layers = 0..trace.layers();
        let attended: Vec<Attended<f32>> = layers.clone().map(|layer| Attended::of(trace, layer)).collect();
        let local_order = |layer: &Attended<f32>| (0..trace.n).map(|t| layer.local_order(t)).collect();
        let metric = |scale: f64| {
            let shape = |layer: usize| Shape::of(&metric::diagonal(trace, layer, scale), trace.k);
            layers.clone().map(shape).collect()
        };
        MeasuredWindow {
            trace,
            scales,
            neighbours: layers.clone().map(|layer| Attended::of_neighbours(trace, layer)).collect(),
            metric: scales.metric.map(metric).unwrap_or_default(),
            local_order: attended.iter().map(local_order).collect(),
            attended,
            resultants: trace.states.iter().map(|state| over_tokens(state, trace.k)).collect(),
            oscillator_locking: layers.map(|layer| locking::oscillators(trace, layer)).collect(),
        }
    }

    /// R_j of every oscillator of a state: the lengths of its resultants.
    pub fn lengths(&self, state: usize) -> Vec<f64> {
        self.resultants[state].iter().map(Resultant::length).collect()
    }

    fn over_positions(&self, of: impl Fn(usize) -> f64) -> f64 {
        (0..self.trace.n).map(of).sum::<f64>() / self.trace.n as f64
    }

    /// Mean over the tokens that couple with others; NaN if none does.
    fn over_neighbours(&self, layer: usize, of: impl Fn(usize) -> f64) -> f64 {
        let tokens = (0..self.trace.n).filter(|&t| self.trace.has_neighbours(layer, t));
        mean(&tokens.map(of).collect::<Vec<f64>>())
    }

    fn shape(&self, layer: usize, of: impl Fn(&Shape) -> f64) -> f64 {
        self.metric.get(layer).map_or(f64::NAN, of)
    }
}

/// One number of a layer of a window, with its formula and meaning.
pub struct Measure {
    /// Its name in tables and files.
    pub name: &'static str,
    /// Its formula, in the paper's symbols.
    pub formula: &'static str,
    /// What it says, in a sentence.
    pub meaning: &'static str,
    /// Of the window's layer; NaN where the configuration does not have what it needs.
    pub of: fn(&MeasuredWindow<'_>, usize) -> f64,
}

/// Every measure.
pub const MEASURES: [Measure; 22] = [
    Measure {
        name: "local-order",
        formula: "mean_t R_t, R_t = mean_j |G_tj|, G_tj = sum_u A_tu e^{i theta_uj}",
        meaning: "coherence of the phases a token attends to; 1 also where it attends to itself alone",
        of: |window, layer| mean(&window.local_order[layer]),
    },
    Measure {
        name: "neighbour-order",
        formula: "mean_t,j |G'_tj|, G'_tj = sum_u<t A_tu e^{i theta_uj} / sum_u<t A_tu",
        meaning: "local order without the token itself: coherence of the other tokens it attends to",
        of: |window, layer| window.over_neighbours(layer, |t| window.neighbours[layer].local_order(t)),
    },
    Measure {
        name: "global-order",
        formula: "mean_j R_j, R_j = |1/N sum_u e^{i theta_uj}|",
        meaning: "coherence of all tokens of the window; unrelated phases give about 0.886 / sqrt(N)",
        of: |window, layer| mean(&window.lengths(layer)),
    },
    Measure {
        name: "order-spread",
        formula: "sd_j R_j",
        meaning: "how far oscillators differ in their coherence over tokens",
        of: |window, layer| standard_deviation(&window.lengths(layer)),
    },
    Measure {
        name: "metastability",
        formula: "sd_t |1/k sum_j e^{i theta_tj}|",
        meaning: "how much the coherence within a token changes along the text",
        of: metastability,
    },
    Measure {
        name: "alignment",
        formula: "mean_t,j cos(theta_tj - arg G_tj)",
        meaning: "how far a token's phases point where its attended mean points",
        of: |window, layer| window.over_positions(|t| window.attended[layer].alignment(t)),
    },
    Measure {
        name: "neighbour-alignment",
        formula: "mean_t,j cos(theta_tj - arg G'_tj)",
        meaning: "the same without the token itself, which agrees with itself",
        of: |window, layer| window.over_neighbours(layer, |t| window.neighbours[layer].alignment(t)),
    },
    Measure {
        name: "oscillator-locking",
        formula: "mean_i<j |1/N sum_t e^{i(theta_ti - theta_tj)}|",
        meaning: "phase locking between oscillators along the text",
        of: |window, layer| locking::mean_off_diagonal(&window.oscillator_locking[layer], window.trace.k),
    },
    Measure {
        name: "token-locking",
        formula: "mean_t<u |1/k sum_j e^{i(theta_tj - theta_uj)}|",
        meaning: "phase locking between tokens over oscillators",
        of: |window, layer| locking::mean_off_diagonal(&locking::tokens(window.trace, layer), window.trace.n),
    },
    Measure {
        name: "self-coupling",
        formula: "mean_t A_tt",
        meaning: "share of the coupling that a token has with itself, which pulls nothing",
        of: |window, layer| coupled(window, layer, |t, u| f64::from(u8::from(t == u))),
    },
    Measure {
        name: "coupling-range",
        formula: "mean_t sum_u A_tu (t - u)",
        meaning: "how far back a token couples, in bytes",
        of: |window, layer| coupled(window, layer, |t, u| (t - u) as f64),
    },
    Measure {
        name: "neighbour-range",
        formula: "mean_t sum_u<t A_tu (t - u) / sum_u<t A_tu",
        meaning: "how far back the other tokens are that a token couples with, in bytes",
        of: neighbour_range,
    },
    Measure {
        name: "coupled-tokens",
        formula: "mean_t exp(-sum_u A_tu ln A_tu)",
        meaning: "effective number of tokens a token couples with",
        of: coupled_tokens,
    },
    Measure {
        name: "attraction",
        formula: "share of v_tj > 0",
        meaning: "value gates that attract; the others repel",
        of: |window, layer| share(&window.trace.value[layer], |v| v > 0.0),
    },
    Measure {
        name: "metric-size",
        formula: "mean_t,j M_tj, M_tj = tau / sqrt(k/h) g^q_tj g^k_tj",
        meaning: "the score's diagonal metric at a token (Appendix A): how fast similarity falls off",
        of: |window, layer| window.shape(layer, |shape| shape.size),
    },
    Measure {
        name: "metric-anisotropy",
        formula: "mean_t sd_j(M_tj) / mean_t,j |M_tj|",
        meaning: "how differently the metric weighs the oscillators of a token",
        of: |window, layer| window.shape(layer, |shape| shape.anisotropy),
    },
    Measure {
        name: "metric-variation",
        formula: "mean_j sd_t(M_tj) / mean_t,j |M_tj|",
        meaning: "how much the metric changes from token to token; 0 is flat",
        of: |window, layer| window.shape(layer, |shape| shape.variation),
    },
    Measure {
        name: "metric-positive",
        formula: "share of M_tj > 0",
        meaning: "1 where it is a metric; signed gates, or a tau that is not positive, may violate it",
        of: |window, layer| window.shape(layer, |shape| shape.positive),
    },
    Measure {
        name: "metric-rank",
        formula: "mean_t (sum_j m_tj)^2 / (k sum_j m_tj^2), m_tj = |g^q_tj sum_u A_tu g^k_uj|",
        meaning: "share of the oscillators that the metric a token uses counts, by participation ratio",
        of: metric_rank,
    },
    Measure {
        name: "attention-step",
        formula: "mean_t rms_j(theta_mid - theta) / r1",
        meaning: "size of the synchronization step against its radius; 1 is full saturation",
        of: |window, layer| {
            step(
                window,
                &window.trace.states[layer],
                &window.trace.middles[layer],
                window.scales.radii[layer].0,
            )
        },
    },
    Measure {
        name: "feed-forward-step",
        formula: "mean_t rms_j(theta_next - theta_mid) / r2",
        meaning: "size of the feed-forward step against its radius",
        of: |window, layer| {
            step(
                window,
                &window.trace.middles[layer],
                &window.trace.states[layer + 1],
                window.scales.radii[layer].1,
            )
        },
    },
    Measure {
        name: "non-uniform",
        formula: "share of oscillators whose phases over tokens fail Rayleigh's test at 1%",
        meaning: "oscillators whose phases are not spread evenly round the circle; a description, as tokens \
                  are not independent",
        of: |window, layer| {
            let resultants = &window.resultants[layer];
            let failed = resultants.iter().filter(|resultant| resultant.rayleigh().1 < 0.01).count();
            failed as f64 / window.trace.k as f64
        },
    },
];

fn metastability(window: &MeasuredWindow<'_>, layer: usize) -> f64 {
    let rows = window.trace.states[layer].chunks_exact(window.trace.k);
    let orders: Vec<f64> =
        rows.map(|row| Resultant::of(row.iter().map(|&x| f64::from(x))).length()).collect();
    standard_deviation(&orders)
}

/// Mean over heads and positions of sum_u A_tu f(t, u).
fn coupled(window: &MeasuredWindow<'_>, layer: usize, f: impl Fn(usize, usize) -> f64) -> f64 {
    let (trace, n) = (window.trace, window.trace.n);
    let head = |head: usize| {
        let rows = trace.coupling(layer, head).chunks_exact(n).enumerate();
        rows.map(|(t, row)| (0..=t).map(|u| f64::from(row[u]) * f(t, u)).sum::<f64>()).sum::<f64>()
    };
    (0..trace.heads).map(head).sum::<f64>() / (trace.heads * n) as f64
}

fn neighbour_range(window: &MeasuredWindow<'_>, layer: usize) -> f64 {
    let (trace, n) = (window.trace, window.trace.n);
    let of_head = |t: usize, head: usize| {
        let row = &trace.coupling(layer, head)[t * n..][..t];
        let (sum, weighted) = row.iter().enumerate().fold((0.0, 0.0), |(sum, weighted), (u, &a)| {
            (sum + f64::from(a), weighted + f64::from(a) * (t - u) as f64)
        });
        weighted / sum
    };
    window.over_neighbours(layer, |t| {
        (0..trace.heads).map(|head| of_head(t, head)).sum::<f64>() / trace.heads as f64
    })
}

fn coupled_tokens(window: &MeasuredWindow<'_>, layer: usize) -> f64 {
    let (trace, n) = (window.trace, window.trace.n);
    let entropy = |row: &[f32]| -> f64 {
        row.iter().map(|&a| f64::from(a)).filter(|&a| a > 0.0).map(|a| -a * a.ln()).sum()
    };
    let rows = (0..trace.heads).flat_map(|head| trace.coupling(layer, head).chunks_exact(n));
    rows.map(|row| entropy(row).exp()).sum::<f64>() / (trace.heads * n) as f64
}

fn share(values: &[f32], is: impl Fn(f32) -> bool) -> f64 {
    values.iter().filter(|&&value| is(value)).count() as f64 / values.len() as f64
}

fn metric_rank(window: &MeasuredWindow<'_>, layer: usize) -> f64 {
    let (trace, n, k, kh) = (window.trace, window.trace.n, window.trace.k, window.trace.head_width());
    let (query, key) = (&trace.query[layer], &trace.key[layer]);
    if query.is_empty() {
        // Without gates every oscillator counts alike; with a frame in place of gates there is no diagonal.
        return if window.scales.metric.is_some() { 1.0 } else { f64::NAN };
    }
    let mut attended = vec![0.0f64; k];
    let rank = |t: usize| {
        attended.fill(0.0);
        for head in 0..trace.heads {
            let row = &trace.coupling(layer, head)[t * n..][..=t];
            for (u, &a) in row.iter().enumerate() {
                let gates = &key[u * k + head * kh..][..kh];
                for (sum, &gate) in attended[head * kh..][..kh].iter_mut().zip(gates) {
                    *sum += f64::from(a * gate);
                }
            }
        }
        let metric =
            attended.iter().zip(&query[t * k..][..k]).map(|(sum, &gate)| (sum * f64::from(gate)).abs());
        let (sum, squares) = metric.fold((0.0, 0.0), |(sum, squares), m| (sum + m, squares + m * m));
        sum * sum / (k as f64 * squares)
    };
    (0..n).map(rank).sum::<f64>() / n as f64
}

fn step(window: &MeasuredWindow<'_>, from: &[f32], to: &[f32], radius: Option<f64>) -> f64 {
    let (Some(radius), trace) = (radius, window.trace) else { return f64::NAN };
    let rows = from.chunks_exact(trace.k).zip(to.chunks_exact(trace.k));
    let size = |(a, b): (&[f32], &[f32])| {
        let squares: f64 = a.iter().zip(b).map(|(x, y)| f64::from(y - x).powi(2)).sum();
        (squares / trace.k as f64).sqrt()
    };
    rows.map(size).sum::<f64>() / (trace.n as f64 * radius)
}
