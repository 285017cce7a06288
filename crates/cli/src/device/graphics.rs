//! Graphics devices: the one that was asked for, tested before it is trusted.

use super::{Choice, DeviceArguments, Limits, Listed, Opened};
use anyhow::Result;
use kuramoto_engine::{Cpu, Device, Shape};
use kuramoto_gpu::{Adapter, DEFAULT_LIMITS, Gpu, Kind, Speeds, adapters, best, plan, self_test};
use kuramoto_model::ModelConfig;
use kuramoto_train::NewRun;

/// An open graphics device.
pub type Graphics = Gpu;

/// Where there is nothing to list.
pub const NONE: &str =
    "no graphics device for Vulkan, Metal or Direct3D 12: install its driver to train on one";

/// The device that was asked for; None is the processor.
pub fn open(choice: Choice, memory: Option<u64>, matrix_units: bool) -> Result<Option<Gpu>> {
    let index = match choice {
        Choice::Cpu => return Ok(None),
        Choice::Gpu(Some(index)) => index,
        // With no device at all, the first is the one that is missing.
        Choice::Gpu(None) => best(&adapters()).map_or(0, |adapter| adapter.index),
        Choice::Auto => match best(&adapters()).filter(|adapter| adapter.kind != Kind::Software) {
            Some(adapter) => adapter.index,
            None => {
                crate::note("note: there is no graphics card here: using the processor");
                return Ok(None);
            }
        },
    };
    let gpu = Gpu::open(index)?.with_matrix_units(matrix_units)?;
    Ok(Some(match memory {
        Some(bytes) => gpu.with_memory(bytes),
        None => gpu,
    }))
}

/// Tests a device.
pub fn prepared(gpu: Gpu) -> Result<Opened> {
    if gpu.kind() == Kind::Software {
        crate::note(&format!(
            "note: {} is a software renderer, not a graphics card: --device cpu is many times faster",
            gpu.name()
        ));
    }
    self_test(&gpu)?;
    Ok(Opened { device: Box::new(gpu.clone()), graphics: Some(gpu) })
}

/// How fast a device is.
pub fn measure(gpu: &Gpu) -> Result<super::Measured> {
    let speeds = Speeds::measure(gpu)?;
    let graphics = Some(Measured { speeds, gpu: gpu.clone() });
    Ok(super::Measured { peak_flops: speeds.flops, graphics })
}

/// A device and how fast it is.
pub struct Measured {
    gpu: Gpu,
    speeds: Speeds,
}

impl Measured {
    /// Runs that keep it busy; a software renderer keeps the processor's cores busy with one.
    pub fn runs_at_a_time(&self, model: &ModelConfig, shape: &Shape) -> Result<usize> {
        if self.gpu.kind() == Kind::Software {
            return Ok(1);
        }
        let (_, plan) = plan(model, shape.sequences, shape.context, self.gpu.limits())?;
        Ok(self.speeds.runs_at_a_time(&plan))
    }
}

/// Every device, and what is wrong with it.
pub fn listed(test: bool) -> Vec<Listed> {
    let all = adapters();
    let chosen = best(&all).map(|adapter| adapter.index);
    all.iter().map(|adapter| list(adapter, chosen == Some(adapter.index), test)).collect()
}

fn list(adapter: &Adapter, chosen: bool, test: bool) -> Listed {
    let note = match &adapter.lacks {
        Some(lacks) => lacks.clone(),
        None if test => tested(adapter.index),
        None if chosen => "used by --device gpu".into(),
        None => String::new(),
    };
    Listed {
        device: format!("gpu:{}", adapter.index),
        name: adapter.name.clone(),
        kind: adapter.kind.to_string(),
        driver: format!("{} {}", adapter.backend, adapter.driver),
        limits: Some(Limits {
            largest_buffer_bytes: adapter.largest_buffer,
            storage_buffers: adapter.storage_buffers,
            workgroup_bytes: adapter.workgroup_bytes,
            workgroup_threads: adapter.workgroup_threads,
            matrix_units: adapter.matrix_units.is_some(),
        }),
        note,
    }
}

fn tested(index: usize) -> String {
    match Gpu::open(index).and_then(|gpu| self_test(&gpu)) {
        Ok(found) => {
            format!(
                "good: functions within {:.0e}, gradients within {:.0e}",
                found.function.0, found.tensor.0
            )
        }
        Err(error) => format!("refused: {error}"),
    }
}

/// A flag that needs graphics devices may be given: they are in this program.
pub fn check_build(_: &str) -> Result<()> {
    Ok(())
}

/// The launches of a training step, on the device that was asked for. On the processor, those that any
/// graphics device could take.
pub fn explain(new: &NewRun, device: &DeviceArguments) -> Result<String> {
    let gpu = device.graphics()?;
    let processor = Cpu::new(1);
    let device: &dyn Device = gpu.as_ref().map_or(&processor, |gpu| gpu);
    let config = new.prepare(device)?.config;
    let (shape, limits) = (config.shape(), gpu.as_ref().map_or(&DEFAULT_LIMITS, Gpu::limits));
    let (sequences, plan) = plan(&config.model, shape.sequences, shape.context, limits)?;
    let micro_batches = shape.sequences.div_ceil(sequences);
    let flops: f64 = plan.batch(micro_batches).map(|launch| launch.flops).sum();
    let bytes: f64 = plan.batch(micro_batches).map(|launch| launch.bytes).sum();
    Ok(format!(
        "{plan}\n{} x {} in micro-batches of {sequences}: {} launches, {:.2} GFLOP and {:.2} GB a step\n",
        shape.sequences,
        shape.context,
        plan.batch(micro_batches).count(),
        flops / 1e9,
        bytes / 1e9
    ))
}
