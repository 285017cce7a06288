//! The self-test passes on a good device, and notices a wrong kernel.
#![cfg(feature = "wgpu")]
#![allow(clippy::print_stdout)] // measured errors, for whoever runs it with --nocapture

mod common;

use common::{device, with_and_without_units};
use kuramoto_gpu::{Gpu, Plan, adapters, self_test, self_test_of};

#[test]
fn this_device_is_good() {
    let (gpus, _alone) = with_and_without_units();
    for gpu in gpus {
        println!("{}: {:?}", gpu.name(), self_test(&gpu).unwrap());
    }
}

/// Changes a kernel, as a wrong driver might; the refusal must name what is wrong.
fn assert_noticed(gpu: &Gpu, wrong: &[(&str, &str, &str)]) {
    for (right, wrong, named) in wrong {
        let change = |plan: &mut Plan| {
            for kernel in &mut plan.kernels {
                kernel.source = kernel.source.replace(right, wrong);
            }
        };
        let refused = self_test_of(gpu, &change).map(|_| ()).expect_err(right).to_string();
        println!("{refused}");
        assert!(refused.contains(named), "{right}: {refused}");
    }
}

#[test]
fn wrong_kernels_are_noticed() {
    let (gpu, _alone) = device();
    // What is changed, and the word by which the refusal names it.
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
        ("i0 + ti + 0u < m", "i0 + ti + 1u < m", "product"),
    ];
    assert_noticed(&gpu, &wrong);
}

#[test]
fn wrong_matrix_units_are_noticed() {
    let (gpus, _alone) = with_and_without_units();
    let Some(gpu) = gpus.get(1) else { return };
    let wrong = [
        // One f16 instead of two.
        ("f16(leading((x - high) * 2048.0))", "f16(0.0)", "product"),
        ("sum0_0 = coopMultiplyAdd(low_a0_0, high_b0_0, sum0_0);", "", "product"),
        // What is beyond the range of f16, and what is far below.
        ("let scales_a = scales(top.x);", "let scales_a = vec2<f32>(1.0);", "product"),
        ("let scales_b = scales(top.y);", "let scales_b = vec2<f32>(1.0);", "product"),
        // The largest of a tile's elements is that of one subgroup.
        ("top = max(top, tops[s]);", "top = tops[s];", "product"),
        // A matrix is stored twice, and its neighbour never.
        ("* 2u + 1u) * 8u + e % 64u / 8u", "* 2u + 0u) * 8u + e % 64u / 8u", "product"),
        // The gradient of a bias.
        ("row_sums[x] + sum", "sum", "gradient"),
    ];
    assert_noticed(gpu, &wrong);
}

#[test]
fn matrix_units_are_asked_for() {
    let (gpu, _alone) = device();
    let name = gpu.name().to_string();
    assert!(gpu.limits().matrix_units.is_none());
    let adapter = adapters().into_iter().find(|adapter| adapter.to_string() == name).unwrap();
    match (adapter.matrix_units, gpu.with_matrix_units(true)) {
        (Some(units), Ok(gpu)) => {
            assert_eq!(gpu.limits().matrix_units, Some(units));
            assert_eq!(gpu.name(), format!("{name}, matrix units"));
            assert_eq!(gpu.with_matrix_units(false).unwrap().name(), name);
        }
        (None, Err(refused)) => {
            let refused = refused.to_string();
            assert!(refused.contains(&name) && refused.contains("train without them"), "{refused}");
        }
        (units, _) => panic!("{name} has {units:?}, and was not opened so"),
    }
}
