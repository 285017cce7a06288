//! Graphics cards: which there are, and one that is open.

use crate::arenas::Mode;
use crate::engine::GpuEngine;
use crate::matrix_units::MatrixUnits;
use crate::memory::{self, DEFAULT_MEMORY, Limits};
use kuramoto_engine::{Arenas, Device, Engine, Error, Evaluator, Group, Result, Shape, SingleProcess};
use kuramoto_model::ModelConfig;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Storage buffers that the kernel with most of them binds.
const STORAGE_BUFFERS: u32 = 10;
/// Bytes that the tiles of a product share, and threads that compute one: what WebGPU promises everywhere.
const WORKGROUP_BYTES: u32 = 16_384;
const WORKGROUP_THREADS: u32 = 256;

/// Sequences that an evaluation takes at a time, if they fit.
const EVALUATED_TOGETHER: usize = 16;

/// What kind of device an adapter is, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A card with memory of its own.
    Discrete,
    /// Part of the processor, sharing its memory.
    Integrated,
    /// A card of the machine that this virtual one runs on.
    Virtual,
    /// The driver does not say.
    Unknown,
    /// A software renderer: a program that pretends to be a graphics card.
    Software,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Discrete => "discrete",
            Kind::Integrated => "integrated",
            Kind::Virtual => "virtual",
            Kind::Unknown => "unknown",
            Kind::Software => "software",
        })
    }
}

/// A device of this machine.
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
    /// What kind of device it is.
    pub kind: Kind,
    /// Largest buffer in bytes.
    pub largest_buffer: u64,
    /// Storage buffers that a kernel may bind.
    pub storage_buffers: u32,
    /// Bytes of memory that a workgroup may share.
    pub workgroup_bytes: u32,
    /// Threads of a workgroup.
    pub workgroup_threads: u32,
    /// Matrix units that products can run on, if it has them.
    pub matrix_units: Option<MatrixUnits>,
    /// What it lacks to be used, if anything.
    pub lacks: Option<String>,
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.name, self.backend, self.driver)
    }
}

/// Why there is nothing to open.
const NONE: &str = "this machine has no graphics device for Vulkan, Metal or Direct3D 12: install its driver, or \
                    train on the processor";

const NO_MATRIX_UNITS: &str = "it has no matrix units that multiply square matrices of f16 and sum in f32, or \
                               its driver does not offer them: train without them";

fn found() -> Vec<wgpu::Adapter> {
    let mut how = wgpu::InstanceDescriptor::new_without_display_handle();
    how.flags = how.flags.with_env();
    let instance = wgpu::Instance::new(how);
    pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()))
}

fn describe(index: usize, adapter: &wgpu::Adapter) -> Adapter {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    let needed = [
        ("buffers of a kernel", limits.max_storage_buffers_per_shader_stage, STORAGE_BUFFERS),
        ("bytes of workgroup memory", limits.max_compute_workgroup_storage_size, WORKGROUP_BYTES),
        ("threads of a workgroup", limits.max_compute_invocations_per_workgroup, WORKGROUP_THREADS),
    ];
    let lacking = needed.into_iter().find(|(_, offered, needed)| offered < needed);
    Adapter {
        index,
        name: info.name,
        backend: info.backend.to_string(),
        driver: format!("{} {}", info.driver, info.driver_info).trim().into(),
        kind: match info.device_type {
            wgpu::DeviceType::DiscreteGpu => Kind::Discrete,
            wgpu::DeviceType::IntegratedGpu => Kind::Integrated,
            wgpu::DeviceType::VirtualGpu => Kind::Virtual,
            wgpu::DeviceType::Other => Kind::Unknown,
            wgpu::DeviceType::Cpu => Kind::Software,
        },
        largest_buffer: limits.max_buffer_size.min(limits.max_storage_buffer_binding_size),
        storage_buffers: limits.max_storage_buffers_per_shader_stage,
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        workgroup_threads: limits.max_compute_invocations_per_workgroup,
        matrix_units: MatrixUnits::of(adapter),
        lacks: lacking.map(|(what, offered, needed)| {
            format!("it offers {offered} {what}, and {needed} are needed: use another device")
        }),
    }
}

/// All devices of this machine.
pub fn adapters() -> Vec<Adapter> {
    found().iter().enumerate().map(|(index, adapter)| describe(index, adapter)).collect()
}

/// The device to use where none is named: a card before what shares the processor's memory, before a
/// software renderer.
pub fn best(adapters: &[Adapter]) -> Option<&Adapter> {
    adapters.iter().filter(|adapter| adapter.lacks.is_none()).min_by_key(|adapter| adapter.kind)
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
    kind: Kind,
    index: usize,
}

impl Gpu {
    /// Opens a device of [`adapters`].
    pub fn open(index: usize) -> Result<Gpu> {
        Gpu::open_with(index, false)
    }

    /// Has products run on matrix units, or not: a device is opened with or without them, so this opens it
    /// once more. Results are as accurate, but have other bits, and the device's name says so.
    pub fn with_matrix_units(self, on: bool) -> Result<Gpu> {
        if self.limits.matrix_units.is_some() == on {
            return Ok(self);
        }
        Ok(Gpu::open_with(self.index, on)?.with_memory(self.limits.memory))
    }

    fn open_with(index: usize, asked: bool) -> Result<Gpu> {
        let all = found();
        let Some(adapter) = all.get(index) else {
            let why = match all.len() {
                0 => NONE.into(),
                1 => "there is no such device: gpu:0 is the only one".into(),
                count => format!("there is no such device: they are gpu:0 to gpu:{}", count - 1),
            };
            return Err(Error::Device { device: format!("gpu:{index}"), why });
        };
        let description = describe(index, adapter);
        let matrix_units = description.matrix_units.filter(|_| asked);
        let name = match matrix_units {
            Some(_) => format!("{description}, matrix units"),
            None => description.to_string(),
        };
        let refused = |why: String| Err(Error::Device { device: name.clone(), why });
        if let Some(lacks) = description.lacks {
            return refused(lacks);
        }
        if asked && matrix_units.is_none() {
            return refused(NO_MATRIX_UNITS.into());
        }
        let offered = adapter.limits();
        let mut request = wgpu::DeviceDescriptor {
            required_limits: wgpu::Limits {
                max_storage_buffers_per_shader_stage: STORAGE_BUFFERS,
                max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
                max_buffer_size: offered.max_buffer_size,
                ..wgpu::Limits::default()
            },
            ..Default::default()
        };
        if let Some(units) = matrix_units {
            request.required_limits.max_compute_workgroup_storage_size =
                units.workgroup_bytes().max(request.required_limits.max_compute_workgroup_storage_size);
            request.required_features = MatrixUnits::features();
            // SAFETY: what is experimental is their definition and its validation: the kernels keep to what
            // Vulkan asks for (whole subgroups, aligned rows within workgroup memory), and the self-test runs
            // them.
            request.experimental_features = unsafe { wgpu::ExperimentalFeatures::enabled() };
        }
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
            wgpu::Error::OutOfMemory { .. } => on_error(
                "its memory is full: close other programs, or allow less memory (--device-memory)".into(),
            ),
            error => on_error(format!("it failed: {error}")),
        }));
        device.set_device_lost_callback(move |_, message| {
            let message = message.trim_end_matches(['.', '!']);
            on_loss(format!("the device was lost ({message}): resume from the last checkpoint"));
        });
        // Kernels count elements and bytes in 32 bits.
        let largest_buffer = description.largest_buffer.min(u64::from(u32::MAX));
        let limits = Limits { largest_buffer, memory: DEFAULT_MEMORY, matrix_units };
        let opened = Opened { name, device, queue, failure };
        Ok(Gpu { opened: Arc::new(opened), limits, kind: description.kind, index })
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

    /// What kind of device it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What plans are made for.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes the device away from everything that uses it, as a driver does that resets itself.
    pub fn lose(&self) {
        self.opened.device.destroy();
        // The loss is reported at the next poll.
        self.opened.device.poll(wgpu::PollType::Poll).ok();
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
        Ok(planned.own.plan.bytes())
    }

    fn evaluation_bytes(&self, model: &ModelConfig, context: usize) -> Result<usize> {
        let planned = memory::fit(model, EVALUATED_TOGETHER, context, Mode::Evaluation, &self.limits)
            .map_err(|error| self.named(error))?;
        Ok(planned.own.plan.bytes())
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

    fn uses_main_memory(&self) -> bool {
        matches!(self.kind, Kind::Integrated | Kind::Software)
    }
}
