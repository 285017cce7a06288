//! The classical Kuramoto model, as ground truth for the order parameter and as what the layer is named
//! after:
//!
//! d theta_i / dt = omega_i + K / N sum_j sin(theta_j - theta_i)
//!
//! all-to-all, or on a graph with K / (mean degree) in place of K / N. For Lorentzian frequencies of
//! half-width gamma the transition is known: K_c = 2 / (pi g(0)) = 2 gamma, and r = sqrt(1 - K_c / K) above
//! it.

#[cfg(feature = "reports")]
mod transition;

#[cfg(feature = "reports")]
pub use transition::{MAX_STEPS, Settled, Watch, csv, figure, sweep, sweep_bytes, table};

use crate::circular::Resultant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::f64::consts::{PI, TAU};

/// How natural frequencies are distributed; all around zero, as a common rotation changes nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frequencies {
    /// Of this half-width at half height.
    Lorentzian(f64),
    /// Of this standard deviation.
    Normal(f64),
    /// Within plus and minus this.
    Uniform(f64),
}

/// The shape of a distribution of natural frequencies.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Distribution {
    /// Heavy tails; its transition is known exactly.
    Lorentzian,
    /// The bell curve.
    Normal,
    /// Even between two edges.
    Uniform,
}

impl Distribution {
    /// Frequencies of this half-width, standard deviation or edge.
    pub fn of_width(self, width: f64) -> Frequencies {
        match self {
            Distribution::Lorentzian => Frequencies::Lorentzian(width),
            Distribution::Normal => Frequencies::Normal(width),
            Distribution::Uniform => Frequencies::Uniform(width),
        }
    }
}

impl Frequencies {
    /// g(0), the density in the middle.
    pub fn peak(self) -> f64 {
        match self {
            Frequencies::Lorentzian(width) => 1.0 / (PI * width),
            Frequencies::Normal(sd) => 1.0 / (sd * TAU.sqrt()),
            Frequencies::Uniform(edge) => 0.5 / edge,
        }
    }

    /// The coupling at which an infinite population begins to synchronize, 2 / (pi g(0)).
    pub fn critical_coupling(self) -> f64 {
        2.0 / (PI * self.peak())
    }

    /// The order of an infinite all-to-all population, where a formula is known.
    pub fn order(self, coupling: f64) -> Option<f64> {
        match self {
            Frequencies::Lorentzian(_) if coupling <= self.critical_coupling() => Some(0.0),
            Frequencies::Lorentzian(_) => Some((1.0 - self.critical_coupling() / coupling).sqrt()),
            Frequencies::Normal(_) | Frequencies::Uniform(_) => None,
        }
    }

    /// The quantile at `p` between 0 and 1.
    fn quantile(self, p: f64) -> f64 {
        match self {
            Frequencies::Lorentzian(width) => width * (PI * (p - 0.5)).tan(),
            Frequencies::Normal(sd) => sd * normal_quantile(p),
            Frequencies::Uniform(edge) => edge * (2.0 * p - 1.0),
        }
    }

    /// `count` frequencies at evenly spaced quantiles: a finite population closest to the infinite one.
    pub fn spaced(self, count: usize) -> Vec<f64> {
        (0..count).map(|i| self.quantile((i as f64 + 0.5) / count as f64)).collect()
    }
}

/// Inverse of the normal distribution by bisection; it is called once per oscillator.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if normal_cumulative(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Of the standard normal distribution, by its series around 0.
fn normal_cumulative(x: f64) -> f64 {
    if x.abs() > 7.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= x * x / (2 * n + 1) as f64;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / TAU.sqrt()
}

/// Who couples with whom.
#[derive(Clone, Debug, PartialEq)]
pub enum Graph {
    /// Everyone with everyone.
    Complete,
    /// Neighbours of each oscillator.
    Neighbours(Vec<Vec<usize>>),
}

impl Graph {
    /// From pairs of oscillators, each coupling both ways.
    pub fn of_edges(count: usize, edges: &[(usize, usize)]) -> Result<Graph, String> {
        let mut neighbours = vec![Vec::new(); count];
        for &(a, b) in edges {
            if a >= count || b >= count {
                return Err(format!(
                    "edge {a} {b} leaves the graph: it has oscillators 0 to {}",
                    count.saturating_sub(1)
                ));
            }
            neighbours[a].push(b);
            if a != b {
                neighbours[b].push(a);
            }
        }
        Ok(Graph::Neighbours(neighbours))
    }

    /// Edges drawn with the same probability each (Erdos and Renyi).
    pub fn random(count: usize, mean_degree: f64, seed: u64) -> Graph {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let p = (mean_degree / (count.max(2) - 1) as f64).clamp(0.0, 1.0);
        let mut neighbours = vec![Vec::new(); count];
        for a in 0..count {
            for b in 0..a {
                if f64::from(random.next_u32()) < p * 2f64.powi(32) {
                    neighbours[a].push(b);
                    neighbours[b].push(a);
                }
            }
        }
        Graph::Neighbours(neighbours)
    }

    /// Bytes that it holds.
    #[cfg(feature = "reports")]
    fn bytes(&self) -> usize {
        match self {
            Graph::Complete => 0,
            Graph::Neighbours(all) => {
                let edges: usize = all.iter().map(Vec::len).sum();
                all.len() * size_of::<Vec<usize>>() + edges * size_of::<usize>()
            }
        }
    }

    fn mean_degree(&self) -> f64 {
        match self {
            Graph::Complete => f64::NAN,
            Graph::Neighbours(all) => {
                all.iter().map(Vec::len).sum::<usize>() as f64 / all.len().max(1) as f64
            }
        }
    }
}

/// A population of oscillators.
pub struct Population {
    frequencies: Vec<f64>,
    graph: Graph,
    coupling: f64,
    /// Phases, radians.
    pub phases: Vec<f64>,
    slopes: [Vec<f64>; 4],
    moved: Vec<f64>,
}

impl Population {
    /// With phases drawn uniformly.
    pub fn new(frequencies: Vec<f64>, graph: Graph, coupling: f64, seed: u64) -> Population {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let count = frequencies.len();
        let phases = (0..count).map(|_| TAU * f64::from(random.next_u32()) / 2f64.powi(32)).collect();
        let slopes = std::array::from_fn(|_| vec![0.0; count]);
        Population { frequencies, graph, coupling, phases, slopes, moved: vec![0.0; count] }
    }

    /// Changes the coupling and keeps the phases.
    pub fn set_coupling(&mut self, coupling: f64) {
        self.coupling = coupling;
    }

    /// r = |1/N sum e^{i theta}|.
    pub fn order(&self) -> f64 {
        Resultant::of(self.phases.iter().copied()).length()
    }

    /// One step of the classical Runge-Kutta method.
    pub fn step(&mut self, time: f64) {
        let Population { frequencies, graph, coupling, phases, slopes, moved } = self;
        let [a, b, c, d] = slopes;
        let shift = |moved: &mut Vec<f64>, slope: &[f64], by: f64| {
            moved
                .iter_mut()
                .zip(phases.iter().zip(slope))
                .for_each(|(x, (phase, slope))| *x = phase + by * slope);
        };
        slope(frequencies, graph, *coupling, phases, a);
        shift(moved, a, 0.5 * time);
        slope(frequencies, graph, *coupling, moved, b);
        shift(moved, b, 0.5 * time);
        slope(frequencies, graph, *coupling, moved, c);
        shift(moved, c, time);
        slope(frequencies, graph, *coupling, moved, d);
        for (i, phase) in phases.iter_mut().enumerate() {
            *phase += time / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]);
        }
    }
}

fn slope(frequencies: &[f64], graph: &Graph, coupling: f64, phases: &[f64], slope: &mut [f64]) {
    match graph {
        // sum_j sin(theta_j - theta_i) = N r sin(psi - theta_i): no double loop.
        Graph::Complete => {
            let mean = Resultant::of(phases.iter().copied());
            let (r, psi) = (mean.length(), mean.mean());
            for ((slope, omega), phase) in slope.iter_mut().zip(frequencies).zip(phases) {
                *slope = omega + coupling * r * (psi - phase).sin();
            }
        }
        Graph::Neighbours(neighbours) => {
            let strength = coupling / graph.mean_degree().max(f64::MIN_POSITIVE);
            for (i, near) in neighbours.iter().enumerate() {
                let pull: f64 = near.iter().map(|&j| (phases[j] - phases[i]).sin()).sum();
                slope[i] = frequencies[i] + strength * pull;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_couplings() {
        assert!((Frequencies::Normal(1.0).critical_coupling() - (8.0 / PI).sqrt()).abs() < 1e-12);
        assert!((Frequencies::Uniform(1.0).critical_coupling() - 4.0 / PI).abs() < 1e-12);
    }

    #[test]
    fn quantiles() {
        let quarter = Frequencies::Lorentzian(2.0).quantile(0.75);
        assert!((quarter - 2.0).abs() < 1e-12, "the half-width holds the middle half");
        assert!((Frequencies::Normal(1.0).quantile(0.975) - 1.959_963_985).abs() < 1e-8);
        let spaced = Frequencies::Normal(3.0).spaced(1001);
        let sd = (spaced.iter().map(|x| x * x).sum::<f64>() / 1000.0).sqrt();
        assert!(spaced[500].abs() < 1e-9 && (sd - 3.0).abs() < 0.05);
    }

    /// Two oscillators lock if K exceeds their difference in frequency, at sin(phase difference) = difference
    /// / K.
    #[test]
    fn two_oscillators_lock_where_they_must() {
        let graph = Graph::of_edges(2, &[(0, 1)]).unwrap();
        let mut pair = Population::new(vec![-0.5, 0.5], graph, 2.0, 5);
        (0..4000).for_each(|_| pair.step(0.01));
        // Mean degree 1: d(difference)/dt = 1 - 2 K sin(difference).
        let difference = crate::circular::difference(pair.phases[1], pair.phases[0]);
        assert!((difference.sin() - 0.25).abs() < 1e-6, "{difference}");
    }

    /// The complete graph written as edges moves as the mean field does.
    #[test]
    fn a_graph_of_all_edges_is_complete() {
        let count = 12;
        let edges: Vec<_> = (0..count).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let frequencies = Frequencies::Normal(1.0).spaced(count);
        let graph = Graph::of_edges(count, &edges).unwrap();
        // K / mean degree = K / (N - 1) against K / N.
        let mut by_edges = Population::new(frequencies.clone(), graph, 1.5 * 11.0 / 12.0, 2);
        let mut by_mean = Population::new(frequencies, Graph::Complete, 1.5, 2);
        for _ in 0..200 {
            by_edges.step(0.05);
            by_mean.step(0.05);
        }
        let apart =
            by_edges.phases.iter().zip(&by_mean.phases).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-9, "{apart}");
    }

    /// Halving the step divides the error by about sixteen.
    #[test]
    fn the_method_is_of_fourth_order() {
        let end = |step: f64| {
            let mut population = Population::new(Frequencies::Normal(1.0).spaced(9), Graph::Complete, 2.0, 4);
            (0..(2.0 / step).round() as usize).for_each(|_| population.step(step));
            population.phases[0]
        };
        let exact = end(0.0025);
        let ratio = (end(0.2) - exact).abs() / (end(0.1) - exact).abs();
        assert!((10.0..26.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn edges_must_be_within_the_graph() {
        assert!(Graph::of_edges(3, &[(0, 3)]).unwrap_err().contains("oscillators 0 to 2"));
        let Graph::Neighbours(near) = Graph::random(300, 10.0, 1) else { panic!() };
        let degree = near.iter().map(Vec::len).sum::<usize>() as f64 / 300.0;
        assert!((8.0..12.0).contains(&degree), "{degree}");
    }
}
