//! The program as people and scripts use it: trained, killed, interrupted, resumed, fed nonsense.

mod common;

use assert_cmd::Command;
use common::scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

const TINY: [&str; 18] = [
    "--set",
    "data.bytes=60000",
    "--batch",
    "4",
    "--context",
    "32",
    "--width",
    "8",
    "--layers",
    "1",
    "--validate-every",
    "20",
    "--validation-windows",
    "10",
    "--checkpoint-every",
    "7",
    "--warmup",
    "5",
];

fn kuramoto(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("kuramoto").unwrap();
    command.current_dir(folder).env("KURAMOTO_CACHE", folder.join("cache"));
    command
}

fn spawn(folder: &Path, arguments: &[&str]) -> Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin("kuramoto"))
        .current_dir(folder)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn train<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["train"], &TINY[..], more].concat()
}

/// Every file of the newest checkpoint but the seconds, and the rows but their speed.
fn fingerprint(run: &Path) -> (BTreeMap<String, Vec<u8>>, Vec<Value>, String) {
    let last = fs::read_to_string(run.join("last")).unwrap();
    let folder = run.join("checkpoints").join(last.trim());
    let files = ["model.safetensors", "optimizer.safetensors"];
    let files = files.map(|name| (name.to_string(), fs::read(folder.join(name)).unwrap())).into();
    let rows = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let rows = rows.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        for field in ["seconds", "tokens_per_second", "utilisation"] {
            row.as_object_mut().unwrap().remove(field);
        }
        row
    });
    (files, rows.collect(), fs::read_to_string(run.join("best")).unwrap())
}

fn wait_for_rows(run: &Path, rows: usize) {
    for _ in 0..6000 {
        if fs::read_to_string(run.join("metrics.jsonl")).is_ok_and(|text| text.lines().count() >= rows) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no {rows} rows in {} within half a minute", run.display());
}

#[test]
fn killed_at_random_and_resumed_it_gives_the_same_bits() {
    let folder = scratch();
    let length = ["--steps", "3000", "--keep", "3"];
    kuramoto(folder.path())
        .args(train(&length))
        .args(["--out", "whole", "--threads", "2"])
        .assert()
        .success();
    let expected = fingerprint(&folder.path().join("whole"));
    let run = folder.path().join("parts");
    let mut child =
        spawn(folder.path(), &[&train(&length)[..], &["--out", "parts", "--threads", "1"]].concat());
    for (rows, threads) in [(40, "1"), (333, "2"), (1001, "3"), (1800, "7")] {
        wait_for_rows(&run, rows);
        // SIGKILL: nothing can be caught, nothing is tidied up.
        child.kill().unwrap();
        child.wait().unwrap();
        child = spawn(folder.path(), &["train", "--resume", "parts", "--threads", threads]);
    }
    assert!(child.wait().unwrap().success());
    assert!(fingerprint(&run) == expected);
}

#[cfg(unix)]
#[test]
fn signals_save_and_exit_with_their_code() {
    let folder = scratch();
    let length = ["--steps", "1000000", "--json"];
    for (name, signal, code) in [("term", "TERM", 143), ("int", "INT", 130)] {
        let child = spawn(folder.path(), &[&train(&length)[..], &["--out", name]].concat());
        let run = folder.path().join(name);
        wait_for_rows(&run, 30);
        std::process::Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        let out = String::from_utf8(output.stdout).unwrap();
        let summary: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
        assert_eq!(summary["ended"], "interrupted");
        let steps = summary["steps"].as_u64().unwrap();
        // In a validation its state is kept apart from those that were validated.
        let is_last =
            fs::read_to_string(run.join("last")).is_ok_and(|last| last == format!("step-{steps}\n"));
        let kept = run.join(format!("checkpoints/.step-{steps}.unvalidated/manifest.json"));
        assert!(is_last || kept.exists(), "step {steps} is saved");
    }
}

/// A validation of many seconds is left at once, and its step is saved.
#[cfg(unix)]
#[test]
fn a_signal_is_seen_during_a_validation() {
    let folder = scratch();
    let line = "train --set data.bytes=8000000 --batch 1 --context 256 --width 176 --steps 1 --threads 1 \
                --validation-windows 0 --out run";
    let mut child = spawn(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    let kept = folder.path().join("run/checkpoints/.step-1.unvalidated/manifest.json");
    for _ in 0..6000 {
        if kept.exists() || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(kept.exists(), "a validation of more than a second saves its step first");
    let asked = std::time::Instant::now();
    std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    // A second, and room for a machine with other work.
    assert!(asked.elapsed() < Duration::from_secs(4), "it took {:?}", asked.elapsed());
    assert!(!fs::exists(folder.path().join("run/last")).unwrap(), "the validation was not done");
}

/// `train --json | head -n 3`
#[cfg(unix)]
#[test]
fn a_reader_that_leaves_stops_training_and_it_is_saved() {
    let folder = scratch();
    let mut child = spawn(folder.path(), &train(&["--steps", "1000000", "--json", "--out", "run"]));
    let run = folder.path().join("run");
    wait_for_rows(&run, 10);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(141));
    kuramoto(folder.path()).args(["eval", "run"]).assert().success();
}

#[test]
fn json_rows_and_a_summary() {
    let folder = scratch();
    let output =
        kuramoto(folder.path()).args(train(&["--tokens", "5000", "--json", "--test"])).output().unwrap();
    assert!(output.status.success());
    let out = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (summary, rows) = lines.split_last().unwrap();
    assert_eq!(rows.len(), 40, "5,000 bytes in steps of 128");
    assert_eq!((summary["steps"].as_u64(), summary["tokens"].as_u64()), (Some(40), Some(5120)));
    assert_eq!(summary["run"], "runs/tales-kuramoto-1");
    for field in ["validation_bits_per_byte", "floor_bits_per_byte", "test_bits_per_byte", "seconds"] {
        assert!(summary[field].as_f64().is_some_and(|value| value > 0.0), "{field}: {summary}");
    }
    assert!(summary["parameters"].is_u64());

    let evaluated = kuramoto(folder.path())
        .args(["eval", "runs/tales-kuramoto-1", "--split", "test", "--json"])
        .output()
        .unwrap();
    let evaluated: Value = serde_json::from_slice(&evaluated.stdout).unwrap();
    assert_eq!(evaluated["bits_per_byte"], summary["test_bits_per_byte"], "eval and train agree to the bit");
    let listed = kuramoto(folder.path()).args(["runs", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed[0]["status"], "finished");
}

#[test]
fn generation_is_a_pure_function_of_the_seed() {
    let folder = scratch();
    fs::write(
        folder.path().join("noise"),
        (0..60_000u32).map(|i| (i * 7919 % 256) as u8).collect::<Vec<_>>(),
    )
    .unwrap();
    kuramoto(folder.path())
        .args(train(&["--steps", "30", "--out", "run", "--data", "noise"]))
        .assert()
        .success();
    let generate = |more: &[&str]| {
        kuramoto(folder.path())
            .args(["generate", "run", "--bytes", "100", "--prompt", "ab"])
            .args(more)
            .output()
            .unwrap()
            .stdout
    };
    let first = generate(&["--seed", "1"]);
    assert_eq!(first.len(), 102, "all bytes as they are, text or not, past the context of 32");
    assert_eq!(first, generate(&["--seed", "1"]));
    assert_ne!(first, generate(&["--seed", "2"]));
    assert!(generate(&["--temperature", "0"]).starts_with(b"ab"));
}

#[test]
fn nonsense_is_answered_in_one_sentence() {
    let folder = scratch();
    fs::write(folder.path().join("bad.toml"), "[optimizer]\nlearning-rat = 1\n").unwrap();
    fs::write(folder.path().join("short.txt"), "too short").unwrap();
    fs::create_dir(folder.path().join("full")).unwrap();
    fs::write(folder.path().join("full/mine.txt"), "do not touch").unwrap();
    let cases: [(&[&str], i32, &str); 16] = [
        (&["train", "--preset", "huge"], 2, "choose quick, 1m or 5m"),
        (&["train", "--config", "bad.toml"], 2, "did you mean learning-rate?"),
        (&["train", "--config", "missing.toml"], 1, "missing.toml"),
        (&["train", "--set", "optimizer.beta=1"], 2, "did you mean beta"),
        (&["train", "--set", "seed"], 2, "write KEY=VALUE"),
        (&["train", "--steps", "many"], 2, "length.steps"),
        (&["train", "--steps", "0"], 2, "length.steps = 0"),
        (&["train", "--threads", "0"], 2, "from 1 to 1024"),
        (&["train", "--data-path", "x"], 2, "choose one of them with --data"),
        (&["train", "--data", "/dev/null"], 1, "neither a file nor a folder"),
        (&["train", "--data", "nowhere.txt"], 1, "nowhere.txt"),
        (&["train", "--data", "short.txt"], 1, "does not fill a batch"),
        (&["train", "--out", "full"], 1, "not empty"),
        (&["train", "--resume", "full"], 1, "not a run folder"),
        (&["train", "--heads", "7", "--width", "8"], 2, "heads = 7"),
        (&["train", "--model", "transformer", "--ablation", "no-value-gate"], 2, "only the Kuramoto model"),
    ];
    for (arguments, code, part) in cases {
        let output = kuramoto(folder.path()).args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("full/mine.txt")).unwrap(), "do not touch");
}

#[test]
fn a_resumed_run_keeps_its_configuration() {
    let folder = scratch();
    kuramoto(folder.path()).args(train(&["--steps", "10", "--out", "run"])).assert().success();
    let output = kuramoto(folder.path()).args(["train", "--resume", "run", "--seed", "4"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr).unwrap().contains("--seed: a resumed run keeps its configuration")
    );
    kuramoto(folder.path()).args(["train", "--resume", "run", "--steps", "20"]).assert().success();
    assert_eq!(fs::read_to_string(folder.path().join("run/last")).unwrap(), "step-20\n");
}
