//! What a recipe may ask for, from the command line to what is printed of it.

mod common;

use assert_cmd::Command;
use common::scratch;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

/// Standard output, standard error and the exit code of a command.
fn kuramoto(folder: &Path, line: &str) -> (String, String, i32) {
    let output = Command::cargo_bin("kuramoto")
        .unwrap()
        .current_dir(folder)
        .env("KURAMOTO_CACHE", folder.join("cache"))
        .args(line.split_whitespace())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

const TINY: &str = "--set data.bytes=60000 --batch 4 --context 32 --width 8 --layers 1 --validate-every 20 \
                    --validation-windows 10 --threads 1";

#[test]
fn a_run_that_is_not_finite_says_so_everywhere() {
    let folder = scratch();
    let wild =
        format!("train {TINY} --protocol paper --steps 60 --out runs/wild --learning-rate 1e30 --clip 0");
    let (said, warned, code) = kuramoto(folder.path(), &wild);
    assert_eq!(code, 0, "{warned}");
    let summary = std::fs::read(folder.path().join("runs/wild/summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    let step = summary["non_finite_step"].as_u64().unwrap();
    let words = format!("not finite from step {step}");
    assert!(warned.contains(&format!("warning: step {step}: the ")), "{warned}");
    assert!(said.contains(&format!("{words}: that step was not applied")), "{said}");
    assert!(said.contains("train --resume runs/wild --on-bad-step skip"), "{said}");
    for listing in ["runs", "runs --json", "runs compare runs/wild runs/wild"] {
        let (said, ..) = kuramoto(folder.path(), listing);
        assert!(said.contains(&words), "{listing}: {said}");
    }
    let (said, _, code) = kuramoto(folder.path(), "train --resume runs/wild");
    assert_eq!(code, 0);
    assert!(said.starts_with(&format!("runs/wild is {words}")) && said.contains("nothing left"), "{said}");
    let (json, ..) = kuramoto(folder.path(), "train --resume runs/wild --json");
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), summary);
    let (_, refused, code) = kuramoto(folder.path(), "train --on-bad-step ignore");
    assert_eq!(code, 2);
    assert!(refused.contains("expected one of `stop`, `skip`, `continue`"), "{refused}");
}

/// Shards of another text than the paper's are no column beside the paper's numbers.
#[test]
fn other_shards_are_said_to_be_others() {
    let folder = scratch();
    let shards = folder.path().join("codeparrot");
    std::fs::create_dir(&shards).unwrap();
    let row = serde_json::json!({ "content": "for x in range(10):\n    print(x)\n".repeat(500) }).to_string();
    let mut shard = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    shard.write_all(row.as_bytes()).unwrap();
    std::fs::write(shards.join("file-000000000001.json.gz"), shard.finish().unwrap()).unwrap();
    let tiny = "--batch 2 --context 16 --width 8 --layers 1 --steps 2 --threads 1";
    let train = format!("train {tiny} --data codeparrot --data-path codeparrot --out run");
    let plan = "lab plan compare --scale smoke --data codeparrot=codeparrot --seeds 1 --out plan";
    for line in [format!("{train} --dry-run"), train, plan.into()] {
        let (_, said, code) = kuramoto(folder.path(), &line);
        assert_eq!(code, 0, "{said}");
        let notes: Vec<&str> = said.lines().filter(|line| line.starts_with("note: ")).collect();
        let [note] = notes[..] else { panic!("{line}: {said}") };
        assert!(
            note.contains("16500 bytes with 18 distinct values") && note.contains("100000000 with 201"),
            "{note}"
        );
        assert!(note.contains("held under the name codeparrot-other"), "{note}");
    }
    let read = |path: &str| std::fs::read_to_string(folder.path().join(path)).unwrap();
    let plan: Value = serde_json::from_str(&read("plan/plan.json")).unwrap();
    assert_eq!(plan["runs"][0]["corpus"], "codeparrot-other");
    assert_eq!(
        serde_json::from_str::<Value>(&read("run/summary.json")).unwrap()["corpus"],
        "codeparrot-other"
    );
}

#[test]
fn a_share_of_warmup_is_shown_with_its_steps() {
    let folder = scratch();
    let shares = ["--warmup 8%", "--set optimizer.warmup=8%"];
    for share in shares {
        let (said, error, _) = kuramoto(folder.path(), &format!("train {TINY} --steps 50 {share} --dry-run"));
        assert!(said.contains("with a warm-up of 4 steps (8% of 50 steps)"), "{said}{error}");
        assert!(said.contains("warmup = \"8% of 50 steps\""), "{said}");
    }
    for (name, warmup) in [("a", "8%"), ("b", "4")] {
        let line = format!("train {TINY} --steps 50 --warmup {warmup} --out runs/{name}");
        assert_eq!(kuramoto(folder.path(), &line).2, 0);
    }
    let (said, ..) = kuramoto(folder.path(), "runs compare runs/a runs/b");
    let row = said.lines().find(|line| line.starts_with("optimizer.warmup")).unwrap_or_default();
    assert!(row.contains("8% of 50 steps") && row.trim_end().ends_with('4'), "{said}");
    assert!(said.contains("at their best, both are the same"), "{said}");
    let (_, refused, code) = kuramoto(folder.path(), "train --warmup 120%");
    assert_eq!(code, 2);
    assert!(refused.contains("optimizer.warmup = \"120%\" is not allowed"), "{refused}");
}
