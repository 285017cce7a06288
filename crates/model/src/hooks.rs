//! Points at which a forward pass can be read or changed.

/// Called during a forward pass; every method does nothing unless overridden, and then costs nothing.
pub trait Hooks<F> {
    /// The state (n x width) entering layer `layer`; with `layer` = L, the last state.
    fn state(&mut self, _layer: usize, _state: &mut [F]) {}
    /// The state after the attention increment of `layer`.
    fn middle(&mut self, _layer: usize, _state: &mut [F]) {}
    /// The attention of one head (n rows of `stride`), before dropout.
    fn attention(&mut self, _layer: usize, _head: usize, _stride: usize, _attention: &mut [F]) {}
}

/// Nothing is read or changed.
#[derive(Clone, Copy, Debug)]
pub struct NoHooks;

impl<F> Hooks<F> for NoHooks {}
