//! The self-test passes on a good device, and notices a wrong kernel.
#![cfg(feature = "wgpu")]
#![allow(clippy::print_stdout)] // measured errors, for whoever runs it with --nocapture

mod common;

use common::device;
use kuramoto_gpu::{Plan, self_test, self_test_of};

#[test]
fn this_device_is_good() {
    let (gpu, _alone) = device();
    println!("{}: {:?}", gpu.name(), self_test(&gpu).unwrap());
}

/// What a wrong driver might do, and the word by which the refusal names it.
#[test]
fn wrong_kernels_are_noticed() {
    let (gpu, _alone) = device();
    let wrong = [
        // The last part of the range reduction is lost, as by a compiler that reorders sums.
        ("-7.549789954891882e-8", "0.0", "sine"),
        // A sine as WGSL allows it.
        ("r + r * z * (-1.6666654611e-1", "r + r * z * (-1.66e-1", "sine"),
        // The clip of the exponential's range is lost.
        ("select(e, 0.0, x < -87.3)", "e + 1e-5", "exponential"),
        // One sign of the tangent.
        (
            "psi[c] * mean[c + K] - psi[c + K] * mean[c]",
            "psi[c] * mean[c + K] + psi[c + K] * mean[c]",
            "gradient",
        ),
        // Dropout keeps everything.
        ("hash(index, key) < batch.threshold", "hash(index, key) > 0xFFFFFFF0u", "gradient"),
        // A product leaves its last row out.
        ("i0 + ti + 0u < m", "i0 + ti + 1u < m", "gradient"),
    ];
    for (right, wrong, named) in wrong {
        let change = |plan: &mut Plan| {
            for kernel in &mut plan.kernels {
                kernel.source = kernel.source.replace(right, wrong);
            }
        };
        let refused = self_test_of(&gpu, &change).map(|_| ()).expect_err(right).to_string();
        println!("{refused}");
        assert!(refused.contains(named), "{right}: {refused}");
    }
}
