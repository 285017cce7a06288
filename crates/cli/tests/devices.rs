//! Flags of graphics devices in a program that was built without them: refused before anything is read.

#![cfg(not(feature = "gpu"))]

use assert_cmd::Command;

/// Fails with code 2 and says all of these.
fn refused(line: &str, says: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::cargo_bin("kuramoto").unwrap();
    command.current_dir(folder.path()).env("KURAMOTO_CACHE", folder.path().join("cache"));
    let output = command.args(line.split_whitespace()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{line}: {said}");
    for part in says {
        assert!(said.contains(part), "{line}: {said} lacks {part}");
    }
    assert!(!folder.path().join("cache").exists(), "{line} opened a corpus");
}

const WITHOUT: &str = "this program was built without graphics devices";

#[test]
fn what_needs_graphics_devices_is_refused() {
    refused("train --device gpu:3", &["--device = gpu:3", WITHOUT, "or use --device cpu"]);
    refused("train --explain", &["--explain: ", WITHOUT]);
    refused("lab submit no-plan --slurm --gpu", &["--gpu: ", WITHOUT]);
    refused("train --device-memory 100", &["--device-memory: it requires --device gpu"]);
    refused("bench --report report.json", &["--report: it requires --device gpu"]);
}

#[test]
fn explain_goes_with_nothing_else_that_decides_what_is_printed() {
    for other in ["--dry-run", "--json", "--resume run"] {
        refused(&format!("train --explain {other}"), &["--explain", "cannot be used with"]);
    }
}
