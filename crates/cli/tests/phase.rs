//! The commands that measure a run, on a small trained one, and on wrong input.

use assert_cmd::Command;
use std::fs;
use std::path::Path;

fn kuramoto(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("kuramoto").unwrap();
    command.current_dir(folder).env("KURAMOTO_CACHE", folder.join("cache"));
    command
}

/// A folder with a Kuramoto run, a transformer run and a text.
fn trained() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, kind) in [("run", "kuramoto"), ("other", "transformer")] {
        let tiny = "train --set data.bytes=60000 --batch 4 --context 32 --width 8 --layers 2 --heads 2 \
                    --steps 20 --validate-every 10 --validation-windows 10 --warmup 5";
        kuramoto(folder.path())
            .args(tiny.split_whitespace())
            .args(["--model", kind, "--out", name])
            .assert()
            .success();
    }
    fs::write(folder.path().join("text"), "Anna was a merry baker who lived in the forest. ".repeat(3))
        .unwrap();
    folder
}

/// What a command prints, or complains, and its exit code.
fn run(folder: &Path, line: &str) -> (String, i32) {
    let output = kuramoto(folder).args(line.split_whitespace()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).to_string() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code().unwrap())
}

#[test]
fn a_run_is_measured() {
    let folder = trained();
    let done = |line: &str| {
        let (text, code) = run(folder.path(), line);
        assert_eq!(code, 0, "{line}: {text}");
        text
    };
    let text = done("diagnose run --windows 4");
    for part in [
        "4 windows of the validation split of tales",
        "\nNear: attended tokens are ",
        "\nFar: over all 32 tokens",
        ": without itself 0.",
        "permuted 0.",
        "\nReach: ",
        "\nMetric: mean ",
        "\nPaper: Figure 1a ",
        "\nPaper, in words: range by depth ",
        "docs/phase.md#measures",
        "figure-1-order.png",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.len() <= 120), "{text}");
    let tables = fs::read_to_string(folder.path().join("run/diagnostics/diagnostics.txt")).unwrap();
    for part in
        ["local-order", "z against", "Figure 2b", "mean_t A_tt", "\nfrom the start: ", "Margins: near one"]
    {
        assert!(tables.contains(part), "{part}: {tables}");
    }
    let figure = fs::read_to_string(folder.path().join("run/diagnostics/figure-2-drift.svg")).unwrap();
    assert!(figure.contains("rotary start") && figure.contains("untrained"));
    let table = fs::read_to_string(folder.path().join("run/diagnostics/measures.csv")).unwrap();
    assert!(table.starts_with("measure,layer,mean,sd,low,high,z_untrained,untrained_mean"), "{table}");
    assert_eq!(table.lines().count(), 1 + 22 * 2);
    // The same text gives the same numbers.
    assert_eq!(done("diagnose run --windows 4"), text);
    assert!(
        done("diagnose run --text text --windows 0 --against none --out elsewhere")
            .contains("5 windows of text")
    );
    // Two bytes are one token to read: it has no neighbours, and nothing varies over tokens.
    fs::write(folder.path().join("two"), "An").unwrap();
    let short = done("diagnose run --text two --out elsewhere");
    assert!(short.contains("without itself -, ") && !short.contains("NaN"), "{short}");

    let pulls = done("pulls run --prompt merry --top 2 --coalitions 0.5");
    assert!(pulls.contains("byte 4, \"y\", in \"merry\"\npredicted next: \""), "{pulls}");
    assert!(pulls.contains("layer 1: the step is") && !pulls.contains("the text goes on"), "{pulls}");
    assert!(done("pulls run --prompt merry --token 1").contains("the text goes on with \"r\" "));
    let all: serde_json::Value = serde_json::from_str(&done("pulls run --prompt merry --json")).unwrap();
    assert_eq!(all["layers"][1]["pulls"].as_array().unwrap().len(), 5);
    let chances: Vec<f64> =
        all["next"].as_array().unwrap().iter().map(|next| next["probability"].as_f64().unwrap()).collect();
    assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-6 && chances.is_sorted_by(|a, b| a >= b));

    for what in [
        "oscillators",
        "synchronization",
        "feed-forward",
        "layer",
        "coupling",
        "freeze-omega",
        "permute-omega",
        "tau",
    ] {
        let intact = if what == "tau" { "1" } else { "0" };
        let text = done(&format!("lesion run --what {what} --windows 3 --doses {intact},0.5 --out lesions"));
        assert!(text.contains("+0.0000 to +0.0000"), "the intact model is the intact model: {text}");
    }
    assert!(
        done("lesion run --what coupling --head 1 --layers 1 --windows 2 --out lesions").contains("rise")
    );

    let own = r#"{ "interventions": [{ "at": "layer.1.phase", "action": { "rotate": 0.5 }, "tokens": [3] }],
        "changes": [{ "scale-tau": 2.0 }] }"#;
    fs::write(folder.path().join("own.json"), own).unwrap();
    assert!(done("lesion run --windows 3 --interventions own.json").contains("rise"));
    assert!(
        done("simulate --oscillators 200 --couplings 0.5,4 --settle 20 --measure 5 --out sim")
            .contains("critical coupling 1.0000")
    );
    fs::write(folder.path().join("edges"), "0 1\n1 2\n\n2 0\n").unwrap();
    done(
        "simulate --oscillators 3 --couplings 1 --graph edges --settle 1 --measure 1 \
         --frequencies normal --out sim",
    );

    assert!(done("export run --text text --to a.npz").contains("of 144 bytes"));
    done("export run --text text --to a.zarr --arrays coupling --layers 1 --oscillators 0-3,7");
    done("export run --text text --to metric.npz --arrays query_gate,key_gate,metric");
    done("export other --to weights --out weights");
    assert!(folder.path().join("weights/model.safetensors").exists());
    assert!(
        folder.path().join("a.zarr/coupling/0.1.4.0").exists(),
        "a chunk for each layer, head and window"
    );
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".export")), "{left:?}");
}

/// What a model has before it has learned anything is not called shown.
#[test]
fn two_steps_of_training_show_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let train =
        "train --set data.bytes=60000 --batch 4 --context 32 --width 16 --layers 3 --steps 2 --out run";
    assert_eq!(run(folder.path(), train).1, 0);
    let (text, code) = run(folder.path(), "diagnose run --windows 8 --against none");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Figure 1a from the start, ") && text.contains("Figure 2a not here, "), "{text}");
    assert!(
        text.lines().filter(|line| line.starts_with("Paper")).all(|line| !line.contains("shown")),
        "{text}"
    );
}

#[test]
fn wrong_input_gets_a_clear_sentence() {
    let folder = trained();
    fs::write(folder.path().join("empty"), "").unwrap();
    fs::write(folder.path().join("foreign"), b"Anna\xff").unwrap();
    fs::write(folder.path().join("edges"), "0 1\n1 two\n").unwrap();
    fs::write(folder.path().join("there.npz"), "mine").unwrap();
    let far = r#"{ "interventions": [{ "at": "layer.7.phase", "action": { "fade": 1.0 } }] }"#;
    fs::write(folder.path().join("far.json"), far).unwrap();
    let cases = [
        ("diagnose other", "transformer, which has no phases"),
        ("pulls other --prompt a", "transformer, which has no phases"),
        ("diagnose run --text empty", "holds 0 bytes"),
        ("diagnose run --text foreign", "byte 0xff"),
        ("diagnose run --text nowhere", "nowhere cannot be read"),
        ("diagnose nowhere", "not a run folder"),
        ("diagnose run --checkpoint step-7", "step-7"),
        ("pulls run --prompt a --token 3", "bytes 0 to 0"),
        ("pulls run --prompt €", "does not occur in tales"),
        ("pulls run --prompt aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "--prompt = 33 bytes"),
        ("lesion run --doses 2", "from 0 to 1"),
        ("lesion run --what tau --head 0", "acts on all heads"),
        ("lesion run --interventions edges", "is not understood"),
        ("lesion run --interventions far.json", "layers 0 to 1"),
        ("export run --to weights --out run/checkpoints/step-20", "there already"),
        ("lesion run --layers 2", "layers 0 to 1"),
        ("lesion run --head 2", "heads 0 to 1"),
        ("export run --to a.csv --text text", "FILE.npz, FOLDER.zarr, weights, model or hf"),
        ("export run --to hf run", "there already"),
        ("export run --to a.npz", "give the file"),
        ("export run --to a.npz --text empty", "at least one byte"),
        ("export run --to a.npz --text text --oscillators 5-9", "from 0 to 7"),
        ("export run --to there.npz --text text", "there already"),
        ("export run --to nowhere/a.zarr --text text", "cannot be written"),
        ("simulate --width 0", "more than 0"),
        ("simulate --graph edges --oscillators 3", "line 2"),
        ("simulate --graph edges --oscillators 0", "--oscillators"),
        ("simulate --couplings nan", "finite"),
        ("simulate --out text/below", "text/below cannot be written"),
    ];
    for (line, part) in cases {
        let (text, code) = run(folder.path(), line);
        assert!(code == 1 || code == 2, "{line}: {code}: {text}");
        assert!(
            text.starts_with("error: ") && text.contains(part) && !text.contains("panicked"),
            "{line}: {text}"
        );
        assert_eq!(text.lines().count(), 1, "{line}: one sentence: {text}");
    }
    // An empty prompt is a text without bytes; the message names the flag.
    let output = kuramoto(folder.path()).args(["pulls", "run", "--prompt", ""]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: --prompt = \"\""));
    assert_eq!(fs::read(folder.path().join("there.npz")).unwrap(), b"mine");
    assert!(!folder.path().join("a.npz").exists());
}

/// Choices are listed where they are wrong and where one asks for help.
#[test]
fn choices_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("diagnose run --against chance", "untrained, shuffled, permuted, uniform, none"),
        (
            "lesion run --what brain",
            "oscillators, synchronization, feed-forward, layer, coupling, freeze-omega",
        ),
        (
            "export run --to a.npz --text text --arrays mood",
            "phase, phase_mid, phase_last, local_order, alignment, query_gate, key_gate, metric, value_gate",
        ),
        ("simulate --frequencies cauchy", "lorentzian, normal, uniform"),
    ];
    for (line, part) in cases {
        let (text, code) = run(folder.path(), line);
        assert!(code == 2 && text.starts_with("error: ") && text.contains(part), "{line}: {code}: {text}");
        let command = line.split_whitespace().next().unwrap();
        let (text, code) = run(folder.path(), &format!("{command} -h"));
        // Long lists are wrapped.
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(code == 0 && words.join(" ").contains(part), "{command}: {text}");
    }
}

#[test]
fn without_a_run_commands_use_a_model_that_comes_with_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str]| {
        let output = kuramoto(folder.path()).args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {error}");
        (String::from_utf8_lossy(&output.stdout).into_owned(), error)
    };
    for model in ["tales-kuramoto", "enwik8-kuramoto-1m", "enwik8-transformer-1m"] {
        assert!(said(&["models"]).0.contains(model));
        assert!(said(&["generate", model, "--prompt", "Anna was a ", "--bytes", "20"]).0.len() >= 20);
    }
    let (_, error) = said(&["pulls", "--prompt", "Anna was a "]);
    assert!(error.contains("no run given"), "{error}");
    let (text, _) = said(&["diagnose", "--windows", "2", "--against", "none"]);
    assert!(text.contains("tales-kuramoto-diagnostics"), "{text}");
    // Nothing is written into the model's own folder.
    let (text, _) = said(&["models", "--json"]);
    let models: serde_json::Value = serde_json::from_str(&text).unwrap();
    let run = Path::new(models[0]["run"].as_str().unwrap());
    assert!(run.join("config.toml").is_file() && !run.join("diagnostics").exists());
}
