//! How many sequences a micro-batch has: as many as fit, known before anything is allocated. It depends on
//! the configuration and the limits alone, so that bits stay.

use crate::arenas::{Mode, ModelPlan, Sizes};
use crate::matrix_units::MatrixUnits;
use crate::plan::{MOST_GROUPS, Plan};
use crate::{kuramoto, transformer};
use kuramoto_engine::{Error, Result};
use kuramoto_model::{Kuramoto, ModelConfig, Transformer};

/// Bytes that an engine may use where nothing else is said: what nearly every graphics card has to spare.
pub const DEFAULT_MEMORY: u64 = 4_096_000_000;

/// What a plan must fit into, and be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one buffer.
    pub largest_buffer: u64,
    /// Bytes of all buffers.
    pub memory: u64,
    /// The matrix units that products run on; None where they run on ordinary ones.
    pub matrix_units: Option<MatrixUnits>,
}

/// One of the two models.
pub(crate) enum Model {
    Kuramoto(Box<Kuramoto>),
    Transformer(Box<Transformer>),
}

/// Runs an expression with whichever network it is.
macro_rules! with_model {
    ($model:expr, |$network:ident| $body:expr) => {
        match $model {
            $crate::memory::Model::Kuramoto(network) => {
                let $network = &**network;
                $body
            }
            $crate::memory::Model::Transformer(network) => {
                let $network = &**network;
                $body
            }
        }
    };
}
pub(crate) use with_model;

/// A plan that fits, and what an engine needs besides.
pub(crate) struct Planned {
    pub model: Model,
    pub sizes: Sizes,
    pub own: ModelPlan,
}

/// What nearly every graphics card offers.
pub const DEFAULT_LIMITS: Limits =
    Limits { largest_buffer: 2 << 30, memory: DEFAULT_MEMORY, matrix_units: None };

/// The plan of a training step, without a device: to print, or to count launches and bytes. Returns how many
/// sequences a micro-batch has, too.
pub fn plan(model: &ModelConfig, sequences: usize, context: usize, limits: &Limits) -> Result<(usize, Plan)> {
    let planned = fit(model, sequences, context, Mode::Training, limits)?;
    Ok((planned.sizes.sequences, planned.own.plan))
}

/// The plan with the fewest micro-batches that fits.
pub(crate) fn fit(
    model: &ModelConfig,
    sequences: usize,
    context: usize,
    mode: Mode,
    limits: &Limits,
) -> Result<Planned> {
    let network = match model {
        ModelConfig::Kuramoto(config) => Model::Kuramoto(Box::new(Kuramoto::new(config.clone(), context)?)),
        ModelConfig::Transformer(config) => {
            Model::Transformer(Box::new(Transformer::new(config.clone(), context)?))
        }
    };
    let mut least = Err(refusal("a batch has no sequences: it must have at least one".into()));
    let mut tried = 0;
    for count in 1..=sequences {
        let together = sequences.div_ceil(count);
        if together == tried {
            continue;
        }
        tried = together;
        let sizes = Sizes {
            sequences: together,
            tokens: context,
            width: model.width(),
            heads: model.heads(),
            layers: model.layers(),
            vocab: model.vocab(),
            mode,
            units: limits.matrix_units,
        };
        least = check_groups(&sizes);
        if least.is_err() {
            continue;
        }
        let own = match &network {
            Model::Kuramoto(network) => kuramoto::plan(network, sizes),
            Model::Transformer(network) => transformer::plan(network, sizes),
        };
        least = check_bytes(&own.plan, limits);
        if least.is_ok() {
            return Ok(Planned { model: network, sizes, own });
        }
    }
    Err(match least {
        Err(error) => error,
        Ok(()) => unreachable!("a plan that fits was returned"),
    })
}

fn refusal(why: String) -> Error {
    Error::Device { device: "graphics device".into(), why }
}

/// Every row of a micro-batch is a workgroup, and so is every head of a sequence.
fn check_groups(sizes: &Sizes) -> Result<()> {
    let most = sizes.rows().max(sizes.sequences * sizes.heads);
    if most <= MOST_GROUPS {
        return Ok(());
    }
    Err(refusal(format!(
        "a sequence of {} tokens and {} heads needs {most} workgroups, and it launches {MOST_GROUPS} at \
         most: take a shorter context or fewer heads",
        sizes.tokens, sizes.heads
    )))
}

fn check_bytes(plan: &Plan, limits: &Limits) -> Result<()> {
    let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
    let (largest, all) = (plan.largest() as u64, plan.bytes() as u64);
    if largest > limits.largest_buffer {
        return Err(refusal(format!(
            "one sequence needs a buffer of {} MB, and {} MB is its largest: take a smaller model or a \
             shorter context",
            megabytes(largest),
            megabytes(limits.largest_buffer)
        )));
    }
    if all > limits.memory {
        return Err(refusal(format!(
            "one sequence needs {} MB, and {} MB are allowed: allow more memory (--device-memory), or take a \
             smaller model or a shorter context",
            megabytes(all),
            megabytes(limits.memory)
        )));
    }
    Ok(())
}
