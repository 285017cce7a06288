//! A program without graphics devices says how to get one with them.

use super::{Choice, Listed, Opened};
use anyhow::Result;
use kuramoto_engine::Shape;
use kuramoto_model::ModelConfig;

/// There are none.
pub enum Graphics {}

/// Where there is nothing to list.
pub const NONE: &str =
    "this program was built without graphics devices; with them: cargo build --release --features gpu";

const WITHOUT: &str = "this program was built without graphics devices: build it with `cargo build --release --features \
                       gpu`, or use --device cpu";

pub fn open(choice: Choice, _: Option<u64>, _: bool) -> Result<Option<Graphics>> {
    match choice {
        Choice::Cpu => Ok(None),
        Choice::Auto => {
            crate::note("note: this program was built without graphics devices: the processor computes");
            Ok(None)
        }
        Choice::Gpu(_) => Err(crate::wrong("--device", "gpu", WITHOUT).into()),
    }
}

/// There are none.
pub enum Measured {}

impl Measured {
    pub fn runs_at_a_time(&self, _: &ModelConfig, _: &Shape) -> Result<usize> {
        match *self {}
    }
}

pub fn prepared(gpu: Graphics) -> Result<Opened> {
    match gpu {}
}

pub fn listed(_: bool) -> Vec<Listed> {
    Vec::new()
}

pub fn explain(_: &ModelConfig, _: &Shape, _: Option<&Graphics>) -> Result<String> {
    Err(crate::wrong("--explain", true, WITHOUT).into())
}
