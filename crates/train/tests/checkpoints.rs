//! A checkpoint is believed only as far as its manifest proves it; the newest good one is used.

mod common;

use common::*;
use kuramoto_train::disk::System;
use kuramoto_train::generate::{Sampling, generate};
use kuramoto_train::{Overlay, Run, Which, checkpoint};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

const FILES: [&str; 5] =
    ["model.safetensors", "optimizer.safetensors", "state.json", "config.json", "manifest.json"];

/// A finished run whose newest checkpoints are of steps 12 and 9.
fn trained() -> (tempfile::TempDir, PathBuf) {
    let folder = folder();
    let run = folder.path().join("run");
    train_new("", &run, 2);
    assert_eq!(checkpoint::steps(&run).unwrap()[..2], [12, 9]);
    (folder, run)
}

/// Opens the run again and returns the step it goes on from and what it says.
fn reopened(run: &Path) -> (u64, Vec<String>) {
    struct Stop(Vec<String>, u64);
    impl kuramoto_train::Observer for Stop {
        fn plan(&mut self, plan: &kuramoto_train::TrainingPlan) {
            self.1 = plan.done;
        }
        fn warning(&mut self, text: &str) {
            self.0.push(text.into());
        }
    }
    let (_, corpus) = tiny("");
    let mut stop = Stop(Vec::new(), 0);
    train(&Run::open(run).unwrap(), &corpus, &System, 1, &mut stop).unwrap();
    (stop.1, stop.0)
}

#[test]
fn damaged_files_are_refused_and_the_newest_good_one_is_used() {
    for file in FILES {
        for damage in ["missing", "truncated", "flipped", "empty", "nonsense"] {
            let (_keep, run) = trained();
            let expected = outcome(&run);
            let path = checkpoint::folder(&run, 12).join(file);
            let mut bytes = fs::read(&path).unwrap();
            match damage {
                "missing" => fs::remove_file(&path).unwrap(),
                "truncated" => fs::write(&path, &bytes[..bytes.len() - 7]).unwrap(),
                "flipped" => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 0x10;
                    fs::write(&path, &bytes).unwrap();
                }
                "empty" => fs::write(&path, b"").unwrap(),
                _ => fs::write(&path, b"{\"step\": ]").unwrap(),
            }
            // The program does not read config.json back, so damage to it does no harm.
            let (step, warnings) = reopened(&run);
            if file == "config.json" {
                assert_eq!((step, warnings.len()), (12, 0));
                continue;
            }
            assert_eq!(step, 9, "{damage} {file}");
            assert_eq!(warnings.len(), 1, "{damage} {file}: {warnings:?}");
            assert!(warnings[0].contains("step-12"), "{warnings:?}");
            assert!(outcome(&run) == expected, "{damage} {file}");
        }
    }
}

#[test]
fn the_message_names_the_file_and_the_reason() {
    let (_keep, run) = trained();
    let path = checkpoint::folder(&run, 12).join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    bytes.pop();
    fs::write(&path, bytes).unwrap();
    let warning = reopened(&run).1.remove(0);
    for part in ["model.safetensors", "bytes where the manifest says", "set aside"] {
        assert!(warning.contains(part), "{warning}");
    }
    assert!(
        checkpoint::folder(&run, 12).join("manifest.json").exists(),
        "training went on and saved it anew"
    );
    assert!(run.join("checkpoints/.step-12.refused").exists(), "what was refused is kept");
}

#[test]
fn a_foreign_checkpoint_is_refused() {
    let (_keep, run) = trained();
    let elsewhere = folder();
    let foreign = elsewhere.path().join("run");
    train_new("seed = 6", &foreign, 2);
    let place = checkpoint::folder(&run, 12);
    fs::remove_dir_all(&place).unwrap();
    fs::rename(checkpoint::folder(&foreign, 12), &place).unwrap();
    let (step, warnings) = reopened(&run);
    assert_eq!(step, 9);
    assert!(warnings[0].contains("another configuration"), "{warnings:?}");
}

#[test]
fn without_any_good_checkpoint_nothing_is_touched() {
    let (_keep, run) = trained();
    for step in checkpoint::steps(&run).unwrap() {
        fs::write(checkpoint::folder(&run, step).join("state.json"), "x").unwrap();
    }
    let (_, corpus) = tiny("");
    let opened = Run::open(&run).unwrap();
    let error = train(&opened, &corpus, &System, 1, &mut ()).unwrap_err().to_string();
    assert!(error.contains("none of the") && error.contains("state.json"), "{error}");
    assert!(checkpoint::folder(&run, 12).join("manifest.json").exists());
}

#[test]
fn a_folder_in_use_is_never_overwritten() {
    let (_keep, run) = trained();
    let (config, corpus) = tiny("");
    let error = Run::create(&System, &run, &config, corpus.identity()).unwrap_err().to_string();
    assert!(error.contains("not empty") && error.contains("--resume"), "{error}");
    let opened = Run::open(&run).unwrap();
    let lock = opened.lock().unwrap();
    assert!(lock.is_some() && opened.lock().unwrap().is_none());
    assert!(opened.is_training());
    drop(lock);
    assert!(!opened.is_training());
}

/// A damaged best checkpoint is refused by all who read it, with the file and what else there is; training
/// can end.
#[test]
fn a_damaged_best_is_said_and_not_replaced() {
    let folder = folder();
    let run = folder.path().join("run");
    let wild = "optimizer = { learning-rate = 3, warmup = 0, schedule = 'constant' }\nbad-steps.spike = 0\n\
                validation = { every = 1, test = true }";
    train_new(wild, &run, 2);
    let best = fs::read_to_string(run.join("best")).unwrap();
    assert_ne!(best, fs::read_to_string(run.join("last")).unwrap());
    fs::write(run.join("checkpoints").join(best.trim()).join("model.safetensors"), "x").unwrap();
    let (_, corpus) = tiny(wild);
    let mut opened = Run::open(&run).unwrap();
    opened.reconfigure(&[Overlay::set("--steps", "length.steps", "13")]).unwrap();
    let mut watch = Watch::default();
    let summary = train(&opened, &corpus, &System, 1, &mut watch).unwrap();
    assert_eq!(summary.test_bits_per_byte, None);
    assert!(
        watch.warnings.iter().any(|text| text.contains("the test split was not read")),
        "{:?}",
        watch.warnings
    );
    let error = opened.load(Which::Best, &layout(&opened)).err().unwrap().to_string();
    for part in [best.trim(), "model.safetensors", "--checkpoint step-13"] {
        assert!(error.contains(part), "{error}");
    }
    let mut write = |_| true;
    let sampling = Sampling { temperature: 0.5, ..Default::default() };
    assert!(generate(&opened, Which::Best, b"A", 3, &sampling, &mut write).is_err());
    assert!(generate(&opened, Which::Last, b"A", 3, &sampling, &mut write).is_ok());
    // One that names another checkpoint than the records do is damaged, too.
    fs::write(run.join("best"), "step-13\n").unwrap();
    let error = opened.load(Which::Best, &layout(&opened)).err().unwrap().to_string();
    assert!(error.contains("names step-13") && error.contains(&format!("is {}", best.trim())), "{error}");
    // A pointer that is no pointer is not taken for a missing one.
    fs::write(run.join("best"), "x").unwrap();
    let error = opened.load(Which::Best, &layout(&opened)).err().unwrap().to_string();
    assert!(error.contains("best") && error.contains("step-100"), "{error}");
}

/// What cannot be read may hold checkpoints: nothing is rewound, removed or begun anew.
#[test]
fn an_unreadable_folder_of_checkpoints_is_an_error() {
    let (_keep, run) = trained();
    let (checkpoints, aside) = (run.join("checkpoints"), run.join("aside"));
    let rows = fs::read(run.join("metrics.jsonl")).unwrap();
    fs::rename(&checkpoints, &aside).unwrap();
    for is_file in [true, false] {
        if is_file {
            fs::write(&checkpoints, "not a folder").unwrap();
        } else {
            fs::remove_file(&checkpoints).unwrap();
        }
        let mut opened = Run::open(&run).unwrap();
        opened.reconfigure(&[Overlay::set("--steps", "length.steps", "20")]).unwrap();
        let (_, corpus) = tiny("");
        let error = train(&opened, &corpus, &System, 1, &mut ()).unwrap_err().to_string();
        assert!(error.contains("cannot list") && error.contains("checkpoints"), "{error}");
        assert_eq!(fs::read(run.join("metrics.jsonl")).unwrap(), rows);
        assert!(Run::open(&run).unwrap().summary().is_some());
    }
    fs::rename(&aside, &checkpoints).unwrap();
    assert_eq!(reopened(&run).0, 12);
}

/// A resume that fails has changed nothing.
#[test]
fn a_failed_resume_leaves_everything_as_it_was() {
    let (_keep, run) = trained();
    let before =
        ["config.toml", "summary.json", "best", "last"].map(|name| fs::read(run.join(name)).unwrap());
    // Rows that cannot be read.
    fs::remove_file(run.join("metrics.jsonl")).unwrap();
    fs::create_dir(run.join("metrics.jsonl")).unwrap();
    let mut opened = Run::open(&run).unwrap();
    let longer =
        [Overlay::set("--steps", "length.steps", "20"), Overlay::set("--keep", "checkpoints.keep", "1")];
    opened.reconfigure(&longer).unwrap();
    let (_, corpus) = tiny("");
    let error = train(&opened, &corpus, &System, 1, &mut ()).unwrap_err().to_string();
    assert!(error.contains("metrics.jsonl"), "{error}");
    let after = ["config.toml", "summary.json", "best", "last"].map(|name| fs::read(run.join(name)).unwrap());
    assert_eq!(before, after);
    assert_eq!(checkpoint::steps(&run).unwrap()[..2], [12, 9]);
}

/// A line that is no row is named when a run is resumed, and stays.
#[test]
fn damaged_rows_are_named_and_kept() {
    let (_keep, run) = trained();
    let path = run.join("metrics.jsonl");
    let rows = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = rows.lines().collect();
    lines[4] = "{\"step\": 5, \"tok";
    let damaged = lines.join("\n") + "\n";
    fs::write(&path, &damaged).unwrap();
    let (_, warnings) = reopened(&run);
    assert_eq!(warnings, ["line 5 of metrics.jsonl is not the row that belongs there; it stays as it is"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
}

/// Rows that are gone cannot be written again; training goes on, and says so.
#[test]
fn missing_rows_are_named() {
    let (_keep, run) = trained();
    let path = run.join("metrics.jsonl");
    let rows = fs::read_to_string(&path).unwrap();
    fs::write(&path, rows.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    assert_eq!(reopened(&run).1, ["metrics.jsonl lacks 2 of the rows of 12 steps"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(reopened(&run).1, ["metrics.jsonl lacks 12 of the rows of 12 steps"]);
}

/// Rows that could not be written are known before training goes on.
#[cfg(unix)]
#[test]
fn rows_that_are_a_link_to_nowhere_are_an_error() {
    let (_keep, run) = trained();
    let path = run.join("metrics.jsonl");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &path).unwrap();
    let (_, corpus) = tiny("");
    let error = train(&Run::open(&run).unwrap(), &corpus, &System, 1, &mut ()).unwrap_err().to_string();
    assert!(error.contains("metrics.jsonl"), "{error}");
}

#[test]
fn what_a_run_computes_cannot_be_changed() {
    let (_keep, run) = trained();
    let mut opened = Run::open(&run).unwrap();
    let set = |key: &str, value: &str| [Overlay::set("--set", key, value)];
    for (key, value) in
        [("seed", "9"), ("optimizer.clip", "2"), ("model.heads", "1"), ("validation.every", "2")]
    {
        let error = opened.reconfigure(&set(key, value)).unwrap_err().to_string();
        assert!(error.contains("keeps its configuration"), "{key}: {error}");
    }
    opened.reconfigure(&set("bad-steps.policy", "skip")).unwrap();
    opened.reconfigure(&set("length.steps", "5")).unwrap();
    // Fewer steps than were taken: refused, and nothing is saved of it.
    let (_, corpus) = tiny("");
    let error = train(&opened, &corpus, &System, 1, &mut ()).unwrap_err().to_string();
    assert!(error.contains("has taken 12 steps already"), "{error}");
    assert_eq!(Run::open(&run).unwrap().config().length, kuramoto_train::config::Length::Steps(12));
    assert!(opened.summary().is_some());
}

#[test]
fn a_changed_vocabulary_is_refused() {
    let (_keep, run) = trained();
    let path = run.join("corpus.json");
    let mut corpus: kuramoto_train::Identity = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    corpus.vocabulary.pop();
    fs::write(&path, serde_json::to_vec(&corpus).unwrap()).unwrap();
    assert!(Run::open(&run).unwrap_err().to_string().contains("vocabulary"));
}

/// What a process left that died while it made the run is taken up; a file of the user's never is.
#[test]
fn only_remnants_of_the_same_run_are_taken_up() {
    let (config, corpus) = tiny("");
    for (name, text, taken) in [
        (".config.toml.partial", "half", true),
        ("corpus.json", "{\"mine\": 1}", false),
        ("notes.partial", "mine", false),
    ] {
        let folder = folder();
        fs::create_dir(folder.path().join("checkpoints")).unwrap();
        fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(Run::create(&System, folder.path(), &config, corpus.identity()).is_ok(), taken, "{name}");
        assert!(taken || fs::read_to_string(folder.path().join(name)).unwrap() == text);
    }
}

#[test]
fn weights_are_plain_safetensors_with_the_documented_names() {
    let (_keep, run) = trained();
    let bytes = fs::read(checkpoint::folder(&run, 12).join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let layout = layout(&Run::open(&run).unwrap());
    assert_eq!(file.len(), layout.tensors().len());
    for tensor in layout.tensors() {
        assert_eq!(file.tensor(&tensor.name).unwrap().shape(), tensor.shape, "{}", tensor.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Bytes changed anywhere in a checkpoint never panic and are never believed.
    #[test]
    fn any_changed_byte_is_noticed(file in 0usize..5, at: prop::sample::Index, to: u8) {
        thread_local!(static RUN: (tempfile::TempDir, PathBuf) = trained());
        RUN.with(|(_, run)| -> Result<(), TestCaseError> {
            let opened = Run::open(run).unwrap();
            let folder = checkpoint::folder(run, 12);
            let path = folder.join(FILES[file]);
            let good = fs::read(&path).unwrap();
            let mut bytes = good.clone();
            let at = at.index(bytes.len());
            let changed = bytes[at] != to;
            bytes[at] = to;
            fs::write(&path, &bytes).unwrap();
            let loaded = checkpoint::load(&folder, &opened, &layout(&opened), true);
            fs::write(&path, &good).unwrap();
            // White space of the manifest and the copy of the configuration mean nothing.
            let meaning = FILES[file] != "config.json" && FILES[file] != "manifest.json";
            prop_assert!(loaded.is_err() || !changed || !meaning);
            Ok(())
        })?;
    }

    /// Arbitrary bytes in place of a weight file.
    #[test]
    fn nonsense_weights_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let layout = kuramoto_model::Kuramoto::new(Default::default(), 8).unwrap().layout().clone();
        prop_assert!(checkpoint::arena(Path::new("x"), &bytes, &layout, "").is_err());
    }
}

/// Removes the run's folder after so many steps.
struct Remove<'a>(&'a Path, u64);

impl kuramoto_train::Observer for Remove<'_> {
    fn step(&mut self, row: &kuramoto_train::Row, _: &kuramoto_train::State) {
        if row.step == self.1 {
            fs::remove_dir_all(self.0).unwrap();
        }
    }
}

#[test]
fn a_run_that_vanishes_is_not_called_saved() {
    for step in [1, 5, 11, 12] {
        let folder = folder();
        let path = folder.path().join("run");
        let (config, corpus) = tiny("");
        let run = Run::create(&System, &path, &config, corpus.identity()).unwrap();
        let error = train(&run, &corpus, &System, 1, &mut Remove(&path, step)).unwrap_err().to_string();
        assert!(error.contains("removed or emptied"), "{step}: {error}");
    }
}

/// Nor are they read, though the manifest agrees with them.
#[test]
fn forged_parameters_that_are_not_finite_are_refused() {
    let (_keep, run) = trained();
    let folder = checkpoint::folder(&run, 12);
    let (model, manifest) = (folder.join("model.safetensors"), folder.join("manifest.json"));
    let mut bytes = fs::read(&model).unwrap();
    let before = kuramoto_train::hash::of(&bytes);
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&model, &bytes).unwrap();
    let proofs = fs::read_to_string(&manifest).unwrap();
    assert!(proofs.contains(&before));
    fs::write(&manifest, proofs.replace(&before, &kuramoto_train::hash::of(&bytes))).unwrap();
    let (step, warnings) = reopened(&run);
    assert_eq!((step, warnings.len()), (9, 1));
    assert!(warnings[0].contains("not finite"), "{warnings:?}");
}

/// Parameters that are not finite never take the place of good ones, whatever is done about bad steps.
#[test]
fn what_is_not_finite_is_not_saved() {
    for policy in ["stop", "skip"] {
        let folder = folder();
        let path = folder.path().join("run");
        let wild = format!(
            "length.steps = 40\noptimizer = {{ learning-rate = 1e39, warmup = 6, schedule = 'constant' }}\n\
             bad-steps.policy = '{policy}'\ncheckpoints = {{ every = 1, keep = 1 }}"
        );
        let (config, corpus) = tiny(&wild);
        let run = Run::create(&System, &path, &config, corpus.identity()).unwrap();
        assert!(train(&run, &corpus, &System, 1, &mut Watch::default()).is_err());
        for step in checkpoint::steps(&path).unwrap() {
            let found =
                checkpoint::load(&checkpoint::folder(&path, step), &run, &layout(&run), true).unwrap();
            assert!(found.parameters.iter().all(|x| x.is_finite()), "{policy}: step {step}");
        }
    }
}

/// The vocabulary says what tokens mean: another one of the same size is not taken for it.
#[test]
fn a_changed_byte_of_the_vocabulary_is_refused_by_all_checkpoints() {
    let (_keep, run) = trained();
    let path = run.join("corpus.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut corpus: serde_json::Value = serde_json::from_str(&text).unwrap();
    // The last byte of the vocabulary is followed by nothing, so the order stays.
    let last = corpus["vocabulary"].as_array_mut().unwrap().last_mut().unwrap();
    *last = (last.as_u64().unwrap() + 1).into();
    fs::write(&path, corpus.to_string()).unwrap();
    let opened = Run::open(&run).unwrap();
    let error = opened.load(Which::Last, &layout(&opened)).err().unwrap().to_string();
    assert!(error.contains("corpus.json was changed"), "{error}");
}

/// A process that holds a run keeps others out, also if its lock file is removed.
#[test]
fn removing_the_lock_file_lets_nobody_in() {
    let (_keep, run) = trained();
    let opened = Run::open(&run).unwrap();
    let lock = opened.lock().unwrap();
    assert!(lock.is_some());
    fs::remove_file(run.join("lock")).unwrap();
    assert!(opened.is_training() && opened.lock().unwrap().is_none());
    drop(lock);
    assert!(!opened.is_training() && opened.lock().unwrap().is_some());
}

/// A pipe in the place of a file would wait for ever for somebody to write.
#[cfg(unix)]
#[test]
fn pipes_in_the_place_of_files_are_refused() {
    use kuramoto_train::listing::Listed;
    for name in ["config.toml", "corpus.json", "best", "last", "metrics.jsonl", "lock", "summary.json"] {
        let (_keep, run) = trained();
        fs::remove_file(run.join(name)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(run.join(name)).status().unwrap().success());
        let listed = Listed::read(&run);
        assert_eq!(listed.is_err(), ["config.toml", "corpus.json"].contains(&name), "{name}");
        let Ok(opened) = Run::open(&run) else { continue };
        assert_eq!(opened.load(Which::Best, &layout(&opened)).is_err(), name == "best", "{name}");
    }
}

/// A name that is no UTF-8 is shown as far as it can be.
#[cfg(target_os = "linux")]
#[test]
fn a_run_whose_name_is_not_utf_8_is_listed_and_resumed() {
    use std::os::unix::ffi::OsStrExt;
    let (keep, run) = trained();
    let renamed = keep.path().join(std::ffi::OsStr::from_bytes(b"r\xffn"));
    fs::rename(run, &renamed).unwrap();
    let listed = kuramoto_train::listing::Listed::read(&renamed).unwrap();
    assert!(serde_json::to_string(&listed).unwrap().contains("finished"));
    let mut opened = Run::open(&renamed).unwrap();
    opened.reconfigure(&[Overlay::set("--steps", "length.steps", "14")]).unwrap();
    let (_, corpus) = tiny("");
    assert_eq!(train(&opened, &corpus, &System, 1, &mut ()).unwrap().steps, 14);
}

/// What a folder of checkpoints may hold besides checkpoints.
#[test]
fn odd_entries_among_checkpoints_are_survived() {
    let (_keep, run) = trained();
    let checkpoints = run.join("checkpoints");
    fs::write(checkpoints.join(".step-5.partial"), "a file").unwrap();
    fs::create_dir(checkpoints.join("step-0099")).unwrap();
    fs::create_dir(checkpoints.join("step-x")).unwrap();
    fs::write(checkpoints.join("notes.txt"), "mine").unwrap();
    assert_eq!(reopened(&run), (12, vec![]));
    assert!(!checkpoints.join(".step-5.partial").exists());
    assert!(checkpoints.join("notes.txt").exists() && checkpoints.join("step-0099").exists());
}
