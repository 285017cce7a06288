//! Checks this program against fixtures of another implementation of the same reconstruction.
//!
//!     cargo run --release -p kuramoto-engine --example parity -- FOLDER
//!
//! FOLDER holds pairs `<name>.json` and `<name>.safetensors` in the format of
//! `crates/model/tests/fixtures/README.md`. For each pair it prints the worst error over logits, loss,
//! states, attention and gradients: in f64 (with eight AdamW steps) the largest within a tensor relative to
//! the tensor's largest magnitude, in f32 the largest norm of a difference relative to the norm of what was
//! expected. Exits with 1 if any is past its tolerance, with 2 if a fixture cannot be read.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod fixture;
mod naive;

use fixture::Fixture;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Relative, in f64.
const F64_TOLERANCE: f64 = 1e-9;
/// Relative, in f32, for fixtures too large for the naive evaluation.
const F32_TOLERANCE: f64 = 1e-3;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: parity FOLDER (with <name>.json and <name>.safetensors pairs)");
        return ExitCode::from(2);
    };
    match run(&folder) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(folder: &Path) -> Result<bool, String> {
    let names = fixture::names(folder)?;
    let mut all_good = true;
    println!(
        "{:<28} {:>9} {:<28} {:>9} {:>9} {:<10}",
        "fixture", "f64", "worst in", "f32", "allowed", "worst in"
    );
    for name in names {
        let fixture = Fixture::read(folder, &name)?;
        let exact = fixture.compare::<f64>()?.worst;
        let single = fixture.compare::<f32>()?.worst_norm();
        let allowed = fixture.naive_f32_error()?.map_or(F32_TOLERANCE, fixture::allowed_f32);
        let good = exact.error <= F64_TOLERANCE && single.error <= allowed;
        all_good &= good;
        println!(
            "{name:<28} {:>9.1e} {:<28} {:>9.1e} {allowed:>9.1e} {:<10}{}",
            exact.error,
            exact.tensor,
            single.error,
            single.tensor,
            if good { "" } else { "PAST TOLERANCE" }
        );
    }
    println!("tolerance: {F64_TOLERANCE:.0e} in f64; in f32 twice the error of a naive f32 evaluation");
    Ok(all_good)
}
