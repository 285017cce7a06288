//! The named layout of the parameter arena.
//!
//! Parameters lie back to back in one arena, without padding, so its length is the parameter count. Names and
//! shapes are those of the weight files: linear weights are `[out, in]`. Maps that read the same input are
//! adjacent, so that one matrix product serves them: `[wq; wk; wf; wv]` of a gate set, `[gate; up]` of a
//! SwiGLU, `[wq; wk; wv]` of transformer attention.

/// What a parameter is, for weight decay and for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Phases: embeddings and prototypes of the Kuramoto model.
    Phase,
    /// A matrix of a linear map, or a transformer embedding.
    Weight,
    /// What a linear map or a layer norm adds.
    Bias,
    /// A layer-norm scale.
    Norm,
    /// omega of the Kuramoto model, radians per position.
    Rate,
    /// tau, a logarithm of a radius, or the logit scale.
    Scalar,
}

/// A stretch of the arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Index of its first element.
    pub start: usize,
    /// In elements.
    pub len: usize,
}

impl Slot {
    /// Its part of an arena: of parameters, of a gradient, of moments.
    #[inline]
    pub fn slice<'a, F>(&self, arena: &'a [F]) -> &'a [F] {
        &arena[self.start..self.start + self.len]
    }

    /// As [`Slot::slice`], to write.
    #[inline]
    pub fn slice_mut<'a, F>(&self, arena: &'a mut [F]) -> &'a mut [F] {
        &mut arena[self.start..self.start + self.len]
    }

    /// This slot and the one that follows it directly.
    pub(crate) fn join(self, next: Slot) -> Slot {
        debug_assert!(self.len == 0 || next.len == 0 || self.start + self.len == next.start);
        if self.len == 0 { next } else { Slot { start: self.start, len: self.len + next.len } }
    }
}

/// One parameter tensor, row-major in the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Name in weight files.
    pub name: String,
    /// Empty for a scalar.
    pub shape: Vec<usize>,
    /// Where it lies.
    pub slot: Slot,
    /// Decides its weight decay and its start.
    pub kind: ParameterKind,
}

impl Tensor {
    /// True for embeddings and readouts, whose rows belong to one byte of the vocabulary each.
    pub fn has_a_row_per_byte(&self) -> bool {
        matches!(self.name.as_str(), "emb" | "proto" | "head.weight" | "head.bias")
    }

    /// Parts of its name, such as `layers`, `0` and `omega`.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.name.split('.')
    }
}

/// All parameters of a model, in arena order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    tensors: Vec<Tensor>,
    len: usize,
}

impl Layout {
    pub(crate) fn add(&mut self, name: impl Into<String>, shape: &[usize], kind: ParameterKind) -> Slot {
        let slot = Slot { start: self.len, len: shape.iter().product() };
        self.len += slot.len;
        self.tensors.push(Tensor { name: name.into(), shape: shape.to_vec(), slot, kind });
        slot
    }

    /// The parameter count, which is the arena's length.
    pub fn count(&self) -> usize {
        self.len
    }

    /// Every parameter, in arena order.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// By its name in weight files; None if there is no such parameter.
    pub fn find(&self, name: &str) -> Option<&Tensor> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }
}
