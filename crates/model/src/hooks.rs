//! Points at which a forward pass can be read or changed.

/// The gates of a Kuramoto layer (n x k each), to read and change; one that the configuration does not have is
/// empty.
#[derive(Debug)]
pub struct Gates<'a, F> {
    /// k, oscillators.
    pub width: usize,
    /// g^q of Equation (1).
    pub query: &'a mut [F],
    /// g^k of Equation (1).
    pub key: &'a mut [F],
    /// v of Equation (1), in rows of `value_stride`.
    pub value: &'a mut [F],
    /// Distance between rows of `value`.
    pub value_stride: usize,
    /// omega (k) if values drift too; else empty.
    pub value_drift: &'a [F],
}

/// Called during a forward pass; every method does nothing unless overridden, and then costs nothing.
pub trait Hooks<F> {
    /// True if `state(0, ..)` may change the state. The first Kuramoto layer then computes from the state
    /// what it otherwise looks up by byte.
    fn changes_input(&self) -> bool {
        false
    }
    /// The state (n x width) entering layer `layer`; with `layer` = L, the last state.
    fn state(&mut self, _layer: usize, _state: &mut [F]) {}
    /// What gates a Kuramoto layer computed; a transformer layer has none.
    fn gates(&mut self, _layer: usize, _gates: &mut Gates<'_, F>) {}
    /// The attention of one head (n rows of `stride`), before dropout. Entries above
    /// the diagonal must stay zero.
    fn attention(&mut self, _layer: usize, _head: usize, _stride: usize, _attention: &mut [F]) {}
    /// The state after the attention increment of `layer`.
    fn middle(&mut self, _layer: usize, _state: &mut [F]) {}
}

/// Nothing is read or changed.
#[derive(Clone, Copy, Debug)]
pub struct NoHooks;

impl<F> Hooks<F> for NoHooks {}

impl<F, H: Hooks<F>> Hooks<F> for &mut H {
    fn changes_input(&self) -> bool {
        (**self).changes_input()
    }
    fn state(&mut self, layer: usize, state: &mut [F]) {
        (**self).state(layer, state);
    }
    fn gates(&mut self, layer: usize, gates: &mut Gates<'_, F>) {
        (**self).gates(layer, gates);
    }
    fn attention(&mut self, layer: usize, head: usize, stride: usize, attention: &mut [F]) {
        (**self).attention(layer, head, stride, attention);
    }
    fn middle(&mut self, layer: usize, state: &mut [F]) {
        (**self).middle(layer, state);
    }
}
