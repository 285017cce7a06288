//! What is learned: a network, its parameters, and the tables derived from them,
//! which always belong together.

use crate::error::{Error, Result};
use crate::hooks::Hooks;
use crate::kuramoto::{Kuramoto, Tables, Workspace};
use crate::network::{Network, Pass, SequenceDropout};
use kuramoto_kernels::{AlignedVec, Real};

/// A network with its parameters.
///
/// ```
/// use kuramoto_model::{Kuramoto, KuramotoConfig, Network, NoHooks, Weights};
///
/// # fn main() -> kuramoto_model::Result<()> {
/// let config = KuramotoConfig { vocab: 4, width: 8, layers: 2, ..Default::default() };
/// let weights = Weights::<f32, _>::initialized(Kuramoto::new(config, 16)?, 0);
/// let (tokens, targets) = ([0, 1, 2, 3], [1, 2, 3, 0]);
/// let mut work = weights.workspace();
/// weights.forward(&tokens, &mut work, &mut NoHooks)?;
/// let nats: f64 = weights.losses(&targets, &mut work)?.iter().sum();
/// assert!(nats.is_finite());
/// let mut decoder = weights.decoder();
/// assert_eq!(decoder.push(0)?.len(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Weights<F: Real, N: Network<F>> {
    network: N,
    parameters: AlignedVec<F>,
    tables: N::Tables,
}

impl<F: Real, N: Network<F>> Weights<F, N> {
    /// With these parameters, in the order of the network's layout.
    pub fn new(network: N, parameters: &[F]) -> Result<Self> {
        let (left, right) = (parameters.len(), network.layout().count());
        if left != right {
            return Err(Error::Length { what: "parameters and their layout", left, right });
        }
        let mut weights = Weights::zeros(network);
        weights.edit(|_, own| own.copy_from_slice(parameters));
        Ok(weights)
    }

    /// With the parameters that training starts from.
    pub fn initialized(network: N, seed: u64) -> Self {
        let mut weights = Weights::zeros(network);
        weights.edit(|network, parameters| network.initialize(seed, parameters));
        weights
    }

    fn zeros(network: N) -> Self {
        Weights { parameters: AlignedVec::zeros(network.layout().count()), tables: network.tables(), network }
    }

    /// Bytes it will hold, known before it is made.
    pub fn planned_bytes(network: &N) -> usize {
        network.layout().count() * size_of::<F>() + network.table_bytes()
    }

    /// What these are the parameters of.
    pub fn network(&self) -> &N {
        &self.network
    }

    /// All parameters, in the order of the network's layout.
    pub fn parameters(&self) -> &[F] {
        &self.parameters
    }

    /// One parameter, by its name in weight files; None if the network has no such parameter.
    pub fn parameter(&self, name: &str) -> Option<&[F]> {
        self.network.layout().find(name).map(|tensor| tensor.slot.slice(&self.parameters))
    }

    /// Changes parameters and derives the tables again.
    pub fn edit<R>(&mut self, change: impl FnOnce(&N, &mut [F]) -> R) -> R {
        let result = change(&self.network, &mut self.parameters);
        self.network.prepare(&self.parameters, &mut self.tables);
        result
    }

    /// Room for the activations of one sequence.
    pub fn workspace(&self) -> N::Workspace {
        self.network.workspace()
    }

    fn pass<'a>(&'a self, tokens: &'a [u8], dropout: SequenceDropout) -> Pass<'a, F, N::Tables> {
        Pass { parameters: &self.parameters, tables: &self.tables, tokens, dropout }
    }

    /// Runs one sequence without dropout; `hooks` read and change it. Its logits are left in the workspace.
    pub fn forward(&self, tokens: &[u8], work: &mut N::Workspace, hooks: &mut dyn Hooks<F>) -> Result<()> {
        if tokens.is_empty() {
            return Err(Error::Empty);
        }
        self.network.check(tokens)?;
        self.network.forward(&self.pass(tokens, SequenceDropout::NONE), work, hooks);
        Ok(())
    }

    /// The logits (n x vocab) of the last forward pass.
    pub fn logits(&self, n: usize, work: &N::Workspace) -> Vec<F> {
        self.network.logits(&self.parameters, work, n)
    }

    /// Losses in nats (n) of the last forward pass; uses up its logits.
    pub fn losses<'w>(&self, targets: &[u8], work: &'w mut N::Workspace) -> Result<&'w [f64]> {
        self.network.check(targets)?;
        Ok(self.network.losses(&self.parameters, work, targets))
    }

    /// Runs one sequence forward and backward: its summed loss in nats, and `weight` times the
    /// gradient added to `gradient`, which has room for [`Network::gradient_len`]. Tokens and
    /// targets must have been checked.
    pub fn add_gradient(
        &self,
        tokens: &[u8],
        targets: &[u8],
        dropout: SequenceDropout,
        weight: f64,
        work: &mut N::Workspace,
        gradient: &mut [F],
    ) -> f64 {
        let pass = self.pass(tokens, dropout);
        self.network.forward(&pass, work, &mut crate::hooks::NoHooks);
        self.network.backward(&pass, work, targets, weight, gradient)
    }

    /// Completes a sum of gradients: its first elements are then those of the parameters.
    pub fn finish_gradient(&mut self, gradient: &mut [F]) {
        self.network.finish(&self.parameters, &mut self.tables, gradient);
    }

    /// Decodes one byte at a time.
    pub fn decoder(&self) -> Decoder<'_, F, N> {
        Decoder { weights: self, cache: self.network.cache(), len: 0 }
    }
}

impl<F: Real> Weights<F, Kuramoto>
where
    Kuramoto: Network<F, Tables = Tables<F>, Workspace = Workspace<F>>,
{
    /// As [`forward`](Weights::forward), of which `work` already holds the first `kept` positions: those of
    /// its last pass, with these weights, over a sequence that began with the same `kept` tokens. Hooks get
    /// the rows of the other positions alone. What it leaves does for [`logits`](Weights::logits), not for
    /// gradients.
    pub fn extend(
        &self,
        tokens: &[u8],
        kept: usize,
        work: &mut Workspace<F>,
        hooks: &mut dyn Hooks<F>,
    ) -> Result<()> {
        if tokens.len() <= kept {
            return Err(Error::Empty);
        }
        self.network.check(tokens)?;
        self.network.run_extension(&self.pass(tokens, SequenceDropout::NONE), kept, work, hooks);
        Ok(())
    }
}

impl<F: Real, N: Network<F>> Clone for Weights<F, N> {
    fn clone(&self) -> Self {
        let mut copy = Weights::zeros(self.network.clone());
        copy.edit(|_, parameters| parameters.copy_from_slice(&self.parameters));
        copy
    }
}

/// Decodes one byte at a time, keeping keys and values of the past: no byte is computed
/// twice, nothing is allocated.
pub struct Decoder<'w, F: Real, N: Network<F>> {
    weights: &'w Weights<F, N>,
    cache: N::Cache,
    len: usize,
}

impl<F: Real, N: Network<F>> Decoder<'_, F, N> {
    /// Takes the next token and returns the logits (vocab) of the one after it.
    pub fn push(&mut self, token: u8) -> Result<&[F]> {
        let network = &self.weights.network;
        network.check(&[token])?;
        if self.len == network.context() {
            return Err(Error::TooLong { length: self.len + 1, context: network.context() });
        }
        self.len += 1;
        Ok(network.decode(&self.weights.pass(&[token], SequenceDropout::NONE), self.len - 1, &mut self.cache))
    }

    /// Tokens taken so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True before the first token.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets the past.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}
