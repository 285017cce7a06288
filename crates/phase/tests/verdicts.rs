//! A verdict holds only beyond the untrained model and beyond coupling with oneself.

use kuramoto_engine::Cpu;
use kuramoto_model::Weights;
use kuramoto_model::config::Drift;
use kuramoto_phase::diagnostics::{Case, Diagnostics, Profile, Statement, Verdict, statements};
use kuramoto_phase::surrogate::Surrogate;
use kuramoto_phase::survey::SurveyRequest;
use kuramoto_phase::{KuramotoWeights, Subject, TextSource};
use kuramoto_report::statistics::Interval;
use kuramoto_train::{CorpusOptions, NewRun, Overlay, Run, Session, Setting, Which};

/// A model of three layers that shows everything the paper says.
fn ideal() -> Profile {
    Profile {
        local: vec![0.95, 0.96, 0.97],
        least: 0.92,
        neighbours: vec![0.93, 0.94, 0.95],
        alignment: vec![0.97, 0.97, 0.97],
        neighbour_alignment: vec![0.95, 0.95, 0.95],
        global: vec![0.6, 0.5, 0.3, 0.2],
        slope: Interval { low: -0.15, high: -0.12 },
        self_coupling: vec![0.3, 0.3, 0.3],
        range: vec![2.0, 5.0, 12.0],
        neighbour_range: vec![3.0, 7.0, 17.0],
        rates: vec![0.2, 0.15, 0.08],
        departures: vec![0.8, 0.5, 0.4],
        initial_rate: 0.11,
    }
}

/// Phases all round the circle and couplings with everybody: nothing is there yet.
fn incoherent() -> Profile {
    Profile {
        local: vec![0.1; 3],
        least: 0.06,
        neighbours: vec![0.1; 3],
        alignment: vec![0.1; 3],
        neighbour_alignment: vec![0.05; 3],
        global: vec![0.06; 4],
        slope: Interval { low: -0.001, high: 0.001 },
        self_coupling: vec![0.05; 3],
        range: vec![60.0; 3],
        neighbour_range: vec![63.0; 3],
        rates: vec![0.11; 3],
        departures: vec![0.0; 3],
        initial_rate: 0.11,
    }
}

fn judge(trained: &Profile, untrained: &Profile) -> Vec<Statement> {
    statements(&Case { trained, untrained, drift: Drift::Learned })
}

/// Verdicts in the order of the statements: 1a, 1b, 2a, 2b, range, rate and range, alignment.
fn verdicts(trained: &Profile, untrained: &Profile) -> [Verdict; 7] {
    judge(trained, untrained)
        .iter()
        .map(|statement| statement.verdict)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

const FIGURE_1A: usize = 0;
const FIGURE_1B: usize = 1;
const FIGURE_2A: usize = 2;
const FIGURE_2B: usize = 3;
const RANGE: usize = 4;
const RATE_AND_RANGE: usize = 5;
const ALIGNMENT: usize = 6;

/// The verdict on one statement of a model that is ideal but for a change.
fn changed(statement: usize, change: impl FnOnce(&mut Profile)) -> Verdict {
    let mut profile = ideal();
    change(&mut profile);
    verdicts(&profile, &incoherent())[statement]
}

#[test]
fn the_paper_s_model_shows_everything_if_it_began_with_nothing() {
    assert_eq!(verdicts(&ideal(), &incoherent()), [Verdict::Shown; 7]);
    for statement in judge(&ideal(), &incoherent()) {
        assert!(statement.because.contains("untrained"), "{statement:?}");
    }
    let by_depth = &judge(&ideal(), &incoherent())[FIGURE_2B];
    assert!(by_depth.because.contains("3 layers have by chance once in 6"), "{by_depth:?}");
}

#[test]
fn an_untrained_model_shows_nothing() {
    assert_eq!(verdicts(&incoherent(), &incoherent()), [Verdict::NotHere; 7]);
}

/// What the untrained model has as well is not shown. Rates that were learned cannot be from the start.
#[test]
fn what_the_untrained_model_has_is_from_the_start() {
    let found = verdicts(&ideal(), &ideal());
    for place in [FIGURE_1A, FIGURE_1B, RANGE, ALIGNMENT] {
        assert_eq!(found[place], Verdict::FromTheStart, "{place}");
    }
    // Also within the margin of it.
    let mut start = ideal();
    start.local.iter_mut().for_each(|order| *order -= 0.04);
    start.alignment.iter_mut().for_each(|cosine| *cosine -= 0.04);
    start.global = vec![0.6, 0.5, 0.3, 0.24];
    start.range = vec![2.0, 4.0, 9.0];
    let found = verdicts(&ideal(), &start);
    for place in [FIGURE_1A, FIGURE_1B, RANGE, ALIGNMENT] {
        assert_eq!(found[place], Verdict::FromTheStart, "{place}");
    }
}

/// Attention that sits on the token itself gives every order parameter for free.
#[test]
fn coupling_with_oneself_shows_nothing() {
    let alone = |profile: &mut Profile| {
        profile.self_coupling = vec![0.99; 3];
        profile.neighbours = vec![0.5; 3];
        profile.neighbour_alignment = vec![0.3; 3];
        profile.neighbour_range = vec![20.0; 3];
    };
    for statement in [FIGURE_1A, FIGURE_1B, FIGURE_2A, FIGURE_2B, RANGE, RATE_AND_RANGE, ALIGNMENT] {
        assert_eq!(changed(statement, alone), Verdict::InPart, "{statement}");
    }
    // A token without any neighbours has no neighbours to agree with.
    assert_eq!(changed(FIGURE_1A, |profile| profile.neighbours = vec![f64::NAN; 3]), Verdict::InPart);
}

#[test]
fn a_part_is_a_part() {
    assert_eq!(changed(FIGURE_1A, |profile| profile.least = 0.8), Verdict::InPart);
    assert_eq!(changed(FIGURE_1B, |profile| profile.local[2] = 0.8), Verdict::InPart);
    // Neighbours in phase as everybody is.
    assert_eq!(changed(FIGURE_1B, |profile| profile.global = vec![0.99, 0.95, 0.92, 0.9]), Verdict::InPart);
    assert_eq!(changed(FIGURE_2A, |profile| profile.departures[1] = 0.05), Verdict::InPart);
    assert_eq!(changed(FIGURE_2B, |profile| profile.rates = vec![0.2, 0.21, 0.1]), Verdict::InPart);
    assert_eq!(changed(RANGE, |profile| profile.range = vec![2.0, 1.0, 12.0]), Verdict::InPart);
    assert_eq!(changed(RATE_AND_RANGE, |profile| profile.range = vec![2.0, 12.0, 5.0]), Verdict::InPart);
    assert_eq!(changed(ALIGNMENT, |profile| profile.alignment[2] = 0.7), Verdict::InPart);
}

#[test]
fn what_is_missing_is_not_here() {
    let low = |profile: &mut Profile| (profile.local[2], profile.least) = (0.7, 0.6);
    assert_eq!(changed(FIGURE_1A, low), Verdict::NotHere);
    // The other way, not certain, or by less than the margin.
    assert_eq!(changed(FIGURE_1B, |profile| profile.global.reverse()), Verdict::NotHere);
    assert_eq!(changed(FIGURE_1B, |profile| profile.slope.high = 0.01), Verdict::NotHere);
    assert_eq!(changed(FIGURE_1B, |profile| profile.global = vec![0.6, 0.59, 0.58, 0.57]), Verdict::NotHere);
    assert_eq!(changed(FIGURE_2A, |profile| profile.departures = vec![0.05; 3]), Verdict::NotHere);
    assert_eq!(changed(FIGURE_2B, |profile| profile.rates.reverse()), Verdict::NotHere);
    assert_eq!(changed(FIGURE_2B, |profile| profile.rates = vec![0.112, 0.111, 0.110]), Verdict::NotHere);
    assert_eq!(changed(RANGE, |profile| profile.range.reverse()), Verdict::NotHere);
    assert_eq!(changed(RANGE, |profile| profile.range = vec![2.0, 2.1, 2.2]), Verdict::NotHere);
    assert_eq!(changed(RATE_AND_RANGE, |profile| profile.range.reverse()), Verdict::NotHere);
    // An opposite order of differences that mean nothing.
    assert_eq!(
        changed(RATE_AND_RANGE, |profile| profile.rates = vec![0.112, 0.111, 0.110]),
        Verdict::NotHere
    );
    assert_eq!(changed(ALIGNMENT, |profile| profile.alignment = vec![0.7; 3]), Verdict::NotHere);
}

/// Rates that are all 0, then and now, neither fall nor order anything.
#[test]
fn without_drift_no_rate_falls() {
    let still = |profile: Profile| Profile {
        rates: vec![0.0; 3],
        departures: vec![0.0; 3],
        initial_rate: 0.0,
        ..profile
    };
    let found = verdicts(&still(ideal()), &still(incoherent()));
    for place in [FIGURE_2A, FIGURE_2B, RATE_AND_RANGE] {
        assert_eq!(found[place], Verdict::NotHere, "{place}");
    }
}

/// One layer has no depth.
#[test]
fn one_layer_has_no_trend() {
    let one = |profile: &Profile| Profile {
        local: profile.local[..1].into(),
        neighbours: profile.neighbours[..1].into(),
        alignment: profile.alignment[..1].into(),
        neighbour_alignment: profile.neighbour_alignment[..1].into(),
        self_coupling: profile.self_coupling[..1].into(),
        range: profile.range[..1].into(),
        neighbour_range: profile.neighbour_range[..1].into(),
        rates: profile.rates[..1].into(),
        departures: profile.departures[..1].into(),
        ..profile.clone()
    };
    let found = verdicts(&one(&ideal()), &one(&incoherent()));
    for place in [FIGURE_2B, RANGE, RATE_AND_RANGE] {
        assert_eq!(found[place], Verdict::NotHere, "{place}");
    }
}

fn diagnose(weights: &KuramotoWeights, subject: &Subject, against: &[Surrogate]) -> Diagnostics {
    Diagnostics::of(&SurveyRequest {
        weights,
        windows: &subject.windows(),
        against,
        seed: 0,
        initial_seed: subject.seed,
        workers: 1.into(),
    })
    .unwrap()
}

/// Trained for two steps without warm-up, at the rate of the tuned recipe: the largest first steps there are.
#[test]
fn two_steps_of_training_show_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let keys = "data.bytes = 60000\nlength = { steps = 2 }\noptimizer = { warmup = 0 }\n\
                model = { width = 32, layers = 3 }\nbatch = { context = 64 }";
    let new = NewRun {
        overlays: vec![Overlay::parse("test", keys).unwrap()],
        folder: Some(folder.path().join("run")),
        corpora: CorpusOptions { cache: Some(folder.path().join("cache")), ..Default::default() },
        ..Default::default()
    };
    let device = Cpu::all_cores();
    Session::create(&new, Setting::new(&device)).unwrap().train(&mut ()).unwrap();
    let run = Run::open(&folder.path().join("run")).unwrap();
    let cache = folder.path().join("cache");
    let source = TextSource::Validation { cache: &cache, data_path: None };
    let subject = Subject::open(run, Which::Last, source, 8, 1).unwrap();
    assert_eq!(subject.step, 2);

    let trained = diagnose(&subject.weights, &subject, &[]);
    let start = Weights::initialized(subject.weights.network().clone(), subject.seed);
    let untrained = diagnose(&start, &subject, &[Surrogate::Uniform, Surrogate::Untrained]);
    for (found, steps) in [(&trained, 2), (&untrained, 0)] {
        for statement in &found.statements {
            assert!(
                matches!(statement.verdict, Verdict::FromTheStart | Verdict::NotHere),
                "after {steps} steps: {statement:?}"
            );
        }
        // Phases start within 0.3 radians of each other, so local order is near one before training.
        assert_eq!(found.statements[FIGURE_1A].verdict, Verdict::FromTheStart, "after {steps} steps");
        assert_eq!(found.statements[FIGURE_2A].verdict, Verdict::NotHere, "after {steps} steps");
    }
    // The untrained model is measured for the verdicts, and listed only if it was asked for.
    assert!(trained.surveys.against.is_empty());
    assert_eq!(trained.untrained.named("local-order", 1), untrained.surveys.trained.named("local-order", 1));
    let listed: Vec<Surrogate> = untrained.surveys.against.iter().map(|(surrogate, _)| *surrogate).collect();
    assert_eq!(listed, [Surrogate::Uniform, Surrogate::Untrained]);
}
