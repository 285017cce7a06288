//! Training steps on graphics cards, by wgpu (Vulkan, Metal, Direct3D 12) and our own WGSL kernels.
//!
//! [`Gpu`] is a [`Device`](kuramoto_engine::Device) like the processor: it makes engines and evaluators. A
//! model becomes a [`Plan`], which is data: buffers, kernels and launches, made once from the configuration
//! and replayed in every step. [`plan`] makes one without any device, to print or to count.
//!
//! - `kernels/*.wgsl`: one file per operation, its forward and backward pass, with shapes and the paper's
//!   equations.
//!   Lines between `//if` and `//endif` are parts that a configuration has or has not.
//! - `product.rs`, `matrix.rs`: tiled matrix products with register tiles, and what both models use them for.
//! - `kuramoto/`, `transformer/`: the plans of both models. An ablation is a choice here, not another shader.
//! - `engine.rs`: batches cut into micro-batches, dropout keys, the optimizer's numbers.
//! - `self_test.rs`: refuses a device that computes wrongly.
//!
//! Sums have a fixed order and no kernel has atomics, so the same device, driver and configuration give the
//! same bits. Dropout masks are those of the processor, bit for bit; what is computed with them is close to
//! it.
// Without the feature there is nothing for the page above to lead to.
#![cfg_attr(not(feature = "wgpu"), allow(rustdoc::broken_intra_doc_links))]
#![cfg(feature = "wgpu")]

mod arenas;
mod builder;
mod device;
mod engine;
mod kuramoto;
mod matrix;
mod memory;
mod places;
mod plan;
mod product;
mod program;
mod self_test;
mod transformer;

pub use device::{Adapter, Gpu, adapters};
pub use engine::GpuEngine;
pub use memory::{DEFAULT_MEMORY, Limits, plan};
pub use plan::{Buffer, Kernel, Launch, Launches, Part, Plan};
pub use self_test::{Findings, self_test, self_test_of};
