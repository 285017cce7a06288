//! Published parameter counts and widths, planned memory, and configurations that are refused.

mod common;

use common::{COMBINATIONS, combination, small};
use kuramoto_model::ablation::{self, ABLATIONS};
use kuramoto_model::config::{FeedForward, Metric};
use kuramoto_model::matching::{Matched, match_width, parse_budget};
use kuramoto_model::{Error, Kuramoto, KuramotoConfig, ModelConfig, Transformer, TransformerConfig};

fn count(config: impl Into<ModelConfig>) -> usize {
    config.into().parameters().unwrap()
}

/// (vocabulary, width, layers, heads, budget, count) of the paper's Kuramoto models.
const KURAMOTO: [(usize, usize, usize, usize, usize, usize); 5] = [
    (205, 176, 4, 1, 1_000_000, 1_003_386),
    (205, 400, 4, 1, 5_000_000, 4_968_410),
    (205, 148, 6, 4, 1_000_000, 982_882),
    (201, 176, 4, 1, 1_000_000, 1_001_978),
    (201, 400, 4, 1, 5_000_000, 4_965_210),
];

/// The same of the paper's transformers.
const TRANSFORMER: [(usize, usize, usize, usize, usize, usize); 5] = [
    (205, 120, 4, 1, 1_000_000, 974_845),
    (205, 276, 4, 1, 5_000_000, 4_997_461),
    (205, 100, 6, 4, 1_000_000, 1_006_005),
    (201, 120, 4, 1, 1_000_000, 973_881),
    (201, 276, 4, 1, 5_000_000, 4_995_249),
];

#[test]
fn published_counts_and_widths() {
    for (vocab, width, layers, heads, budget, parameters) in KURAMOTO {
        let config = KuramotoConfig { vocab, layers, heads, ..Default::default() };
        assert_eq!(count(KuramotoConfig { width, ..config.clone() }), parameters);
        assert_eq!(match_width(&config.clone().into(), budget).unwrap(), Matched { width, parameters });
    }
    for (vocab, width, layers, heads, budget, parameters) in TRANSFORMER {
        let config = TransformerConfig { vocab, layers, heads, ..Default::default() };
        assert_eq!(count(TransformerConfig { width, ..config.clone() }), parameters);
        assert_eq!(match_width(&config.clone().into(), budget).unwrap(), Matched { width, parameters });
    }
}

#[test]
fn widths_are_multiples_of_four_and_of_the_heads() {
    for heads in 1..=6 {
        for layers in 2..=6 {
            let config = KuramotoConfig { layers, heads, ..Default::default() };
            let Matched { width, parameters } = match_width(&config.clone().into(), 1_000_000).unwrap();
            assert!(width % 4 == 0 && width % heads == 0, "{width} for {heads} heads");
            // No neighbouring width is nearer.
            let step = (1..).map(|i| 4 * i).find(|s| s % heads == 0).unwrap();
            for other in [width - step, width + step] {
                let count = count(KuramotoConfig { width: other, ..config.clone() });
                assert!(count.abs_diff(1_000_000) >= parameters.abs_diff(1_000_000));
            }
        }
    }
}

#[test]
fn every_ablation_counts_what_it_changes() {
    let reference = KuramotoConfig::default();
    let (k, layers, vocab) = (reference.width, reference.layers, reference.vocab);
    let base = count(reference.clone()) as i64;
    let change = |name: &str| {
        let mut config = reference.clone();
        ablation::apply(&mut config, &[name]).unwrap();
        count(config.clone()) as i64 - base
    };
    let [k, layers, vocab] = [k, layers, vocab].map(|x| x as i64);
    let (gate, block) = (2 * k * k + k, 6 * k * k + k);
    let expected = [
        ("low-rank-transport", 4 * gate - 2 * gate),
        ("no-feed-forward", -layers * (block + 1)),
        ("value-projection", 0),
        ("no-value-gate", -gate),
        ("no-metric-gates", -2 * gate),
        ("linear-feed-forward", layers * (k * k + k - block)),
        ("per-layer-gates", (layers - 1) * 3 * gate),
        ("shared-feed-forward", -(layers - 1) * block),
        ("no-gate-normalization", 0),
        ("no-value-bound", -layers),
        ("linear-readout", vocab * (2 * k + 1) - vocab * k - 1),
        ("sigmoid-gates", 0),
        ("linear-gates", 0),
    ];
    for (row, (name, by)) in ABLATIONS.iter().zip(expected) {
        assert_eq!(row.name, name);
        assert_eq!(change(name), by, "{name}");
    }
}

#[test]
fn budgets_are_read() {
    assert_eq!(parse_budget("1M"), Ok(1_000_000));
    assert_eq!(parse_budget("250k"), Ok(250_000));
    assert_eq!(parse_budget(" 1.5m "), Ok(1_500_000));
    assert_eq!(parse_budget("1_003_386"), Ok(1_003_386));
    for nonsense in ["", "M", "-1M", "0", "one", "1e99", "nan", "1MM", "∞"] {
        assert!(matches!(parse_budget(nonsense), Err(Error::Field { field: "budget", .. })), "{nonsense}");
    }
    let config = KuramotoConfig::default();
    assert!(matches!(match_width(&config.clone().into(), 0), Err(Error::Field { field: "budget", .. })));
    assert!(matches!(
        match_width(&config.clone().into(), usize::MAX),
        Err(Error::Field { field: "budget", .. })
    ));
    assert_eq!(match_width(&config.clone().into(), 1).unwrap().width, 4);
}

fn refused(config: KuramotoConfig) -> String {
    Kuramoto::new(config, 8).unwrap_err().to_string()
}

#[test]
fn nonsense_is_refused_in_one_sentence() {
    let base = small;
    assert_eq!(
        refused(KuramotoConfig { width: 0, ..base() }),
        "width = 0 is not allowed: it must be from 1 to 16384"
    );
    assert_eq!(
        refused(KuramotoConfig { width: usize::MAX, ..base() }),
        format!("width = {} is not allowed: it must be from 1 to 16384", usize::MAX)
    );
    assert_eq!(
        refused(KuramotoConfig { heads: 5, ..base() }),
        "heads = 5 is not allowed: it must divide width = 12"
    );
    assert_eq!(
        refused(KuramotoConfig { heads: 0, ..base() }),
        "heads = 0 is not allowed: it must be from 1 to 12"
    );
    assert_eq!(
        refused(KuramotoConfig { vocab: 0, ..base() }),
        "vocab = 0 is not allowed: it must be from 1 to 256"
    );
    assert_eq!(
        refused(KuramotoConfig { vocab: 257, ..base() }),
        "vocab = 257 is not allowed: it must be from 1 to 256"
    );
    assert_eq!(
        refused(KuramotoConfig { layers: 0, ..base() }),
        "layers = 0 is not allowed: it must be from 1 to 256"
    );
    for dropout in [-0.1, 1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(KuramotoConfig { dropout, ..base() }).contains("at least 0 and less than 1"));
    }
    let transport = KuramotoConfig { metric: Metric::Transport, transport_rank: 13, ..base() };
    assert_eq!(refused(transport), "transport-rank = 13 is not allowed: it must be from 1 to 12");
    let shared = KuramotoConfig { feed_forward: FeedForward::None, shared_feed_forward: true, ..base() };
    assert!(refused(shared).contains("no feed-forward block to share"));
    assert!(Kuramoto::new(base(), 0).unwrap_err().to_string().starts_with("context = 0"));
    assert!(Transformer::new(TransformerConfig { heads: 7, ..Default::default() }, 8).is_err());
}

#[test]
fn contradicting_ablations_are_refused() {
    let mut config = small();
    let unknown = ablation::apply(&mut config, &["no-such-thing"]).unwrap_err().to_string();
    assert!(
        unknown.starts_with("ablation = \"no-such-thing\" is not allowed: choose from low-rank-transport, ")
    );
    for [first, second] in [
        ["no-feed-forward", "linear-feed-forward"],
        ["shared-feed-forward", "no-feed-forward"],
        ["phase-feed-forward", "no-feed-forward"],
        ["linear-feed-forward", "phase-feed-forward"],
        ["low-rank-transport", "no-metric-gates"],
        ["sigmoid-gates", "linear-gates"],
        ["no-metric-gates", "sigmoid-gates"],
        ["no-gate-normalization", "low-rank-transport"],
        ["value-projection", "no-value-gate"],
        ["linear-readout", "linear-readout"],
        ["no-drift", "fixed-drift"],
        ["no-drift", "drift-in-values"],
        ["value-projection", "drift-in-values"],
        ["low-rank-transport", "drift-in-values"],
        ["score-transport", "low-rank-transport"],
        ["score-transport", "sigmoid-gates"],
        ["unshared-metric-gates", "per-layer-gates"],
        ["no-metric-gates", "unshared-metric-gates"],
    ] {
        let error = ablation::apply(&mut small(), &[first, second]).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("{first} and {second} do not go together: ")),
            "{error}"
        );
    }
    ablation::apply(&mut config, &["no-metric-gates", "per-layer-gates", "no-value-bound", "linear-readout"])
        .unwrap();
}

/// What each variant beyond the paper's table adds to the reference's parameters, or takes away.
#[test]
fn variants_have_their_counts() {
    let reference = KuramotoConfig::default();
    let count = |config: &KuramotoConfig| Kuramoto::new(config.clone(), 8).unwrap().layout().count() as i64;
    let (k, layers, rank) =
        (reference.width as i64, reference.layers as i64, reference.transport_rank as i64);
    let metric_gates = 4 * k * k + 2 * k;
    for (name, difference) in [
        ("no-drift", -layers * k),
        ("fixed-drift", -layers * k),
        ("shared-drift", -(layers - 1) * k),
        ("drift-in-values", 0),
        ("wrapped-angles", 0),
        ("unshared-metric-gates", (layers - 1) * metric_gates),
        ("score-transport", 2 * k * rank * k + k * rank - metric_gates),
        ("phase-feed-forward", layers * 4 * k * k),
    ] {
        let mut config = reference.clone();
        ablation::apply(&mut config, &[name]).unwrap();
        assert_eq!(count(&config) - count(&reference), difference, "{name}");
    }
    let mut shared = reference.clone();
    ablation::apply(&mut shared, &["phase-feed-forward", "shared-feed-forward"]).unwrap();
    let one_block_for_all = 4 * k * k - (layers - 1) * (6 * k * k + k);
    assert_eq!(count(&shared) - count(&reference), one_block_for_all);
}

/// A configuration that uses no variant is saved as it was before there were any.
#[test]
fn variants_are_saved_only_where_they_are_used() {
    let saved = |config: &KuramotoConfig| serde_json::to_value(config).unwrap();
    let new = ["drift", "drift-in-values", "wrapped-angles", "per-layer-metric-gates"];
    let reference = saved(&KuramotoConfig::default());
    assert!(new.iter().all(|key| reference.get(key).is_none()), "{reference}");
    for variant in ablation::VARIANTS {
        let mut config = KuramotoConfig::default();
        ablation::apply(&mut config, &[variant.name]).unwrap();
        let read: KuramotoConfig = serde_json::from_value(saved(&config)).unwrap();
        assert_eq!(read, config, "{}", variant.name);
    }
}

/// The layout has no gaps, and names are unique.
#[test]
fn layouts_are_complete() {
    for pick in (0..COMBINATIONS).step_by(97) {
        let model = Kuramoto::new(combination(pick), 8).unwrap();
        let layout = model.layout();
        let mut end = 0;
        let mut names = std::collections::BTreeSet::new();
        for tensor in layout.tensors() {
            assert_eq!(tensor.slot.start, end);
            assert_eq!(tensor.slot.len, tensor.shape.iter().product::<usize>());
            end += tensor.slot.len;
            assert!(names.insert(tensor.name.clone()), "{} twice", tensor.name);
        }
        assert_eq!(end, layout.count());
    }
}
