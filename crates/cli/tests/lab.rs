//! What `kuramoto lab plan` takes, and how it refuses the rest.

use assert_cmd::cargo::cargo_bin_cmd;

/// The exit code and what was printed.
fn session(arguments: &[&str]) -> (Option<i32>, String) {
    let output = cargo_bin_cmd!("kuramoto").args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn help_lists_the_choices() {
    let (code, text) = session(&["lab", "plan", "--help"]);
    assert_eq!(code, Some(0), "{text}");
    // Long lists are wrapped.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "compare, ablations, grid, paper]",
        "[default: study]",
        "values: smoke, study, paper]",
        "values: tuned, paper]",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn what_is_no_choice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("plan");
    let cases: [(&[&str], &str); 5] = [
        (&["everything"], "[possible values: compare, ablations, grid, paper]"),
        (&["compare", "--scale", "huge"], "[possible values: smoke, study, paper]"),
        (&["compare", "--protocol", "best"], "[possible values: tuned, paper]"),
        (
            &["compare", "--scale", "smoke", "--arms", "no-gates"],
            "choose MODEL-PROTOCOL such as kuramoto-tuned",
        ),
        (
            &["compare", "--scale", "smoke", "--arms", "linear-gates"],
            "choose from kuramoto-tuned, transformer-tuned",
        ),
    ];
    for (arguments, part) in cases {
        let (code, text) = session(&[&["lab", "plan", "--out", out.to_str().unwrap()], arguments].concat());
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(part), "{text}");
        assert!(!out.exists(), "nothing is left behind");
    }
}

/// A plan says how both models match, and its status starts with how far it is.
#[test]
fn status_starts_with_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("plan");
    let plan = out.to_str().unwrap();
    let short = ["--set", "length.steps=2", "--set", "data.bytes=60000", "--set", "validation.every=2"];
    let arguments = ["lab", "plan", "compare", "--scale", "smoke", "--seeds", "1", "--out", plan];
    let (code, text) = session(&[&arguments[..], &short].concat());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("difference") && text.contains("5,662") && text.contains("-8.1%"), "{text}");
    let (_, text) = session(&["lab", "status", plan]);
    assert!(text.starts_with("0 of 4 runs finished, 4 open; about 0 s left with "), "{text}");
    assert!(text.contains("go on with: ") && text.contains("kuramoto lab run "), "{text}");
    session(&["lab", "run", plan, "--index", "0"]);
    let (_, text) = session(&["lab", "status", plan]);
    assert!(text.starts_with("1 of 4 runs finished, 3 open; about "), "{text}");
    session(&["lab", "run", plan]);
    let (_, text) = session(&["lab", "status", plan]);
    assert!(text.starts_with("4 of 4 runs finished\ntheir report: "), "{text}");
    assert!(text.contains("kuramoto lab report "), "{text}");
    std::fs::write(out.join("runs/compare-kuramoto-tuned-tales-6k-seed0/summary.json"), "{}").unwrap();
    let (_, text) = session(&["lab", "status", plan]);
    assert!(text.starts_with("3 of 4 runs finished, 1 failed\n"), "{text}");
}
