//! Any bytes as plan.json: what `lab plan` wrote, or refused.

#![no_main]

use kuramoto_lab::Plan;
use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(plan) = Plan::parse(Path::new("fuzz"), bytes) {
        assert!(plan.runs.iter().enumerate().all(|(index, run)| run.index == index));
    }
});
