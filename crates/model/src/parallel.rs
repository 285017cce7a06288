//! Independent work on several cores, if the feature `parallel` is on and a thread pool is there.

/// Does `each` for every pair of items.
#[cfg(feature = "parallel")]
pub(crate) fn for_each_pair<A: Send, B: Sync>(
    left: &mut [A],
    right: &[B],
    each: impl Fn(&mut A, &B) + Send + Sync,
) {
    use rayon::prelude::*;
    left.par_iter_mut().zip(right).for_each(|(a, b)| each(a, b));
}

/// Does `each` for every pair of items.
#[cfg(not(feature = "parallel"))]
pub(crate) fn for_each_pair<A, B>(left: &mut [A], right: &[B], each: impl Fn(&mut A, &B)) {
    left.iter_mut().zip(right).for_each(|(a, b)| each(a, b));
}
