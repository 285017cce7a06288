//! What must not take the program down or make it wait: odd files, absurd numbers, full disks, damage.

#![cfg(unix)]

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const RUN: &str = "train --set data.bytes=60000 --batch 4 --context 32 --width 8 --layers 1 --steps 30 \
                   --validate-every 10 --validation-windows 10 --keep 3 --out run";

fn kuramoto(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("kuramoto").unwrap();
    command.current_dir(folder).env("KURAMOTO_CACHE", folder.join("cache")).timeout(Duration::from_secs(60));
    command
}

/// A folder with a run `run` and a text `text` of its bytes.
fn trained() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    kuramoto(folder.path()).args(RUN.split_whitespace()).assert().success();
    fs::write(folder.path().join("text"), "once upon a time ".repeat(10)).unwrap();
    folder
}

/// Exit code, standard output and standard error.
fn run(folder: &Path, line: &str) -> (Option<i32>, String, String) {
    let output = kuramoto(folder).args(line.split_whitespace()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Fails with that code and one sentence that holds `part`, whatever else.
fn refused(folder: &Path, line: &str, code: i32, part: &str) {
    let (found, _, said) = run(folder, line);
    assert_eq!(found, Some(code), "{line}: {said}");
    assert!(said.contains(part) && said.lines().count() == 1, "{line}: {said}");
    assert!(!said.contains("panicked"), "{line}: {said}");
}

#[allow(clippy::print_stderr)]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A pipe in the place of a file would wait for ever: no command opens one.
#[test]
fn pipes_are_never_opened() {
    let folder = trained();
    let at = folder.path();
    pipe(&at.join("pipe"));
    fs::write(at.join("pipe.gz"), "").unwrap();
    fs::create_dir(at.join("plan")).unwrap();
    pipe(&at.join("plan/plan.json"));
    for line in [
        "train --config pipe",
        "train --data pipe",
        "train --data enwik8 --data-path pipe",
        "train --data codeparrot --data-path pipe",
        "diagnose run --text pipe",
        "lesion run --text pipe",
        "lesion run --interventions pipe",
        "export run --to x.npz --text pipe",
        "simulate --graph pipe",
        "lab status plan",
        "lab run plan",
        "lab report plan",
    ] {
        let (code, _, said) = run(at, line);
        assert!(matches!(code, Some(1 | 2)) && said.contains("pipe") || said.contains("plan.json"), "{said}");
    }
    let step = at.join("run/checkpoints/step-30");
    let places: Vec<PathBuf> = ["config.toml", "corpus.json", "metrics.jsonl", "lock", "best", "last"]
        .map(|name| at.join("run").join(name))
        .into_iter()
        .chain(["manifest.json", "model.safetensors", "state.json"].map(|name| step.join(name)))
        .collect();
    for place in places {
        let bytes = fs::read(&place).unwrap();
        fs::remove_file(&place).unwrap();
        pipe(&place);
        for line in ["runs .", "eval run --checkpoint last", "generate run --bytes 5", "train --resume run"] {
            // What does not need the file goes on without it; nothing waits.
            assert!(run(at, line).0.is_some(), "{line} with a pipe as {}", place.display());
        }
        fs::remove_file(&place).ok();
        fs::write(&place, bytes).unwrap();
    }
    // Where something is written beside, too.
    for name in [".summary.json.partial", ".config.toml.partial"] {
        pipe(&at.join("run").join(name));
    }
    fs::remove_file(at.join("run/summary.json")).unwrap();
    assert!(run(at, "train --resume run --steps 31").0.is_some());
}

/// A damaged checkpoint is refused with the flag that goes on; with it, the older one is named and used.
#[test]
fn an_older_checkpoint_on_request() {
    let folder = trained();
    let at = folder.path();
    let weights = at.join("run/checkpoints/step-30/model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&weights, bytes).unwrap();
    let commands = [
        "generate run --bytes 5",
        "eval run",
        "diagnose run --text text --against none",
        "pulls run --prompt once",
        "lesion run --text text --doses 0,1",
        "export run --to x.npz --text text",
        "export run --to weights --out hf",
    ];
    for command in commands {
        let line = format!("{command} --checkpoint last");
        refused(at, &line, 1, "or --allow-older for the newest good one before it");
        let (code, _, said) = run(at, &format!("{line} --allow-older"));
        assert_eq!(code, Some(0), "{line}: {said}");
        let warned = said.starts_with("warning: ") && said.contains("model.safetensors");
        assert!(warned && said.contains("using the older checkpoint step-20"), "{line}: {said}");
    }
    // A good one is used without a word.
    let (code, _, said) = run(at, "eval run --checkpoint step-20 --allow-older");
    assert_eq!((code, said.as_str()), (Some(0), ""));
    // Before the oldest there is none.
    for step in [10, 20] {
        let folder = at.join(format!("run/checkpoints/step-{step}"));
        fs::remove_dir_all(folder).ok();
    }
    refused(at, "eval run --checkpoint last --allow-older", 1, "this run has no other checkpoint");
}

/// Times in files that nobody measured are no panic.
#[test]
fn forged_times_are_no_panic() {
    let folder = trained();
    let at = folder.path();
    let summary = at.join("run/summary.json");
    let metrics = at.join("run/metrics.jsonl");
    let (honest_summary, honest_rows) =
        (fs::read_to_string(&summary).unwrap(), fs::read_to_string(&metrics).unwrap());
    let seconds = serde_json::from_str::<Value>(&honest_summary).unwrap()["seconds"].to_string();
    for forged in ["-1.0", "1e308", "-1e308", "null", "1e999"] {
        fs::write(&summary, honest_summary.replace(&seconds, forged)).unwrap();
        let rows: String = honest_rows
            .lines()
            .map(|line| {
                let mut row: Value = serde_json::from_str(line).unwrap();
                row["seconds"] = 0.into();
                row["tokens_per_second"] = 0.into();
                format!("{}\n", row.to_string().replace(":0", &format!(":{forged}")))
            })
            .collect();
        fs::write(&metrics, rows).unwrap();
        for line in ["runs .", "runs . --json", "train --resume run"] {
            let (code, _, said) = run(at, line);
            assert!(
                code.is_some_and(|code| code <= 2) && !said.contains("panicked"),
                "{forged} {line}: {said}"
            );
        }
    }
    // A state whose hashes are forged along with it.
    fs::write(&summary, honest_summary).unwrap();
    fs::write(&metrics, honest_rows).unwrap();
    for (taken, forged) in [(30, "-1.0"), (31, "1e308")] {
        let step = at.join(format!("run/checkpoints/step-{taken}"));
        let text = fs::read_to_string(step.join("state.json")).unwrap();
        let mut state: Value = serde_json::from_str(&text).unwrap();
        state["seconds"] = serde_json::from_str(forged).unwrap();
        let text = state.to_string();
        fs::write(step.join("state.json"), &text).unwrap();
        let manifest = fs::read_to_string(step.join("manifest.json")).unwrap();
        let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
        manifest["files"]["state.json"] =
            serde_json::json!({ "bytes": text.len(), "sha256": kuramoto_train::hash::of(text.as_bytes()) });
        fs::write(step.join("manifest.json"), manifest.to_string()).unwrap();
        let (code, out, said) = run(at, &format!("train --resume run --steps {}", taken + 1));
        assert_eq!(code, Some(0), "{said}");
        assert!(!said.contains("panicked"), "{forged}: {said}");
        assert!(forged != "-1.0" || out.contains("an unknown time"), "{out}");
    }
}

/// Numbers beyond all memory and time are answered in a sentence.
#[test]
fn absurd_numbers_are_refused() {
    let folder = trained();
    let at = folder.path();
    for (line, code, part) in [
        ("simulate --oscillators 1000000000000", 1, "MB of memory"),
        ("simulate --oscillators 18446744073709551615", 1, "MB of memory"),
        ("simulate --oscillators 100 --settle 1e300", 2, "steps"),
        ("simulate --oscillators 100 --measure 1e300", 2, "steps"),
        ("simulate --oscillators 100 --step 1e-300", 2, "steps"),
        ("simulate --oscillators 100000000 --mean-degree 1e9", 2, "--oscillators"),
        ("simulate --width 1e308", 2, "--width = 1e308"),
        ("simulate --width 1e-320", 2, "--width"),
        ("train --context 100000000", 2, "context"),
        ("train --context 65536 --width 16384 --layers 256 --batch 1", 1, "training needs"),
        ("train --budget 1e15", 2, "budget"),
        ("train --set data.bytes=1000000000000000000", 1, "the corpus needs"),
        ("match --budget 1M --vocab 1000000000000", 2, "vocab"),
        ("match --budget 1M --heads 18446744073709551615", 2, "heads"),
        ("lesion run --repeats 1000000000000000000", 2, "--repeats"),
        ("lab plan compare --scale smoke --out p --set batch.context=100000000", 2, "context"),
        ("bench --seconds 1e300", 2, "seconds"),
    ] {
        refused(at, line, code, part);
    }
    for line in
        ["diagnose run --windows 1000000000000000000", "pulls run --prompt once --top 1000000000000000"]
    {
        assert_eq!(run(at, line).0, Some(0), "{line}");
    }
}

/// With little room for addresses, what will not fit is said before it is taken.
#[cfg(target_os = "linux")]
#[test]
fn plans_beyond_the_limit_are_sentences() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = "train --set data.bytes=60000 --batch 1 --context 1024 --width 256 --layers 2 --steps 1 \
                --validate-every 1 --validation-windows 1 --threads 1 --out run";
    kuramoto(at).args(line.split_whitespace()).assert().success();
    fs::write(at.join("text"), "once upon a time ".repeat(100)).unwrap();
    for line in [
        "train --preset 5m --data tales --set data.bytes=300000 --batch 1",
        "train --resume run --steps 2",
        "eval run --threads 64",
        "diagnose run --text text --threads 64",
        "lesion run --text text --threads 64",
        "pulls run --prompt once",
        "export run --to x.npz --text text",
        "simulate --oscillators 10000000",
    ] {
        let program = assert_cmd::cargo::cargo_bin("kuramoto");
        let script = format!("ulimit -v 120000; exec {} {line}", program.display());
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(at)
            .env("KURAMOTO_CACHE", at.join("cache"))
            .timeout(Duration::from_secs(60))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains("MB are free: use"), "{line}: {said}");
    }
}

/// Where the system says nothing about itself, nothing is checked and everything works.
#[cfg(target_os = "linux")]
#[test]
fn without_proc() {
    let folder = trained();
    let at = folder.path();
    let hidden = |line: &str| {
        let program = assert_cmd::cargo::cargo_bin("kuramoto");
        let script = format!("umount -l /proc || exit 99; exec {} {line}", program.display());
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script]).current_dir(at).env("KURAMOTO_CACHE", at.join("cache"));
        command.timeout(Duration::from_secs(60)).output().unwrap()
    };
    if hidden("match --budget 1M").status.code() != Some(0) {
        skipped("this user cannot unmount /proc for a process");
        return;
    }
    for line in [
        "train --resume run --steps 31",
        "eval run",
        "runs .",
        "generate run --bytes 5",
        "diagnose run --text text --against none",
        "pulls run --prompt once",
        "simulate --oscillators 10 --settle 1 --measure 1",
    ] {
        let output = hidden(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What does not fit on the disk is an error with code 1 that names the file, and nothing half is left.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let folder = trained();
    let at = folder.path();
    let full = at.join("full");
    fs::create_dir(&full).unwrap();
    let mount = |arguments: &[&str]| {
        std::process::Command::new(arguments[0])
            .args(&arguments[1..])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let path = full.to_str().unwrap();
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path]) {
        skipped("this user cannot mount a small file system");
        return;
    }
    fs::write(full.join("filler"), vec![0; 60 << 10]).unwrap();
    for (line, part) in [
        ("export run --to full/x.npz --text text", "full/x.npz cannot be written"),
        ("export run --to full/x.zarr --text text", "full/x.zarr cannot be written"),
        ("export run --to weights --out full/hf", "cannot be written"),
        ("diagnose run --text text --against none --out full/d", "full/d"),
        ("lesion run --text text --doses 0,1 --out full/l", "full/l"),
        ("simulate --oscillators 10 --settle 1 --measure 1 --out full/s", "full/s"),
        ("lab plan compare --scale smoke --out full/p", "full/p"),
    ] {
        let (code, _, said) = run(at, line);
        assert_eq!(code, Some(1), "{line}: {said}");
        assert!(said.contains(part) && said.contains("No space left"), "{line}: {said}");
    }
    let left: Vec<_> = fs::read_dir(&full).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let partial = left.iter().filter(|name| name.to_string_lossy().contains("export"));
    assert_eq!(partial.count(), 0, "{left:?}");
    fs::remove_file(full.join("filler")).unwrap();
    assert_eq!(
        run(at, "export run --to full/x.npz --text text --arrays byte,bits").0,
        Some(0),
        "a retry works"
    );
    assert!(mount(&["umount", path]));
    let to_full = format!("exec {} runs . > /dev/full", assert_cmd::cargo::cargo_bin("kuramoto").display());
    let output = Command::new("sh").args(["-c", &to_full]).current_dir(at).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("cannot write to standard output"), "{said}");
}

/// An export that is killed leaves nothing in the way, and the next one clears up after it.
#[test]
fn a_killed_export_can_be_repeated() {
    let folder = trained();
    let at = folder.path();
    fs::write(at.join("long"), "once upon a time ".repeat(20_000)).unwrap();
    let hidden = || {
        let entries = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_string_lossy().starts_with(".export-")).count()
    };
    for to in ["x.npz", "x.zarr"] {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("kuramoto"))
            .args(["export", "run", "--to", to, "--text", "long", "--arrays", "coupling,phase"])
            .current_dir(at)
            .spawn()
            .unwrap();
        while hidden() == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(30));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!at.join(to).exists() && hidden() == 1, "{to}: it was killed half way");
        let (code, _, said) = run(at, &format!("export run --to {to} --text text"));
        assert_eq!((code, hidden()), (Some(0), 0), "{to}: {said}");
    }
    // Weights without their configuration are what a kill leaves; others are not ours to replace.
    assert_eq!(run(at, "export run --to weights --out hf").0, Some(0));
    refused(at, "export run --to weights --out hf", 1, "config.json is there already");
    fs::remove_file(at.join("hf/config.json")).unwrap();
    fs::write(at.join("hf/.model.safetensors.partial"), "half").unwrap();
    assert_eq!(run(at, "export run --to weights --out hf").0, Some(0));
    assert!(!at.join("hf/.model.safetensors.partial").exists());
    fs::remove_file(at.join("hf/config.json")).unwrap();
    fs::write(at.join("hf/model.safetensors"), "mine").unwrap();
    refused(at, "export run --to weights --out hf", 1, "model.safetensors is there already");
    assert_eq!(fs::read_to_string(at.join("hf/model.safetensors")).unwrap(), "mine");
}

/// Names cannot steer the terminal.
#[test]
fn escape_sequences_in_names_are_shown_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let name = "a\u{1b}[31mb";
    fs::write(at.join(name), "once upon a time ".repeat(4000)).unwrap();
    let said = |arguments: &[&str], code: i32| {
        let output = kuramoto(at).args(arguments).output().unwrap();
        let both = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(code), "{both}");
        assert!(!both.contains('\u{1b}'), "{arguments:?}: {both}");
        both
    };
    let shown = |arguments: &[&str], code: i32| {
        assert!(said(arguments, code).contains("a\\u{1b}[31mb"), "{arguments:?}");
    };
    let line = RUN.replace("--set data.bytes=60000", "").replace("--out run", "");
    let arguments: Vec<&str> = line.split_whitespace().chain(["--data", name, "--out", name]).collect();
    fs::create_dir(at.join("runs")).unwrap();
    let out = format!("runs/{name}");
    let arguments = [&arguments[..arguments.len() - 1], &[out.as_str()]].concat();
    shown(&arguments, 0);
    shown(&["runs"], 0);
    shown(&["eval", &out, "--cache", "empty"], 0);
    shown(&["eval", name], 1);
    shown(&["train", "--config", &format!("{name}.toml")], 1);
    shown(&["train", "--preset", name], 2);
    shown(&["lab", "status", name], 1);
    let plan =
        ["lab", "plan", "compare", "--scale", "smoke", "--corpus", name, "--out", &format!("plan-{name}")];
    shown(&plan, 0);
    said(&["lab", "status", &format!("plan-{name}")], 0);
}
