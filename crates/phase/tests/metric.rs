//! The metric of Appendix A, its measures and its arrays, of models with gates, without them, and with a frame
//! in their place; and the measures without the token itself. All against sums written out.

mod common;

use common::Fixture;
use kuramoto_model::Kuramoto;
use kuramoto_phase::diagnostics::Diagnostics;
use kuramoto_phase::export::{Array, Described, Selection, Store, record};
use kuramoto_phase::survey::{Survey, SurveyRequest, survey};
use kuramoto_phase::{Error, KuramotoWeights, Trace, metric};
use std::collections::HashMap;
use std::io;
use std::path::Path;

fn trace_of(fixture: &Fixture, network: &Kuramoto) -> (Trace<f64>, kuramoto_model::Weights<f64, Kuramoto>) {
    let weights = common::weights::<f64>(fixture, network);
    let mut trace = Trace::new(network);
    weights.forward(&fixture.tokens[..fixture.length], &mut weights.workspace(), &mut trace).unwrap();
    (trace, weights)
}

/// A gate from the parameters: softplus of a dense map of (cos theta, sin theta), divided by its mean over the
/// head.
fn gate(fixture: &Fixture, map: &str, theta: &[f64], heads: usize) -> Vec<f64> {
    let k = theta.len();
    let weight = &fixture.tensors[&format!("param.gates.{map}.weight")];
    let bias = &fixture.tensors[&format!("param.gates.{map}.bias")];
    let psi: Vec<f64> = theta.iter().map(|x| x.cos()).chain(theta.iter().map(|x| x.sin())).collect();
    let raw =
        |j: usize| bias[j] + weight[j * 2 * k..][..2 * k].iter().zip(&psi).map(|(w, x)| w * x).sum::<f64>();
    let open: Vec<f64> = (0..k).map(|j| raw(j).exp().ln_1p()).collect();
    let kh = k / heads;
    let mean = |j: usize| open[j / kh * kh..][..kh].iter().sum::<f64>() / kh as f64;
    (0..k).map(|j| open[j] / mean(j)).collect()
}

#[test]
fn the_metric_is_the_product_of_the_gates() {
    for name in ["ka_ref_h1", "ka_ref_h2", "ka_ref_h3"] {
        let (fixture, network) = common::named(name);
        let (trace, weights) = trace_of(&fixture, &network);
        let tau = fixture.tensors["param.tau"][0];
        let scale = metric::scale(&weights).unwrap();
        // tau / sqrt(k/h), in each head.
        assert!(
            (scale - tau / (trace.head_width() as f64).sqrt()).abs() < 1e-15 && metric::tau(&weights) == tau
        );
        for layer in 0..trace.layers() {
            let found = metric::diagonal(&trace, layer, scale);
            for (t, theta) in trace.states[layer].chunks(trace.k).enumerate() {
                let (q, k) =
                    (gate(&fixture, "wq", theta, trace.heads), gate(&fixture, "wk", theta, trace.heads));
                for j in 0..trace.k {
                    let (found, expected) = (found[t * trace.k + j], scale * q[j] * k[j]);
                    assert!((found - expected).abs() < 1e-9, "{name}: {found} against {expected}");
                }
            }
        }
    }
}

/// Without gates the metric is flat, and not absent; with a frame in place of gates there is no diagonal one.
#[test]
fn models_without_gates_are_told_apart() {
    let (fixture, network) = common::named("ka_no_qk_gates");
    let (trace, weights) = trace_of(&fixture, &network);
    let scale = metric::scale(&weights).unwrap();
    assert_eq!(metric::diagonal(&trace, 0, scale), vec![scale; trace.n * trace.k]);
    let flat = survey_of("ka_no_qk_gates");
    for (measure, expected) in
        [("metric-size", scale), ("metric-anisotropy", 0.0), ("metric-variation", 0.0), ("metric-rank", 1.0)]
    {
        assert!((flat.mean_of(measure, 1) - expected).abs() < 1e-6, "{measure}");
    }
    let (fixture, network) = common::named("ka_transport");
    assert_eq!(metric::scale(&common::weights::<f64>(&fixture, &network)), None);
    let frame = survey_of("ka_transport");
    for measure in ["metric-size", "metric-anisotropy", "metric-variation", "metric-positive", "metric-rank"]
    {
        assert!(frame.mean_of(measure, 0).is_nan(), "{measure}");
    }
    // Softplus gates make a metric; signed gates need not.
    assert_eq!(survey_of("ka_ref_h2").mean_of("metric-positive", 1), 1.0);
    assert!(survey_of("ka_ref_h2").mean_of("metric-variation", 1) > 0.01);
    assert!(survey_of("ka_gate_linear").mean_of("metric-positive", 1) < 1.0);
}

fn request<'a>(weights: &'a KuramotoWeights, windows: &'a [(&'a [u8], &'a [u8])]) -> SurveyRequest<'a> {
    SurveyRequest { weights, windows, against: &[], seed: 0, initial_seed: 0, workers: 1.into() }
}

fn survey_of(name: &str) -> Survey {
    let (fixture, network) = common::named(name);
    let weights = common::weights::<f32>(&fixture, &network);
    let windows = [(&fixture.tokens[..fixture.length], &fixture.targets[..fixture.length])];
    survey(&request(&weights, &windows)).unwrap().trained
}

/// Order, alignment and range without the token itself, from sums over u < t.
#[test]
fn neighbours_are_what_sums_without_the_token_say() {
    let (fixture, network) = common::named("ka_ref_h2");
    let (trace, _) = trace_of(&fixture, &network);
    let (n, k, kh, found) = (trace.n, trace.k, trace.head_width(), survey_of("ka_ref_h2"));
    for layer in 0..trace.layers() {
        let theta = |t: usize, j: usize| trace.states[layer][t * k + j];
        let (mut order, mut aligned, mut range) = (0.0, 0.0, 0.0);
        for t in 1..n {
            for j in 0..k {
                let a = |u: usize| trace.coupling(layer, j / kh)[t * n + u];
                let all: f64 = (0..t).map(a).sum();
                let re: f64 = (0..t).map(|u| a(u) / all * theta(u, j).cos()).sum();
                let im: f64 = (0..t).map(|u| a(u) / all * theta(u, j).sin()).sum();
                order += re.hypot(im);
                aligned += (theta(t, j) - im.atan2(re)).cos();
                // The same for every oscillator of a head.
                range += (0..t).map(|u| a(u) / all * (t - u) as f64).sum::<f64>();
            }
        }
        let terms = ((n - 1) * k) as f64;
        for (measure, sum) in
            [("neighbour-order", order), ("neighbour-alignment", aligned), ("neighbour-range", range)]
        {
            let (found, expected) = (found.mean_of(measure, layer), sum / terms);
            assert!(
                (found - expected).abs() < 1e-4 * expected.abs(),
                "{measure}: {found} against {expected}"
            );
        }
    }
}

/// A score scale that is not positive is said, and measured.
#[test]
fn a_negative_scale_is_said() {
    let (fixture, network) = common::named("ka_ref_h2");
    let mut weights = common::weights::<f32>(&fixture, &network);
    let windows = [(&fixture.tokens[..fixture.length], &fixture.targets[..fixture.length])];
    let said = |weights: &KuramotoWeights| {
        Diagnostics::of(&request(weights, &windows)).unwrap().summary().join("\n")
    };
    assert!(!said(&weights).contains("not positive"), "{}", said(&weights));
    weights.edit(|network, parameters| {
        network.layout().find("tau").unwrap().slot.slice_mut(parameters)[0] = -0.5;
    });
    let text = said(&weights);
    assert!(text.contains("tau = -0.5000 is not positive"), "{text}");
    assert!(text.contains("100.0% of it is not positive"), "{text}");
}

/// Arrays in memory, of one window.
#[derive(Default)]
struct Memory {
    arrays: HashMap<&'static str, Vec<f32>>,
}

impl Store for Memory {
    fn path(&self) -> &Path {
        Path::new("memory")
    }
    fn create(&mut self, described: &Described<'_>) -> io::Result<()> {
        assert_eq!(described.array.dimensions(), ["layer", "position", "oscillator"]);
        self.arrays.insert(described.array.name(), Vec::new());
        Ok(())
    }
    fn write(&mut self, array: Array, _: &[usize], _: usize, bytes: &[u8]) -> io::Result<()> {
        let values = bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()));
        self.arrays.get_mut(array.name()).unwrap().extend(values);
        Ok(())
    }
    fn coordinate(&mut self, _: &str, _: &[i32]) -> io::Result<()> {
        Ok(())
    }
    fn finish(self: Box<Self>, _: &serde_json::Value) -> io::Result<()> {
        Ok(())
    }
}

fn exported(name: &str) -> Result<(Memory, f32), Error> {
    let (fixture, network) = common::named(name);
    let weights = common::weights::<f32>(&fixture, &network);
    let selection = Selection {
        arrays: vec![Array::QueryGate, Array::KeyGate, Array::Metric],
        layers: vec![1],
        oscillators: vec![0, 2, 5],
    };
    let tokens = &fixture.tokens[..fixture.length];
    let mut memory = Memory::default();
    record(&weights, (tokens, tokens), &selection, &mut memory)?;
    assert!(memory.arrays.values().all(|values| values.len() == 3 * fixture.length));
    Ok((memory, metric::scale(&weights).unwrap() as f32))
}

#[test]
fn gates_and_metric_are_exported() {
    for name in ["ka_ref_h2", "ka_gate_linear"] {
        let (Memory { arrays }, scale) = exported(name).unwrap();
        let products = arrays["query_gate"].iter().zip(&arrays["key_gate"]).map(|(q, k)| scale * q * k);
        for (metric, product) in arrays["metric"].iter().zip(products) {
            assert!((metric - product).abs() <= 1e-6 * product.abs(), "{name}: {metric} against {product}");
        }
        assert!(arrays["query_gate"].iter().any(|&gate| gate != 1.0), "{name}");
    }
    let (Memory { arrays }, scale) = exported("ka_no_qk_gates").unwrap();
    assert!(arrays["query_gate"].iter().chain(&arrays["key_gate"]).all(|&gate| gate == 1.0));
    assert!(arrays["metric"].iter().all(|&metric| metric == scale));
    let error = exported("ka_transport").err().unwrap();
    assert!(matches!(error, Error::NoMetric) && error.is_usage() && error.to_string().contains("metric"));
}
