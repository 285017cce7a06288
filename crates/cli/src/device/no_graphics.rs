//! A program without graphics devices says how to get one with them.

use super::{Choice, DeviceArguments, Listed, Opened};
use anyhow::Result;
use kuramoto_engine::Shape;
use kuramoto_model::ModelConfig;
use kuramoto_train::{Error, NewRun};

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
            crate::note("note: this program was built without graphics devices: using the processor");
            Ok(None)
        }
        Choice::Gpu(number) => {
            let asked = number.map_or_else(|| "gpu".into(), |number| format!("gpu:{number}"));
            Err(crate::wrong("--device", asked, WITHOUT).into())
        }
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

pub fn measure(gpu: &Graphics) -> Result<super::Measured> {
    match *gpu {}
}

pub fn listed(_: bool) -> Vec<Listed> {
    Vec::new()
}

/// Refuses a flag that needs graphics devices.
pub fn check_build(flag: &str) -> Result<()> {
    let why = "this program was built without graphics devices: build it with `cargo build --release --features gpu`";
    Err(Error::Config { origin: flag.into(), why: why.into() }.into())
}

pub fn explain(_: &NewRun, _: &DeviceArguments) -> Result<String> {
    check_build("--explain").map(|()| String::new())
}
