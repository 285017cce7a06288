//! What is read at the hook points is what another implementation says, and the pulls add up to the step.

mod common;

use common::Fixture;
use kuramoto_model::config::{Metric, Value};
use kuramoto_model::{Kuramoto, KuramotoConfig};
use kuramoto_phase::Trace;
use kuramoto_phase::diagnostics::Diagnostics;
use kuramoto_phase::order::Attended;
use kuramoto_phase::pull::Pulls;
use kuramoto_phase::surrogate::Surrogate;
use kuramoto_phase::survey::{SurveyRequest, Surveys, oscillators, survey};
use strum::VariantArray;

/// Rows of a sequence of a tensor (.., batch, length x width).
fn part(tensor: &[f64], index: usize, batch: usize, sequence: usize, size: usize) -> &[f64] {
    &tensor[(index * batch + sequence) * size..][..size]
}

fn near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() < 1e-9 * (1.0 + y.abs()), "{what}: {x} against {y}");
    }
}

#[test]
fn phases_and_couplings_are_those_of_the_fixtures() {
    let all = common::all();
    assert_eq!(all.len(), 18);
    for (name, fixture, network) in all {
        let weights = common::weights::<f64>(&fixture, &network);
        let mut work = weights.workspace();
        let mut trace = Trace::new(&network);
        for sequence in 0..fixture.batch {
            let n = fixture.length;
            weights.forward(&fixture.tokens[sequence * n..][..n], &mut work, &mut trace).unwrap();
            for (layer, state) in trace.states.iter().enumerate() {
                near(
                    state,
                    part(&fixture.tensors["theta"], layer, fixture.batch, sequence, n * trace.k),
                    &name,
                );
            }
            for layer in 0..trace.layers() {
                let middle = part(&fixture.tensors["theta_mid"], layer, fixture.batch, sequence, n * trace.k);
                near(&trace.middles[layer], middle, &name);
                let attention =
                    part(&fixture.tensors["attn"], layer, fixture.batch, sequence, trace.heads * n * n);
                near(&trace.attention[layer], attention, &name);
            }
        }
    }
}

/// True if the model has pulls; checks that they add up to its steps.
fn has_pulls_that_add_up(name: &str, fixture: &Fixture, network: &Kuramoto) -> bool {
    let config = network.config();
    // Projected and transported values are not pulls between phases.
    let pulls = config.value == Value::Circular && config.metric != Metric::Transport;
    assert_eq!(Pulls::check(network).is_ok(), pulls, "{name}");
    if !pulls {
        return false;
    }
    let weights = common::weights::<f64>(fixture, network);
    let mut work = weights.workspace();
    let mut trace = Trace::new(network);
    weights.forward(&fixture.tokens[..fixture.length], &mut work, &mut trace).unwrap();
    for layer in 0..trace.layers() {
        let radius = weights.parameter(&format!("layers.{layer}.log_r1")).map(|logarithm| logarithm[0].exp());
        let attended = Attended::of(&trace, layer);
        for t in 0..trace.n {
            let pulls = Pulls::on(&trace, layer, t, radius);
            for j in 0..trace.k {
                let step = trace.middles[layer][t * trace.k + j] - trace.states[layer][t * trace.k + j];
                let sum = pulls.increment(j);
                assert!((sum - step).abs() < 1e-9, "{name}: {sum} against {step}");
                // The direction is the resultant seen from the token's own phase.
                let ((x, y), (re, im)) = (attended.phasor(t, j), attended.at(t, j));
                let value = trace.value[layer].get(t * trace.k + j).map_or(1.0, |v| *v);
                assert!((pulls.direction(j) - value * (x * im - y * re)).abs() < 1e-9, "{name}");
            }
            let strongest = pulls.strongest(&trace, layer);
            assert!(strongest.is_sorted_by(|a, b| a.size >= b.size));
            let own = strongest.iter().find(|pull| pull.by == t).unwrap();
            assert_eq!((own.size, own.attraction), (0.0, 0.0), "nobody pulls itself");
            assert!((strongest.iter().map(|pull| pull.coupling).sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(strongest.iter().all(|pull| pull.attraction.abs() <= 1.0 + 1e-12));
        }
    }
    true
}

#[test]
fn pulls_add_up_to_the_step() {
    // The same weights also with switches that add no parameters.
    let switches: [fn(&mut KuramotoConfig); 3] =
        [|_| (), |config| config.drift_in_values = true, |config| config.wrapped_angles = true];
    let mut tried = 0;
    for (name, fixture, network) in common::all() {
        for switch in switches {
            let mut config = network.config().clone();
            switch(&mut config);
            let Ok(network) = Kuramoto::new(config, fixture.length) else { continue };
            tried += usize::from(has_pulls_that_add_up(&name, &fixture, &network));
        }
    }
    assert_eq!(tried, 3 * 16);
}

/// Without a value gate every pull attracts.
#[test]
fn without_gates_all_attract() {
    let (fixture, network) = common::named("ka_no_value_gate");
    let weights = common::weights::<f64>(&fixture, &network);
    let mut work = weights.workspace();
    let mut trace = Trace::new(&network);
    weights.forward(&fixture.tokens[..fixture.length], &mut work, &mut trace).unwrap();
    for pull in Pulls::on(&trace, 0, 8, None).strongest(&trace, 0).iter().filter(|pull| pull.by != 8) {
        // A token of the same byte has the same phases at first and does not pull.
        assert!(pull.attraction == 1.0 || pull.size == 0.0, "{pull:?}");
    }
}

#[test]
fn surveys_do_not_depend_on_threads_and_know_their_surrogates() {
    let (fixture, network) = common::named("ka_ref_h2");
    let weights = common::weights::<f32>(&fixture, &network);
    let n = fixture.length;
    let windows: Vec<_> = fixture.tokens.chunks(n).zip(fixture.targets.chunks(n)).cycle().take(5).collect();
    let of = |against: &[Surrogate], threads: usize| -> Surveys {
        let (weights, windows) = (&weights, &windows[..]);
        survey(&SurveyRequest {
            weights,
            windows,
            against,
            seed: 7,
            initial_seed: 7,
            workers: threads.into(),
        })
        .unwrap()
    };
    let all = of(Surrogate::VARIANTS, 1);
    let ours = &all.trained;
    for threads in [2, 3, 9] {
        // Other surrogates, or none, change nothing.
        let other = of(&[Surrogate::Uniform, Surrogate::Shuffled], threads);
        assert_eq!(ours.named("local-order", 1), other.trained.named("local-order", 1));
        assert_eq!(ours.bits_per_byte(), other.trained.bits_per_byte());
        assert_eq!(all.locking, other.locking);
        for (place, surrogate) in [(0, 3), (1, 1)] {
            let (mine, theirs) = (&all.against[surrogate], &other.against[place]);
            assert_eq!(mine.0, theirs.0);
            assert_eq!(mine.1.named("local-order", 1), theirs.1.named("local-order", 1));
        }
    }
    // The pass that measures also gives what a pass for the resultants alone gives.
    let lengths = |found: &[Vec<kuramoto_phase::circular::Resultant>]| -> Vec<f64> {
        found.iter().flatten().map(|resultant| resultant.length()).collect()
    };
    assert_eq!(lengths(&all.oscillators), lengths(&oscillators(&weights, &windows, 2.into()).unwrap()));
    assert_eq!(all.locking.len(), network.config().layers);

    let [untrained, shuffled, permuted, uniform] = [0, 1, 2, 3].map(|place| &all.against[place].1);
    let mean = kuramoto_report::statistics::mean;
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-5, "{a} against {b}");
    // Dealing phases to other oscillators leaves the order within a token as it is.
    near(mean(ours.named("metastability", 1)), mean(permuted.named("metastability", 1)));
    // Uniform coupling: half a window back on average, and 1/(t + 1) with oneself.
    near(mean(uniform.named("coupling-range", 0)), (n as f64 - 1.0) / 4.0);
    near(mean(uniform.named("self-coupling", 0)), (1..=n).map(|t| 1.0 / t as f64).sum::<f64>() / n as f64);
    near(mean(uniform.named("coupled-tokens", 0)), (n as f64 + 1.0) / 2.0);
    near(mean(ours.named("global-order", 0)), mean(uniform.named("global-order", 0)));
    assert_ne!(ours.named("local-order", 0), uniform.named("local-order", 0));
    assert_ne!(ours.named("global-order", 1), untrained.named("global-order", 1));
    // The same bytes in another order: the embedding's global order stays, what depends on order does not.
    near(mean(ours.named("global-order", 0)), mean(shuffled.named("global-order", 0)));
    assert_ne!(ours.named("local-order", 0), shuffled.named("local-order", 0));
}

#[test]
fn diagnostics_are_written_and_said() {
    let (fixture, network) = common::named("ka_ref_h2");
    let weights = common::weights::<f32>(&fixture, &network);
    let n = fixture.length;
    let windows: Vec<_> = fixture.tokens.chunks(n).zip(fixture.targets.chunks(n)).collect();
    let found = Diagnostics::of(&SurveyRequest {
        weights: &weights,
        windows: &windows,
        against: &[Surrogate::Uniform],
        seed: 0,
        initial_seed: 0,
        workers: 1.into(),
    })
    .unwrap();
    let text = found.text();
    for part in ["local-order", "z against", "uniform", "Figure 2b: the mean rate falls with depth"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let files = found.write(&folder.path().join("new")).unwrap();
    assert_eq!(files.len(), 9);
    assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), text);
    let table = std::fs::read_to_string(&files[1]).unwrap();
    assert!(
        table.starts_with("measure,layer,mean,sd,low,high,z_uniform,uniform_mean\nlocal-order,0,"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 1 + 22 * network.config().layers);
    assert!(!table.contains("NaN"));
}
