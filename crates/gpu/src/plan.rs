//! The launch plan: what runs on the device, as data. It is made once from a configuration, without a device,
//! so memory is known and the plan can be printed before anything starts.

use std::fmt;

/// Elements (of four bytes) to which everything that is bound by itself is aligned: 256 bytes, the largest
/// offset alignment that WebGPU allows a device to ask for.
pub const ALIGNMENT: usize = 64;

/// Most workgroups in one direction that every WebGPU device launches.
pub const MOST_GROUPS: usize = 65_535;

/// A buffer that the plan needs.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// What is in it.
    pub name: String,
    /// Elements of four bytes.
    pub len: usize,
    /// A uniform rather than a storage buffer.
    pub uniform: bool,
}

/// A stretch of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which buffer.
    pub buffer: usize,
    /// Its first element, a multiple of 64.
    pub start: usize,
    /// Elements that a launch may reach.
    pub len: usize,
    /// Elements that a launch reads or writes.
    pub touched: usize,
}

impl Part {
    /// From some element on.
    pub fn at(self, start: usize, len: usize) -> Part {
        Part { start: self.start + start, len, touched: len, ..self }
    }
}

/// A compute shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// WGSL.
    pub source: String,
    /// Its function.
    pub entry: String,
}

/// One launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What it computes.
    pub name: String,
    /// Which kernel.
    pub kernel: usize,
    /// Binding numbers and what is bound.
    pub bindings: Vec<(u32, Part)>,
    /// Workgroups.
    pub groups: [u32; 3],
    /// Operations of matrix products, two per multiply-add.
    pub flops: f64,
    /// Bytes that it reads or writes at least.
    pub bytes: f64,
}

/// Launches of a phase of a step, in order.
pub type Launches = Vec<Launch>;

/// All that a model runs.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What is allocated.
    pub buffers: Vec<Buffer>,
    /// Each kernel once.
    pub kernels: Vec<Kernel>,
    /// From tokens to logits, of one micro-batch.
    pub forward: Launches,
    /// Logits to losses, without gradients.
    pub losses: Launches,
    /// Logits to losses and gradients in slabs, of one micro-batch.
    pub backward: Launches,
    /// Slabs to the gradient, once a step.
    pub finish: Launches,
    /// The optimizer.
    pub update: Launches,
}

impl Plan {
    /// Bytes of all buffers.
    pub fn bytes(&self) -> usize {
        self.buffers.iter().map(|buffer| 4 * buffer.len).sum()
    }

    /// Bytes of the largest buffer.
    pub fn largest(&self) -> usize {
        self.buffers.iter().map(|buffer| 4 * buffer.len).max().unwrap_or(0)
    }

    /// Launches of a training step of one micro-batch.
    pub fn step(&self) -> impl Iterator<Item = &Launch> {
        self.batch(1)
    }

    /// Launches of a training step whose batch is cut into so many micro-batches.
    pub fn batch(&self, micro_batches: usize) -> impl Iterator<Item = &Launch> {
        let gradient = (0..micro_batches).flat_map(|_| self.forward.iter().chain(&self.backward));
        gradient.chain(&self.finish).chain(&self.update)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for launch in self.step() {
            let [x, y, z] = launch.groups;
            let groups = format!("{x} x {y} x {z}");
            let (work, traffic) = (launch.flops / 1e9, launch.bytes / 1e6);
            writeln!(f, "{:28} {groups:>20} {work:10.4} GFLOP {traffic:10.3} MB", launch.name)?;
        }
        let (launches, kernels) = (self.step().count(), self.kernels.len());
        let megabytes = self.bytes() as f64 / 1e6;
        write!(
            f,
            "{launches} launches of {kernels} kernels, {megabytes:.1} MB in {} buffers",
            self.buffers.len()
        )
    }
}
