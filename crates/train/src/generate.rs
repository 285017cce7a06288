//! Writing on from a prompt, byte by byte.

use crate::error::Result;
use crate::memory;
use crate::run::{Run, Which};
pub use kuramoto_model::corpus::default_prompt;
pub use kuramoto_model::sampling::{Drawer, Sampling, write_on};
use kuramoto_model::{Weights, with_network};

/// Writes `bytes` bytes after `prompt`, handing each to `write` as it comes, until `write` says false. When
/// the context is full, the model goes on with the second half of it.
pub fn generate(
    run: &Run,
    which: Which,
    prompt: &[u8],
    bytes: usize,
    sampling: &Sampling,
    write: &mut dyn FnMut(u8) -> bool,
) -> Result<()> {
    sampling.check()?;
    let history = run.corpus().encode("prompt", prompt)?;
    let mut write_token = |token: u8| write(run.corpus().vocabulary[usize::from(token)]);
    with_network!(&run.config().model, run.config().batch.context, |network| {
        let (model, context) = (&run.config().model, run.config().batch.context);
        // What is kept of the bytes so far: keys and values, each of at most two numbers a channel.
        let cache = 4 * size_of::<f32>() * context * model.layers() * model.width();
        let planned = Weights::<f32, _>::planned_bytes(&network) + cache;
        memory::check("generation", planned as u64, memory::SMALLER)?;
        let parameters = run.load(which, network.layout())?.parameters;
        let weights = Weights::<f32, _>::new(network, &parameters)?;
        Ok(write_on(&weights, history, bytes, sampling, &mut write_token)?)
    })
}
