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
//! - `matrix_units.rs`: the same products on matrix units, where a device has them and they are asked for.
//! - `kuramoto/`, `transformer/`: the plans of both models. An ablation is a choice here, not another shader.
//! - `engine.rs`: batches cut into micro-batches, dropout keys, the optimizer's numbers.
//! - `self_test.rs`: refuses a device that computes wrongly.
//!
//! Sums have a fixed order and no kernel has atomics, so the same device, driver and configuration give the
//! same bits. Dropout masks are those of the processor, bit for bit; what is computed with them is close to
//! it.
//! Plans need no device. What does is behind the feature `wgpu`: `device.rs`, `engine.rs`, `program.rs`,
//! `self_test.rs` and `speed.rs`.
// Without the feature there is not all that the page above leads to.
#![cfg_attr(not(feature = "wgpu"), allow(rustdoc::broken_intra_doc_links))]
// Nor is all used that only engines use.
#![cfg_attr(not(feature = "wgpu"), allow(dead_code, unused_imports, unused_macros))]

mod arenas;
mod builder;
#[cfg(feature = "wgpu")]
mod device;
#[cfg(feature = "wgpu")]
mod engine;
mod kuramoto;
mod matrix;
mod matrix_units;
mod memory;
mod places;
mod plan;
mod product;
#[cfg(feature = "wgpu")]
mod program;
#[cfg(feature = "wgpu")]
mod self_test;
#[cfg(feature = "wgpu")]
mod speed;
mod transformer;
mod webgpu;

#[cfg(feature = "wgpu")]
pub use device::{Adapter, Gpu, Kind, adapters, best};
#[cfg(feature = "wgpu")]
pub use engine::GpuEngine;
pub use matrix_units::MatrixUnits;
pub use memory::{DEFAULT_LIMITS, DEFAULT_MEMORY, Limits, plan};
pub use plan::{Buffer, Kernel, Launch, Launches, Part, Plan};
#[cfg(feature = "wgpu")]
pub use self_test::{Findings, self_test, self_test_of};
#[cfg(feature = "wgpu")]
pub use speed::{CARDS, Card, Speeds};
pub use webgpu::{Page, PageLaunch};
