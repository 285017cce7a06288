//! Interventions do what they say, and nothing where there are none.

mod common;

use kuramoto_model::{Kuramoto, Network, NoHooks, Weights};
use kuramoto_phase::Trace;
use kuramoto_phase::intervention::{Action, Change, Intervening, Intervention, Point, choose};
use std::f64::consts::TAU;

struct Subject {
    weights: Weights<f64, Kuramoto>,
    work: <Kuramoto as Network<f64>>::Workspace,
    network: Kuramoto,
    tokens: Vec<u8>,
}

impl Subject {
    fn new() -> Subject {
        let (fixture, network) = common::named("ka_ref_h2");
        let weights = common::weights(&fixture, &network);
        Subject {
            work: weights.workspace(),
            weights,
            network,
            tokens: fixture.tokens[..fixture.length].to_vec(),
        }
    }

    fn trace(&mut self, interventions: &[Intervention]) -> Trace<f64> {
        interventions.iter().for_each(|change| change.check(&self.network).unwrap());
        let mut trace = Trace::new(&self.network);
        let mut hooks = Intervening::new(&self.network, interventions, &mut trace);
        self.weights.forward(&self.tokens, &mut self.work, &mut hooks).unwrap();
        trace
    }
}

fn at(point: &str, action: Action) -> Intervention {
    Intervention::new(point.parse().unwrap(), action)
}

fn largest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

#[test]
fn nothing_asked_nothing_changed() {
    let mut subject = Subject::new();
    let intact = subject.trace(&[]);
    subject.weights.forward(&subject.tokens, &mut subject.work, &mut NoHooks).unwrap();
    let logits = subject.weights.logits(subject.tokens.len(), &subject.work);
    // A turn by nothing makes the first layer compute what it otherwise looks up; the result is the same.
    let turned = subject.trace(&[at("layer.0.phase", Action::Rotate(0.0))]);
    assert!(largest(&subject.weights.logits(subject.tokens.len(), &subject.work), &logits) < 1e-12);
    assert!(largest(turned.states.last().unwrap(), intact.states.last().unwrap()) < 1e-12);
    // A whole turn changes no coupling, and no step before the first feed-forward block.
    let whole = subject.trace(&[at("layer.0.phase", Action::Rotate(TAU))]);
    assert!(largest(&whole.attention[0], &intact.attention[0]) < 1e-12);
    let steps = |trace: &Trace<f64>| -> Vec<f64> {
        trace.middles[0].iter().zip(&trace.states[0]).map(|(mid, state)| mid - state).collect()
    };
    assert!(largest(&steps(&whole), &steps(&intact)) < 1e-12);
}

#[test]
fn phases_are_clamped_turned_and_faded() {
    let mut subject = Subject::new();
    let intact = subject.trace(&[]);
    let k = intact.k;
    let mut chosen = at("layer.1.phase", Action::Clamp(vec![0.5, -0.5]));
    chosen.oscillators = Some(vec![3, 7]);
    chosen.tokens = Some(vec![2]);
    let clamped = subject.trace(&[chosen]);
    assert_eq!((clamped.states[1][2 * k + 3], clamped.states[1][2 * k + 7]), (0.5, -0.5));
    let others = (0..intact.n * k).filter(|&i| i != 2 * k + 3 && i != 2 * k + 7);
    assert!(others.clone().all(|i| clamped.states[1][i] == intact.states[1][i]), "only what was chosen");
    // What came before stays; tokens before the changed one never see it.
    assert_eq!(clamped.middles[0], intact.middles[0]);
    assert_eq!(clamped.states[2][..2 * k], intact.states[2][..2 * k]);
    assert!(largest(&clamped.states[2][3 * k..], &intact.states[2][3 * k..]) > 0.0);

    let turned = subject.trace(&[at("layer.1.phase.mid", Action::Rotate(0.25))]);
    assert!(turned.middles[1].iter().zip(&intact.middles[1]).all(|(x, y)| (x - y - 0.25).abs() < 1e-12));

    let everywhere = ["layer.0.phase.mid", "layer.1.phase", "layer.1.phase.mid", "layer.2.phase"];
    let still = subject.trace(&everywhere.map(|point| at(point, Action::Fade(1.0))));
    assert!(largest(&still.states[2], &intact.states[0]) < 1e-12, "every step taken back");
    let half = subject.trace(&[at("layer.0.phase.mid", Action::Fade(0.5))]);
    let middle: Vec<f64> =
        intact.middles[0].iter().zip(&intact.states[0]).map(|(x, y)| 0.5 * (x + y)).collect();
    assert!(largest(&half.middles[0], &middle) < 1e-12);
}

#[test]
fn couplings_are_flattened_by_head() {
    let mut subject = Subject::new();
    let intact = subject.trace(&[]);
    let (n, mut second) = (intact.n, at("layer.0.attention", Action::Flatten(1.0)));
    second.oscillators = Some((intact.k / 2..intact.k).collect());
    let flat = subject.trace(&[second]);
    assert_eq!(flat.coupling(0, 0), intact.coupling(0, 0));
    for t in 0..n {
        for u in 0..n {
            let expected = if u <= t { 1.0 / (t + 1) as f64 } else { 0.0 };
            assert!((flat.coupling(0, 1)[t * n + u] - expected).abs() < 1e-12);
        }
    }
    // No score scale: every head of every layer couples uniformly.
    Change::ScaleTau(0.0).apply(&mut subject.weights);
    let blind = subject.trace(&[]);
    assert!((blind.coupling(1, 0)[(n - 1) * n] - 1.0 / n as f64).abs() < 1e-12);
}

#[test]
fn rates_are_frozen_and_dealt_anew() {
    let mut subject = Subject::new();
    let before = subject.weights.parameter("layers.1.omega").unwrap().to_vec();
    Change::PermuteOmega { layer: 1, share: 1.0, seed: 3 }.apply(&mut subject.weights);
    let mut after = subject.weights.parameter("layers.1.omega").unwrap().to_vec();
    assert_ne!(after, before);
    let mut sorted = before.clone();
    sorted.sort_by(f64::total_cmp);
    after.sort_by(f64::total_cmp);
    assert_eq!(after, sorted, "the same rates");
    Change::FreezeOmega { layer: 1, share: 1.0 }.apply(&mut subject.weights);
    let frozen = subject.weights.parameter("layers.1.omega").unwrap();
    let kh = before.len() / 2;
    assert!(
        (frozen[0] - 1.0).abs() < 1e-12 && (frozen[kh] - 1.0).abs() < 1e-12,
        "the schedule of each head begins at 1"
    );
    assert_eq!(choose(10, 0.0, 1), [0usize; 0]);
    let mut all = choose(10, 1.0, 1);
    all.sort_unstable();
    assert_eq!(all, (0..10).collect::<Vec<_>>());
}

#[test]
fn nonsense_is_refused() {
    let subject = Subject::new();
    let wrong = |change: Intervention| change.check(&subject.network).unwrap_err();
    assert!(wrong(at("layer.2.attention", Action::Flatten(1.0))).contains("layers 0 to 1"));
    assert!(wrong(at("layer.0.phase", Action::Flatten(1.0))).contains("only attention"));
    assert!(wrong(at("layer.0.attention", Action::Rotate(1.0))).contains("only be flattened"));
    assert!(wrong(at("layer.0.phase", Action::Fade(1.0))).contains("no step leads"));
    assert!(wrong(at("layer.0.phase", Action::Rotate(f64::NAN))).contains("finite"));
    assert!(wrong(at("layer.1.phase", Action::Clamp(vec![1.0, 2.0]))).contains("2 phases"));
    let mut far = at("layer.1.phase", Action::Rotate(1.0));
    far.oscillators = Some(vec![12]);
    assert!(wrong(far).contains("oscillator 12"));
    for text in ["layer.x.phase", "phase", "layer.1.phase.end", "", "layer.1"] {
        assert!(text.parse::<Point>().is_err(), "{text}");
    }
    assert_eq!("layer.3.phase.mid".parse::<Point>().unwrap().to_string(), "layer.3.phase.mid");
}

/// A change of what does not exist is refused, not answered with no effect.
#[test]
fn changes_are_checked() {
    let (_, network) = common::named("ka_ref_h2");
    let layers = network.config().layers;
    for change in [
        Change::FreezeOmega { layer: 99, share: 1.0 },
        Change::PermuteOmega { layer: layers, share: 1.0, seed: 0 },
        Change::ScaleTau(f64::NAN),
        Change::FreezeOmega { layer: 0, share: f64::INFINITY },
    ] {
        assert!(change.check(&network).is_err(), "{change:?}");
    }
    assert!(Change::FreezeOmega { layer: layers - 1, share: 0.5 }.check(&network).is_ok());
    assert!(
        serde_json::from_str::<Change>(r#"{ "freeze-omega": { "layer": 0, "share": 1, "sead": 3 } }"#)
            .is_err()
    );
}
