//! A plan on a device: its buffers, pipelines and bind groups, made once and replayed.

use crate::device::Opened;
use crate::plan::{Launch, Part, Plan};
use kuramoto_engine::Result;
use std::sync::Arc;

/// A launch that is ready.
struct Prepared {
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
    groups: [u32; 3],
}

/// Launches that are ready.
pub struct Phase(Vec<Prepared>);

/// Everything of a plan, on a device.
pub struct Program {
    opened: Arc<Opened>,
    buffers: Vec<wgpu::Buffer>,
    /// Where results are copied to be read.
    staging: wgpu::Buffer,
    /// The plan's phases.
    pub forward: Phase,
    /// See [`Plan::losses`].
    pub losses: Phase,
    /// See [`Plan::backward`].
    pub backward: Phase,
    /// See [`Plan::finish`].
    pub finish: Phase,
    /// See [`Plan::update`].
    pub update: Phase,
}

impl Program {
    /// Allocates and compiles all of a plan; at most `read` elements are read at a time.
    pub fn new(opened: Arc<Opened>, plan: &Plan, read: usize) -> Result<Program> {
        opened.check()?;
        let device = &opened.device;
        let full = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let make = |name: &str, len: usize, usage: wgpu::BufferUsages| {
            let (label, size) = (Some(name), 4 * len as u64);
            device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
        };
        let buffers: Vec<_> = plan
            .buffers
            .iter()
            .map(|buffer| {
                let kind =
                    if buffer.uniform { wgpu::BufferUsages::UNIFORM } else { wgpu::BufferUsages::STORAGE };
                make(&buffer.name, buffer.len, usage | kind)
            })
            .collect();
        let staging = make("read back", read, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        if pollster::block_on(full.pop()).is_some() {
            let megabytes = plan.bytes().div_ceil(1_000_000);
            return Err(opened.error(format!(
                "its memory has no room for {megabytes} MB: close other programs, or allow less memory (--device-memory), \
                 and batches are cut smaller"
            )));
        }
        let pipelines: Vec<_> = plan.kernels.iter().map(|kernel| compile(device, kernel)).collect();
        let prepare = |launch: &Launch| {
            let pipeline = pipelines[launch.kernel].clone();
            let entry = |(binding, part): &(u32, Part)| wgpu::BindGroupEntry {
                binding: *binding,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &buffers[part.buffer],
                    offset: 4 * part.start as u64,
                    size: std::num::NonZeroU64::new(4 * part.len as u64),
                }),
            };
            let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(&launch.name),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &launch.bindings.iter().map(entry).collect::<Vec<_>>(),
            });
            Prepared { pipeline, bindings, groups: launch.groups }
        };
        let phase = |launches: &[Launch]| Phase(launches.iter().map(prepare).collect());
        let (forward, losses, backward) = (phase(&plan.forward), phase(&plan.losses), phase(&plan.backward));
        let (finish, update) = (phase(&plan.finish), phase(&plan.update));
        opened.check()?;
        Ok(Program { opened, buffers, staging, forward, losses, backward, finish, update })
    }

    /// Writes to the start of a part, before the next phases run.
    pub fn write<T: bytemuck::NoUninit>(&self, part: Part, values: &[T]) {
        let bytes = bytemuck::cast_slice(values);
        debug_assert!(bytes.len() <= 4 * part.len, "a write stays within its part");
        self.opened.queue.write_buffer(&self.buffers[part.buffer], 4 * part.start as u64, bytes);
    }

    /// Sets parts to zero, then runs phases in order.
    pub fn run(&self, cleared: &[Part], phases: &[&Phase]) {
        let mut encoder = self.opened.device.create_command_encoder(&Default::default());
        for part in cleared {
            encoder.clear_buffer(
                &self.buffers[part.buffer],
                4 * part.start as u64,
                Some(4 * part.len as u64),
            );
        }
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for launch in phases.iter().flat_map(|phase| &phase.0) {
            pass.set_pipeline(&launch.pipeline);
            pass.set_bind_group(0, &launch.bindings, &[]);
            let [x, y, z] = launch.groups;
            pass.dispatch_workgroups(x, y, z);
        }
        drop(pass);
        self.opened.queue.submit([encoder.finish()]);
    }

    /// Waits for all that runs, and reads parts.
    pub fn read<const N: usize>(&self, parts: [Part; N]) -> Result<[Vec<f32>; N]> {
        let mut encoder = self.opened.device.create_command_encoder(&Default::default());
        let mut end = 0;
        for part in parts {
            let (from, size) = (4 * part.start as u64, 4 * part.len as u64);
            encoder.copy_buffer_to_buffer(&self.buffers[part.buffer], from, &self.staging, end, size);
            end += size;
        }
        self.opened.queue.submit([encoder.finish()]);
        let slice = self.staging.slice(..end);
        slice.map_async(wgpu::MapMode::Read, |_| {});
        let waited = self.opened.device.poll(wgpu::PollType::wait_indefinitely());
        self.opened.check()?;
        if let Err(error) = waited {
            return Err(self
                .opened
                .error(format!("it does not finish ({error}): resume from the last checkpoint")));
        }
        let view = match slice.get_mapped_range() {
            Ok(view) => view,
            Err(error) => return Err(self.opened.error(format!("its results cannot be read ({error})"))),
        };
        let mut values: &[f32] = bytemuck::cast_slice(&view);
        let read = parts.map(|part| {
            let (own, rest) = values.split_at(part.len);
            values = rest;
            own.to_vec()
        });
        drop(view);
        self.staging.unmap();
        Ok(read)
    }

    /// The device.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }
}

fn compile(device: &wgpu::Device, kernel: &crate::plan::Kernel) -> wgpu::ComputePipeline {
    let source = wgpu::ShaderSource::Wgsl(kernel.source.as_str().into());
    let descriptor = wgpu::ShaderModuleDescriptor { label: Some(&kernel.entry), source };
    // SAFETY: every loop of a kernel counts to a constant or to a length that the engine checks, and every
    // index is below the length of its part: rows come from the workgroups of the plan, columns are compared
    // with their count, tokens are checked by the engine. Bounding loops again made one kernel 140 times
    // slower on a software device.
    let module =
        unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) };
    let compilation_options =
        wgpu::PipelineCompilationOptions { zero_initialize_workgroup_memory: false, ..Default::default() };
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(&kernel.entry),
        layout: None,
        module: &module,
        entry_point: Some(&kernel.entry),
        compilation_options,
        cache: None,
    })
}
