//! Graphics cards: which there are, and one that is open.

use crate::engine::GpuEngine;
use crate::memory::{self, DEFAULT_MEMORY, Limits, Mode};
use kuramoto_engine::{Arenas, Device, Engine, Error, Evaluator, Group, Result, Shape, SingleProcess};
use kuramoto_model::ModelConfig;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Storage buffers that the kernel with most of them binds.
const STORAGE_BUFFERS: u32 = 10;

/// Sequences that an evaluation takes at a time, if they fit.
const EVALUATED_TOGETHER: usize = 16;

/// A device that could be opened.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// For [`Gpu::open`].
    pub index: usize,
    /// As its driver calls it.
    pub name: String,
    /// Vulkan, Metal or Direct3D 12.
    pub backend: String,
    /// The driver and its version.
    pub driver: String,
    /// True for a program that pretends to be a graphics card.
    pub software: bool,
    /// Largest buffer in bytes.
    pub largest_buffer: u64,
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.name, self.backend, self.driver)
    }
}

fn found() -> Vec<wgpu::Adapter> {
    let mut how = wgpu::InstanceDescriptor::new_without_display_handle();
    how.flags = how.flags.with_env();
    let instance = wgpu::Instance::new(how);
    pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()))
}

fn describe(index: usize, adapter: &wgpu::Adapter) -> Adapter {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    Adapter {
        index,
        name: info.name,
        backend: info.backend.to_string(),
        driver: format!("{} {}", info.driver, info.driver_info).trim().into(),
        software: info.device_type == wgpu::DeviceType::Cpu,
        largest_buffer: limits.max_buffer_size.min(limits.max_storage_buffer_binding_size),
    }
}

/// All devices of this machine.
pub fn adapters() -> Vec<Adapter> {
    found().iter().enumerate().map(|(index, adapter)| describe(index, adapter)).collect()
}

/// An open device, and what went wrong on it.
pub(crate) struct Opened {
    pub name: String,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    failure: Arc<Mutex<Option<String>>>,
}

impl Opened {
    /// An error of this device.
    pub fn error(&self, why: impl Into<String>) -> Error {
        Error::Device { device: self.name.clone(), why: why.into() }
    }

    /// Fails if anything went wrong since the device was opened: nothing it computes can be trusted then.
    pub fn check(&self) -> Result<()> {
        match &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(why) => Err(self.error(why.clone())),
            None => Ok(()),
        }
    }
}

/// A graphics card, to train and evaluate on.
#[derive(Clone)]
pub struct Gpu {
    opened: Arc<Opened>,
    limits: Limits,
}

impl Gpu {
    /// Opens a device of [`adapters`].
    pub fn open(index: usize) -> Result<Gpu> {
        let all = found();
        let Some(adapter) = all.get(index) else {
            let why = match all.len() {
                0 => "this machine has no graphics device for Vulkan, Metal or Direct3D 12: install its \
                      driver, or train on the processor"
                    .into(),
                count => format!("there are {count}: choose from 0 to {}", count - 1),
            };
            return Err(Error::Device { device: format!("graphics device {index}"), why });
        };
        let description = describe(index, adapter);
        let refused = |why: String| Err(Error::Device { device: description.to_string(), why });
        let offered = adapter.limits();
        if offered.max_storage_buffers_per_shader_stage < STORAGE_BUFFERS {
            let count = offered.max_storage_buffers_per_shader_stage;
            return refused(format!(
                "a kernel may use {count} buffers and needs {STORAGE_BUFFERS}: use another device"
            ));
        }
        let required_limits = wgpu::Limits {
            max_storage_buffers_per_shader_stage: STORAGE_BUFFERS,
            max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
            max_buffer_size: offered.max_buffer_size,
            ..wgpu::Limits::default()
        };
        let request = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        let (device, queue) = match pollster::block_on(adapter.request_device(&request)) {
            Ok(opened) => opened,
            Err(error) => return refused(format!("it cannot be opened ({error}): use another device")),
        };
        let failure = Arc::new(Mutex::new(None));
        let keep = |failure: &Arc<Mutex<Option<String>>>| {
            let failure = failure.clone();
            move |why: String| {
                // The first failure is the cause of those that follow.
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
            }
        };
        let (on_error, on_loss) = (keep(&failure), keep(&failure));
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| match error {
            wgpu::Error::OutOfMemory { .. } => {
                on_error("its memory is full: close other programs, or allow it less memory".into())
            }
            error => on_error(format!("it failed: {error}")),
        }));
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                on_loss(format!("the device was lost ({message}): resume from the last checkpoint"));
            }
        });
        // Kernels count elements and bytes in 32 bits.
        let largest_buffer = description.largest_buffer.min(u64::from(u32::MAX));
        let limits = Limits { largest_buffer, memory: DEFAULT_MEMORY };
        let opened = Opened { name: description.to_string(), device, queue, failure };
        Ok(Gpu { opened: Arc::new(opened), limits })
    }

    /// Allows engines so many bytes. Batches that need more are cut into micro-batches, which changes
    /// roundings.
    pub fn with_memory(self, bytes: u64) -> Gpu {
        Gpu { limits: Limits { memory: bytes, ..self.limits }, ..self }
    }

    /// Its name and driver.
    pub fn name(&self) -> &str {
        &self.opened.name
    }

    /// What plans are made for.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn opened(&self) -> &Arc<Opened> {
        &self.opened
    }

    /// An engine, with access to its plan and its gradient.
    pub fn gpu_engine(&self, model: &ModelConfig, shape: &Shape) -> Result<GpuEngine> {
        let planned = memory::fit(model, shape.sequences, shape.context, Mode::Training, &self.limits)
            .map_err(|error| self.named(error))?;
        GpuEngine::new(self.opened.clone(), planned)
    }

    /// Errors of a plan do not know the device.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::Device { why, .. } => self.opened.error(why),
            error => error,
        }
    }
}

impl Device for Gpu {
    fn planned_bytes(&self, model: &ModelConfig, shape: &Shape) -> Result<usize> {
        let planned = memory::fit(model, shape.sequences, shape.context, Mode::Training, &self.limits)
            .map_err(|error| self.named(error))?;
        Ok(planned.plan.bytes())
    }

    fn evaluation_bytes(&self, model: &ModelConfig, context: usize) -> Result<usize> {
        let planned = memory::fit(model, EVALUATED_TOGETHER, context, Mode::Evaluation, &self.limits)
            .map_err(|error| self.named(error))?;
        Ok(planned.plan.bytes())
    }

    fn engine(&self, model: &ModelConfig, shape: &Shape) -> Result<Box<dyn Engine>> {
        Ok(Box::new(self.gpu_engine(model, shape)?))
    }

    fn evaluator(
        &self,
        model: &ModelConfig,
        context: usize,
        parameters: &[f32],
    ) -> Result<Box<dyn Evaluator>> {
        let planned = memory::fit(model, EVALUATED_TOGETHER, context, Mode::Evaluation, &self.limits)
            .map_err(|error| self.named(error))?;
        let mut engine = GpuEngine::new(self.opened.clone(), planned)?;
        engine.load(Some(Arenas { parameters, moments: None }))?;
        Ok(Box::new(engine))
    }

    fn group(&self) -> Arc<dyn Group> {
        Arc::new(SingleProcess)
    }

    fn threads(&self, _: &Shape) -> usize {
        1
    }
}
