//! Named buffers from one list: their allocation and their planned size cannot disagree.

/// Declares a struct of [`AlignedVec`](kuramoto_kernels::AlignedVec)s, each with its
/// length in terms of the sizes.
macro_rules! buffers {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident($sizes:ident: &$Sizes:ty) {
            $($(#[$field_attribute:meta])* $field:ident: $len:expr,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug)]
        $vis struct $name<F> {
            $($(#[$field_attribute])* pub $field: kuramoto_kernels::AlignedVec<F>,)*
        }

        impl<F: kuramoto_kernels::Real> $name<F> {
            pub fn new($sizes: &$Sizes) -> Self {
                $name { $($field: kuramoto_kernels::AlignedVec::zeros($len),)* }
            }

            /// Elements of all buffers together.
            pub fn floats($sizes: &$Sizes) -> usize {
                0 $(+ $len)*
            }
        }
    };
}
pub(crate) use buffers;
