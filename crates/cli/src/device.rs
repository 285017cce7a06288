//! `--device`: what computes, and `kuramoto devices`, which lists what could.

use crate::table::Table;
use anyhow::Result;
use kuramoto_engine::{Cpu, Device, Shape};
use kuramoto_kernels::{arch, peak};
use kuramoto_model::ModelConfig;
use kuramoto_train::Error;
use std::str::FromStr;

#[cfg(feature = "gpu")]
mod graphics;
#[cfg(not(feature = "gpu"))]
#[path = "device/no_graphics.rs"]
mod graphics;

pub use graphics::{Graphics, check_build, explain};

const ALLOWED: &str = "it must be cpu, gpu, gpu:N or auto; `kuramoto devices` lists them";

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The processor.
    Cpu,
    /// A graphics device: the best, or the one with this number.
    Gpu(Option<usize>),
    /// A graphics card if there is one, otherwise the processor.
    Auto,
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Choice, Error> {
        match text.split_once(':') {
            None if text == "cpu" => Ok(Choice::Cpu),
            None if text == "gpu" => Ok(Choice::Gpu(None)),
            None if text == "auto" => Ok(Choice::Auto),
            Some(("gpu", number)) if number.parse::<usize>().is_ok() => Ok(Choice::Gpu(number.parse().ok())),
            _ => Err(crate::wrong("--device", format!("{text:?}"), ALLOWED)),
        }
    }
}

/// The flags of whatever computes.
#[derive(Clone, Debug, clap::Args)]
pub struct DeviceArguments {
    /// Compute device: cpu, gpu, gpu:N (see `kuramoto devices`), or auto for a card if there is one
    // Checked later, where all processes of a run can agree on what is wrong.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Megabytes of a graphics device that may be used [default: 4096]
    #[arg(long, value_name = "MB", hide_short_help = true)]
    device_memory: Option<u64>,
    /// Multiply matrices on a card's matrix units, with operands split in two f16; the bits differ
    #[arg(long, hide_short_help = true)]
    matrix_units: bool,
}

/// What computes.
pub struct Opened {
    device: Box<dyn Device>,
    graphics: Option<Graphics>,
}

impl Opened {
    pub fn device(&self) -> &dyn Device {
        &*self.device
    }

    /// Takes up to a second.
    pub fn measure(&self) -> Result<Measured> {
        match &self.graphics {
            Some(gpu) => graphics::measure(gpu),
            None => Ok(Measured { peak_flops: peak::measure(0.2), graphics: None }),
        }
    }
}

/// How fast a device could be.
pub struct Measured {
    /// Multiply-adds of a core, or of the whole of a graphics device, counted as FLOP/s.
    pub peak_flops: f64,
    graphics: Option<graphics::Measured>,
}

impl Measured {
    /// How many runs of this model and shape to train at a time where there are so many cores.
    pub fn runs_at_a_time(&self, model: &ModelConfig, shape: &Shape, cores: usize) -> Result<usize> {
        match &self.graphics {
            Some(measured) => measured.runs_at_a_time(model, shape),
            None => Ok(cores),
        }
    }
}

impl DeviceArguments {
    /// Opens what was asked for; this is how the processor would be used.
    pub fn open(&self, cpu: Cpu) -> Result<Opened> {
        let processor = |cpu| Ok(Opened { device: Box::new(cpu), graphics: None });
        // A graphics device trains in one process only.
        if cpu.group.size() > 1 && self.device == "auto" {
            return processor(cpu);
        }
        match self.graphics()? {
            Some(gpu) if cpu.group.size() == 1 => graphics::prepared(gpu),
            Some(_) => {
                let allowed = "a graphics device trains in one process: leave out mpirun";
                Err(crate::wrong("--device", &self.device, allowed).into())
            }
            None => processor(cpu),
        }
    }

    /// The graphics device that was asked for, if one was; it is not tested yet.
    pub fn graphics(&self) -> Result<Option<Graphics>> {
        let choice: Choice = self.device.parse()?;
        let of_a_card =
            [("--device-memory", self.device_memory.is_some()), ("--matrix-units", self.matrix_units)];
        if let Some((flag, _)) = of_a_card.into_iter().find(|(_, given)| *given && choice == Choice::Cpu) {
            let why = "it requires --device gpu";
            return Err(Error::Config { origin: flag.into(), why: why.into() }.into());
        }
        let memory = match self.device_memory {
            None => None,
            Some(megabytes @ 1..=1_000_000) => Some(1_000_000 * megabytes),
            Some(other) => {
                return Err(crate::wrong("--device-memory", other, "it must be from 1 to 1000000").into());
            }
        };
        graphics::open(choice, memory, self.matrix_units)
    }
}

#[derive(clap::Args)]
pub struct Arguments {
    /// Test each graphics device, as training does before its first step
    #[arg(long)]
    test: bool,
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// One line of the list.
#[derive(serde::Serialize)]
pub struct Listed {
    device: String,
    name: String,
    kind: String,
    driver: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<Limits>,
    /// Why it cannot be used, or what the test found.
    note: String,
}

/// What bounds the models that a graphics device can take.
#[derive(serde::Serialize)]
pub struct Limits {
    largest_buffer_bytes: u64,
    storage_buffers: u32,
    workgroup_bytes: u32,
    workgroup_threads: u32,
    matrix_units: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let cores = crate::threads(None)?;
    let processor = Listed {
        device: "cpu".into(),
        name: format!("{cores} threads"),
        kind: "processor".into(),
        driver: format!("{:?}", arch::level()).to_lowercase(),
        limits: None,
        note: "the default".into(),
    };
    let mut all = vec![processor];
    all.extend(graphics::listed(arguments.test));
    if arguments.json {
        return crate::print(&(serde_json::to_string(&all)? + "\n"));
    }
    let mut table = Table::new(&["device", "name", "kind", "driver", "largest buffer", "note"]);
    for listed in &all {
        let buffer = listed
            .limits
            .as_ref()
            .map_or_else(|| "-".into(), |limits| format!("{} MB", limits.largest_buffer_bytes / 1_000_000));
        let Listed { device, name, kind, driver, note, .. } = listed;
        table.row([device.clone(), name.clone(), kind.clone(), driver.clone(), buffer, note.clone()]);
    }
    let hint =
        if all.len() == 1 { graphics::NONE } else { "train on one with: kuramoto train --device gpu:N" };
    crate::print(&format!("{table}\n{hint}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named() {
        for (text, choice) in [
            ("cpu", Choice::Cpu),
            ("gpu", Choice::Gpu(None)),
            ("gpu:2", Choice::Gpu(Some(2))),
            ("auto", Choice::Auto),
        ] {
            assert_eq!(text.parse::<Choice>().unwrap(), choice);
        }
        for text in ["", "cuda", "gpu:", "gpu:-1", "gpu:x", "cpu:1", "GPU"] {
            let error = text.parse::<Choice>().unwrap_err().to_string();
            assert!(error.contains(&format!("--device = {text:?}")) && error.contains("gpu:N"), "{error}");
        }
    }
}
