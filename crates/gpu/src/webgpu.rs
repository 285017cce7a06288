//! The forward pass of a Kuramoto model for a web page: buffers, kernels, launches and where everything lies, as
//! JSON that a page's WebGPU can run as it is.

use crate::arenas::Mode;
use crate::memory::{Limits, fit};
use crate::plan::{Launch, Part};
use kuramoto_engine::Result;
use kuramoto_kernels::Dropout;
use kuramoto_model::{Kuramoto, KuramotoConfig};
use serde::Serialize;

/// What every browser's WebGPU offers without being asked for more: buffers of 128 MiB, eight of them a kernel.
const LIMITS: Limits = Limits { largest_buffer: 128 << 20, memory: 1 << 30, matrix_units: None };

/// A plan of one sequence.
#[derive(Debug, Serialize)]
pub struct Page {
    /// Tokens of the longest sequence; rows of every buffer.
    pub context: usize,
    /// h.
    pub heads: usize,
    /// k.
    pub width: usize,
    /// V.
    pub vocab: usize,
    /// Elements of each buffer, and whether it is a uniform one.
    pub buffers: Vec<(usize, bool)>,
    /// WGSL and the name of its function.
    pub kernels: Vec<(String, String)>,
    /// In order.
    pub launches: Vec<PageLaunch>,
    /// Where each tensor of the weights goes: its name, the first element and how many there are, in `parameters`.
    pub tensors: Vec<(String, usize, usize)>,
    /// The buffer of all parameters.
    pub parameters: usize,
    /// The buffer of the tokens, as u32.
    pub tokens: usize,
    /// The uniform buffer of what changes with the text, and its words: the first is the text's length.
    pub batch: (usize, [u32; 5]),
    /// Buffers that are filled once.
    pub constants: Vec<(usize, Vec<f32>)>,
    /// Buffers of the phases (context x k) before each layer and after the last.
    pub states: Vec<usize>,
    /// Buffers of the coupling (heads x context x context) of each layer. What lies after the diagonal means nothing.
    pub couplings: Vec<usize>,
    /// The buffer of the logits (context x V), before their scale.
    pub logits: usize,
}

/// One launch.
#[derive(Debug, Serialize)]
pub struct PageLaunch {
    /// Which kernel.
    pub kernel: usize,
    /// Workgroups.
    pub groups: [u32; 3],
    /// Binding number, buffer, first element and elements.
    pub bindings: Vec<(u32, usize, usize, usize)>,
}

impl From<&Launch> for PageLaunch {
    fn from(launch: &Launch) -> PageLaunch {
        let binding = |(number, part): &(u32, Part)| (*number, part.buffer, part.start, part.len);
        let bindings = launch.bindings.iter().map(binding).collect();
        PageLaunch { kernel: launch.kernel, groups: launch.groups, bindings }
    }
}

impl Page {
    /// The plan of a model for texts up to a context.
    pub fn new(config: &KuramotoConfig, context: usize) -> Result<Page> {
        let network = Kuramoto::new(config.clone(), context)?;
        let planned = fit(&config.clone().into(), 1, context, Mode::Tracing, &LIMITS)?.own;
        let traced = planned.traced.expect("the plan of a Kuramoto model");
        let (plan, arenas) = (planned.plan, planned.arenas);
        let mask = Dropout::new(0.0, 0);
        let whole = |part: &Part| part.buffer;
        let tensors = network.layout().tensors().iter();
        let used = plan.forward.iter().map(|launch| launch.kernel).max().map_or(0, |last| last + 1);
        Ok(Page {
            context,
            heads: config.heads,
            width: config.width,
            vocab: config.vocab,
            buffers: plan.buffers.iter().map(|buffer| (buffer.len, buffer.uniform)).collect(),
            kernels: plan.kernels[..used].iter().map(|own| (own.source.clone(), own.entry.clone())).collect(),
            launches: plan.forward.iter().map(PageLaunch::from).collect(),
            tensors: tensors
                .map(|tensor| (tensor.name.clone(), arenas.places.start(&tensor.name), tensor.slot.len))
                .collect(),
            parameters: arenas.parameters.buffer,
            tokens: arenas.tokens.buffer,
            batch: (
                arenas.batch.buffer,
                [0, 1, mask.threshold(), (mask.scale() as f32).to_bits(), 1f32.to_bits()],
            ),
            constants: planned.constants.into_iter().map(|(part, values)| (part.buffer, values)).collect(),
            states: traced.states.iter().map(whole).collect(),
            couplings: traced.couplings.iter().map(whole).collect(),
            logits: traced.logits.buffer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page may bind eight storage buffers in a kernel, if it does not ask for more.
    #[test]
    fn a_page_needs_no_more_than_every_browser_has() {
        let config = KuramotoConfig { heads: 2, ..Default::default() };
        let page = Page::new(&config, 256).unwrap();
        for launch in &page.launches {
            let storage = launch.bindings.iter().filter(|binding| !page.buffers[binding.1].1).count();
            assert!(storage <= 8, "{} storage buffers", storage);
        }
        assert_eq!(page.states.len(), config.layers + 1);
        let mut all = page.states.clone();
        all.extend(&page.couplings);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2 * config.layers + 1, "a trace keeps every layer");
        let tensors: usize = page.tensors.iter().map(|tensor| tensor.2).sum();
        assert_eq!(tensors, Kuramoto::new(config, 256).unwrap().layout().count());
    }
}
