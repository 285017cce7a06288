//! Which run is which, and what to do with it: lists, comparisons, notes, advice, warm starts, dry runs.

mod common;

use assert_cmd::Command;
use common::scratch;
use serde_json::Value;
use std::fs;
use std::path::Path;

const TINY: &str = "--batch 4 --context 32 --width 8 --layers 1 --validate-every 20 --validation-windows 10 \
                    --warmup 5 --steps 40 --threads 1";

/// Runs the program; its output, the exit code and its errors.
fn kuramoto(folder: &Path, arguments: &str) -> (String, i32, String) {
    let mut command = Command::cargo_bin("kuramoto").unwrap();
    command.current_dir(folder).env("KURAMOTO_CACHE", folder.join("cache"));
    let output = command.args(arguments.split_whitespace()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), output.status.code().unwrap(), text(output.stderr))
}

/// What a successful run of the program printed, as it is called when it is installed.
fn printed(folder: &Path, arguments: &str) -> String {
    let (out, code, err) = kuramoto(folder, arguments);
    assert_eq!(code, 0, "{arguments}: {err}");
    let program = assert_cmd::cargo::cargo_bin("kuramoto");
    let program = program.to_str().unwrap();
    out.replace(&format!("'{program}'"), "kuramoto").replace(program, "kuramoto")
}

fn tales(folder: &Path, more: &str) -> String {
    printed(folder, &format!("train --set data.bytes=60000 {TINY} {more}"))
}

fn json(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&printed(folder, arguments)).unwrap()
}

#[test]
fn runs_are_named_listed_and_compared_by_what_they_changed() {
    let folder = scratch();
    let folder = folder.path();
    tales(folder, "");
    let (_, _, err) =
        kuramoto(folder, &format!("train --set data.bytes=60000 {TINY} --lr 0.02 --ablation no-value-gate"));
    assert!(err.starts_with("Kuramoto model, no-value-gate: 1,476 parameters"), "{err}");
    assert!(err.contains("optimizer.learning-rate = 0.02"), "{err}");

    let names = |arguments: &str| -> Vec<String> {
        let runs = json(folder, arguments);
        let names = runs.as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap().to_string());
        names.collect()
    };
    let (plain, ablated) = ("runs/tales-kuramoto-1", "runs/tales-kuramoto-no-value-gate-1");
    assert_eq!(names("runs --json"), [plain, ablated]);
    assert_eq!(names("runs --json --reverse"), [ablated, plain]);
    assert_eq!(names("runs --json --sort parameters"), [ablated, plain]);
    assert_eq!(names("runs --json --filter VALUE-gate"), [ablated]);
    assert_eq!(names("runs --json --filter learning-rate"), [ablated]);
    assert_eq!(names("runs --json --model transformer"), [""; 0]);
    assert_eq!(names("runs --json --data tales").len(), 2);
    assert_eq!(names("runs runs/tales-kuramoto-1 --json"), [plain]);

    let run = &json(folder, "runs --json --filter gate")[0];
    assert_eq!(run["ablations"][0], "no-value-gate");
    assert_eq!(run["changes"]["optimizer.learning-rate"], 0.02);
    assert_eq!(run["started"].as_str().unwrap().len(), "2026-01-01T00:00:00Z".len());
    let table = printed(folder, "runs");
    assert!(table.lines().nth(2).unwrap().contains("no-value-gate, batch.context=32"), "{table}");

    let compared = printed(folder, &format!("runs compare {plain} {ablated}"));
    for part in ["model.value-gate", "0.016", "0.02", "8.4% fewer parameters", "5,120", "bits per byte"] {
        assert!(compared.contains(part), "{part}: {compared}");
    }
    assert_eq!(json(folder, &format!("runs compare {plain} {ablated} --json"))["curve"][0]["tokens"], 2560);

    printed(folder, &format!("runs note {plain} one"));
    let (_, _, err) = kuramoto(folder, &format!("runs note {plain} another"));
    assert_eq!(err, "the note was: one\n");
    assert_eq!(printed(folder, &format!("runs note {plain}")), "another\n");
    assert_eq!(printed(folder, &format!("runs tag {plain} b a")), "a, b\n");
    assert_eq!(printed(folder, &format!("runs tag {plain} b --remove")), "a\n");
    assert!(printed(folder, "runs").contains("another"));
    assert_eq!(names("runs --json --filter another"), [plain]);

    let (_, code, err) = kuramoto(folder, &format!("runs remove {plain}"));
    assert!(code == 2 && err.contains("--yes") && folder.join(plain).exists(), "{err}");
    printed(folder, &format!("runs remove {plain} --yes"));
    assert!(!folder.join(plain).exists() && folder.join(ablated).exists());
    for (arguments, code, part) in [
        ("runs nope", 1, "nope: there is no such folder"),
        ("runs remove runs --yes", 1, "runs is not a run folder"),
        ("runs compare runs nope", 1, "is not a run folder"),
        ("runs --sort size", 2, "possible values: run, date"),
    ] {
        let (_, found, err) = kuramoto(folder, arguments);
        assert!(found == code && err.contains(part), "{arguments}: {found} {err}");
    }
    assert!(folder.join(ablated).exists());
}

#[test]
fn advice_continues_what_was_done() {
    let folder = scratch();
    let text: String = (0..6000).map(|i| ["abc ", "def\n", "12, "][i % 3]).collect();
    fs::write(folder.path().join("my book.txt"), text).unwrap();
    let data = folder.path().join("my book.txt");
    let mut command = Command::cargo_bin("kuramoto").unwrap();
    command.current_dir(folder.path()).env("KURAMOTO_CACHE", folder.path().join("cache"));
    let arguments = format!("train {TINY} --seed 3 --test --out out/first --data");
    let output = command.args(arguments.split_whitespace()).arg(&data).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let (_, next) = out.split_once("next:\n").unwrap();
    let program = assert_cmd::cargo::cargo_bin("kuramoto");
    let folder_name = folder.path().canonicalize().unwrap();
    let next = next.replace(program.to_str().unwrap(), "kuramoto");
    let next = next.replace(folder_name.to_str().unwrap(), "HERE");
    insta::assert_snapshot!(next, @"
    kuramoto generate out/first                   # more text
    kuramoto eval out/first --split test          # exact bits per byte on text that decided nothing
    kuramoto explore out                          # all runs in a browser, and their phases
    kuramoto diagnose out/first                   # how its phases synchronize, with figures
    kuramoto train --resume out/first --steps 80  # twice as long
    kuramoto train --model transformer --data 'HERE/my book.txt' --seed 3 --context 32 --batch 4 --steps 40 --layers 1 --validate-every 20 --test --validation-windows 10 --budget 988  # the matched transformer to compare with (1,275 parameters, 29.0% more)
    kuramoto runs out                             # every run and its result
    ");
    // Every command but those that serve or need a file works as it is printed.
    let commands: Vec<&str> = next.lines().map(|line| line.split("  #").next().unwrap().trim()).collect();
    for command in commands.iter().filter(|command| !command.contains("explore")) {
        let command = command.replacen("kuramoto", program.to_str().unwrap(), 1);
        let command = command.replace("HERE", folder_name.to_str().unwrap());
        let output = std::process::Command::new("sh")
            .args(["-c", &command])
            .current_dir(folder.path())
            .env("KURAMOTO_CACHE", folder.path().join("cache"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_finished_run_says_so_and_how_to_extend_it() {
    let folder = scratch();
    tales(folder.path(), "--out run");
    let before = fs::read(folder.path().join("run/summary.json")).unwrap();
    let said = printed(folder.path(), "train --resume run");
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("run is finished: it has taken all of its 40 steps, and its best"),
        "{said}"
    );
    assert_eq!(lines[1], "train it longer with: kuramoto train --resume run --steps 80");
    assert_eq!(fs::read(folder.path().join("run/summary.json")).unwrap(), before);
    assert_eq!(json(folder.path(), "train --resume run --json")["steps"], 40);
    // What was not done yet is done.
    printed(folder.path(), "train --resume run --test --json");
    assert!(json(folder.path(), "train --resume run --json")["test_bits_per_byte"].is_f64());
    printed(folder.path(), "train --resume run --steps 45");
    assert_eq!(json(folder.path(), "train --resume run --json")["steps"], 45);
}

#[test]
fn a_dry_run_tells_all_and_makes_nothing() {
    let folder = scratch();
    let arguments = format!("train --set data.bytes=60000 {TINY} --dry-run");
    let said = printed(folder.path(), &arguments);
    for part in ["1,612 parameters", "40 steps of 4 x 32", "MB of memory", "measured on", "[optimizer]\n"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let object = json(folder.path(), &format!("{arguments} --json"));
    assert!(object["estimate"]["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(object["config"]["model"]["width"], 8);
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn runs_start_from_others() {
    let folder = scratch();
    tales(folder.path(), "--out old");
    fs::write(folder.path().join("book"), "Anna had 12 # boats. ".repeat(500)).unwrap();
    let arguments = "train --data book --batch 2 --steps 4 --lr 0.001 --out new --init-from old:last";
    let (_, code, err) = kuramoto(folder.path(), arguments);
    assert!(
        code == 0 && err.contains("starts from step 40 of") && err.contains("3 of 14 bytes start anew"),
        "{err}"
    );
    let listed = json(folder.path(), "runs new --json");
    assert!(listed[0]["changes"]["init-from.run"].as_str().unwrap().ends_with("old"));
    let arguments = "train --config old/config.toml --data book --out again --steps 3";
    let (_, code, err) = kuramoto(folder.path(), arguments);
    assert!(code == 0 && err.contains("book: 14 distinct bytes"), "{err}");
    let arguments = "train --data book --batch 2 --steps 2 --out shipped --init-from tales-kuramoto";
    let (_, code, err) = kuramoto(folder.path(), arguments);
    assert!(code == 0 && err.contains("(k = 84, 3 layers)"), "{err}");
    let (_, code, err) = kuramoto(folder.path(), "train --init-from old --width 16 --set data.bytes=60000");
    assert!(code == 2 && err.contains("not alike"), "{err}");
}

#[test]
fn prompts_come_from_anywhere() {
    let folder = scratch();
    tales(folder.path(), "--out run");
    let opening = printed(folder.path(), "generate run --bytes 5 --temperature 0");
    assert!(opening.starts_with("Greta was a merry weaver who"), "a paragraph of tales: {opening}");
    fs::write(folder.path().join("prompt"), "Anna was a Zoë").unwrap();
    let (_, code, err) = kuramoto(folder.path(), "generate run --prompt-file prompt");
    assert!(code == 2 && err.contains("byte 0x5a ('Z') at 11") && err.contains("--skip-unknown"), "{err}");
    let (out, _, err) = kuramoto(folder.path(), "generate run --prompt-file prompt --skip-unknown --bytes 9");
    assert!(out.starts_with("Anna was a o") && out.len() == 12 + 9, "{out}");
    assert_eq!(err, "left out 3 bytes that tales does not have: \"Z\\xc3\\xab\"\n");
    let mut command = Command::cargo_bin("kuramoto").unwrap();
    let output = command
        .current_dir(folder.path())
        .args(["generate", "run", "--prompt-file", "-", "--bytes", "3", "--top-k", "1", "--samples", "2"])
        .write_stdin("Ben ")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((lines[0], lines[3]), ("--- 1 of 2, seed 0", "--- 2 of 2, seed 1"));
    assert!(lines[1].starts_with("Ben ") && lines[1] == lines[4], "one choice is no choice: {out}");
}

#[test]
fn folders_tell_what_they_hold() {
    let folder = scratch();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("a.txt"), "some text ".repeat(200)).unwrap();
    fs::write(data.join("b.bin"), [0, 1, 2, 3].repeat(100)).unwrap();
    let (_, code, err) = kuramoto(folder.path(), &format!("train --data data {TINY}"));
    assert!(code == 0 && err.contains("data: 2 files of 2,400 bytes in all"), "{err}");
    assert!(err.contains("b.bin is not text"), "{err}");
}

#[test]
fn completions_and_man_pages() {
    let folder = scratch();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(printed(folder.path(), &format!("completions {shell}")).contains("no-browser"), "{shell}");
    }
    printed(folder.path(), "man pages");
    let page = fs::read_to_string(folder.path().join("pages/kuramoto-train.1")).unwrap();
    assert!(page.contains("no\\-value\\-gate"), "the ablations are listed");
}
