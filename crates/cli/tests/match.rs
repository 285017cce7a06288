//! Whole sessions of `kuramoto match`.

use assert_cmd::Command;

/// Standard output, standard error and exit code of a run.
fn session(arguments: &[&str]) -> String {
    let output = Command::cargo_bin("kuramoto").unwrap().args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    format!("exit {}\n{}{}", output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_paper_at_one_million() {
    insta::assert_snapshot!(session(&["match", "--budget", "1M"]), @"
    exit 0
    budget 1,000,000: layers 4, heads 1, vocabulary 205

    model          width  parameters  off budget
    kuramoto     k = 176   1,003,386      +0.34%
    transformer  d = 120     974,845      -2.52%

    the transformer has 2.8% fewer parameters than the Kuramoto model
    ");
}

#[test]
fn the_paper_with_heads_and_depth() {
    let arguments = ["match", "--budget", "1M", "--layers", "6", "--heads", "4"];
    insta::assert_snapshot!(session(&arguments), @"
    exit 0
    budget 1,000,000: layers 6, heads 4, vocabulary 205

    model          width  parameters  off budget
    kuramoto     k = 148     982,882      -1.71%
    transformer  d = 100   1,006,005      +0.60%

    the transformer has 2.4% more parameters than the Kuramoto model
    ");
}

#[test]
fn ablations_are_matched_again() {
    let arguments = ["match", "--budget", "1m", "--ablation", "no-feed-forward,linear-readout"];
    insta::assert_snapshot!(session(&arguments), @"
    exit 0
    budget 1,000,000: layers 4, heads 1, vocabulary 205, no-feed-forward + linear-readout

    model          width  parameters  off budget
    kuramoto     k = 360   1,001,730      +0.17%
    transformer  d = 120     974,845      -2.52%

    the transformer has 2.7% fewer parameters than the Kuramoto model
    ");
}

/// A narrow model has heads of fewer channels than the transport has ranks: such widths are skipped.
#[test]
fn widths_that_are_refused_are_skipped() {
    let arguments = ["match", "--budget", "30000", "--heads", "2", "--ablation", "low-rank-transport"];
    insta::assert_snapshot!(session(&arguments), @"
    exit 0
    budget 30,000: layers 4, heads 2, vocabulary 205, low-rank-transport

    model         width  parameters  off budget
    kuramoto     k = 24      29,746      -0.85%
    transformer  d = 20      34,645     +15.48%

    the transformer has 16.5% more parameters than the Kuramoto model
    ");
    // The narrowest model that there is: four channels a head.
    let arguments = ["match", "--budget", "1", "--heads", "8", "--ablation", "low-rank-transport"];
    assert!(session(&arguments).contains("k = 32 "));
}

#[test]
fn json_is_one_object() {
    let output = session(&["match", "--budget", "5M", "--vocab", "201", "--json"]);
    let json: serde_json::Value = serde_json::from_str(output.lines().nth(1).unwrap()).unwrap();
    assert_eq!(json["models"][0]["width"], 400);
    assert_eq!(json["models"][0]["parameters"], 4_965_210);
    assert_eq!(json["models"][1]["width"], 276);
    assert_eq!(json["models"][1]["parameters"], 4_995_249);
}

#[test]
fn nonsense_gets_one_sentence() {
    let cases: [&[&str]; 7] = [
        &["match", "--budget", "lots"],
        &["match", "--budget", "1M", "--heads", "0"],
        &["match", "--budget", "1M", "--vocab", "0"],
        &["match", "--budget", "1M", "--vocab", "257"],
        &["match", "--budget", "1M", "--layers", "0"],
        &["match", "--budget", "1M", "--ablation", "no-such-thing"],
        &["match", "--budget", "1M", "--ablation", "no-metric-gates,sigmoid-gates"],
    ];
    insta::assert_snapshot!(cases.map(session).join("\n"), @r#"
    exit 2
    error: budget = "lots" is not allowed: write a number of parameters from 1 to 1e12, such as 1M, 250k or 1003386

    exit 2
    error: heads = 0 is not allowed: it must be from 1 to 4096

    exit 2
    error: vocab = 0 is not allowed: it must be from 1 to 256

    exit 2
    error: vocab = 257 is not allowed: it must be from 1 to 256

    exit 2
    error: layers = 0 is not allowed: it must be from 1 to 256

    exit 2
    error: ablation = "no-such-thing" is not allowed: choose from low-rank-transport, no-feed-forward, value-projection, no-value-gate, no-metric-gates, linear-feed-forward, per-layer-gates, shared-feed-forward, no-gate-normalization, no-value-bound, linear-readout, sigmoid-gates, linear-gates, or beyond the paper's table no-drift, fixed-drift, shared-drift, drift-in-values, wrapped-angles, unshared-metric-gates, score-transport, phase-feed-forward

    exit 2
    error: no-metric-gates and sigmoid-gates do not go together: without query and key gates there is no gate to shape or normalize; choose one
    "#);
}

#[test]
fn bench_refuses_nonsense() {
    assert!(session(&["bench", "--threads", "0"]).starts_with("exit 2\nerror: threads = 0 is not allowed"));
    assert!(session(&["bench", "--rounds", "0"]).starts_with("exit 2\nerror: rounds = 0 is not allowed"));
    assert!(
        session(&["bench", "--seconds", "inf"]).starts_with("exit 2\nerror: seconds = inf is not allowed")
    );
    let only = session(&["bench", "--only", "gpt"]);
    assert!(only.starts_with(
        "exit 2\nerror: only = \"gpt\" is not allowed: it names none of kuramoto-1m-dropout-0.1"
    ));
}
