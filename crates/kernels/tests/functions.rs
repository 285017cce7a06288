//! Accuracy of the elementary functions over the whole range they see, on every
//! instruction set this machine has.

use kuramoto_kernels::arch::{self, Level};
use kuramoto_kernels::real::map;
use std::sync::Mutex;

/// The level is one for the whole process: tests that set it take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `test` at every level this machine has.
fn at_every_level(test: impl Fn(Level)) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for wanted in [Level::Portable, Level::Avx2, Level::Avx512] {
        if arch::limit(wanted) == wanted {
            test(wanted);
        }
    }
    arch::limit(Level::Avx512);
}

type Function = (&'static str, fn(&[f32], &mut [f32]), fn(f64) -> f64);

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

const FUNCTIONS: [Function; 5] = [
    ("exp", map::exp::<f32>, f64::exp),
    ("tanh", map::tanh::<f32>, f64::tanh),
    ("softplus", map::softplus::<f32>, softplus),
    ("sigmoid", map::sigmoid::<f32>, sigmoid),
    ("silu", map::silu::<f32>, |x| x * sigmoid(x)),
];

/// Dense near zero, then out to `edge`, both signs.
fn range(edge: f32) -> Vec<f32> {
    let n = 400_000;
    let linear = (-n..=n).map(|i| edge * i as f32 / n as f32);
    let small = (0..=n).flat_map(|i| {
        let x = (edge.ln() * i as f32 / n as f32 - 20.0 * (1.0 - i as f32 / n as f32)).exp();
        [x, -x]
    });
    linear.chain(small).collect()
}

/// Distance in units of the last place of the exact value, or of the smallest normal number.
fn ulps(got: f32, exact: f64) -> f64 {
    let place = f64::from(f32::EPSILON) * exact.abs().max(f64::from(f32::MIN_POSITIVE));
    (f64::from(got) - exact).abs() / place
}

#[test]
fn functions_are_accurate() {
    at_every_level(|level| {
        for (name, f, exact) in FUNCTIONS {
            let x = range(if name == "exp" { 87.0 } else { 60.0 });
            let mut y = vec![0.0; x.len()];
            f(&x, &mut y);
            let worst = x
                .iter()
                .zip(&y)
                .map(|(&x, &y)| (ulps(y, exact(f64::from(x))), x))
                .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
            assert!(worst.0 < 4.0, "{name} at {}: {} ulp with {level:?}", worst.1, worst.0);
        }
    });
}

#[test]
fn sine_and_cosine_of_large_angles() {
    at_every_level(|level| {
        // |theta| up to 1e4 is what unwrapped phases reach; a million leaves room.
        for edge in [std::f32::consts::PI, 100.0, 1e4, 1e6] {
            let x = range(edge);
            let (mut cos, mut sin) = (vec![0.0; x.len()], vec![0.0; x.len()]);
            map::sin_cos(&x, &mut cos, &mut sin);
            for ((&x, &c), &s) in x.iter().zip(&cos).zip(&sin) {
                let (exact_s, exact_c) = f64::from(x).sin_cos();
                let worst = (f64::from(c) - exact_c).abs().max((f64::from(s) - exact_s).abs());
                assert!(worst < 1.5e-7, "sin_cos({x}) is off by {worst:e} with {level:?}");
            }
        }
    });
}

#[test]
fn small_angles_keep_their_relative_accuracy() {
    at_every_level(|level| {
        let x: Vec<f32> = (1..1000).map(|i| i as f32 * 1e-6).collect();
        let (mut cos, mut sin) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        map::sin_cos(&x, &mut cos, &mut sin);
        for (&x, &s) in x.iter().zip(&sin) {
            assert!(ulps(s, f64::from(x).sin()) < 2.0, "sin({x}) = {s} with {level:?}");
        }
    });
}

#[test]
fn infinities_nan_and_extremes() {
    let inf = f32::INFINITY;
    let x = [inf, -inf, f32::NAN, 0.0, -0.0, 1e30, -1e30, f32::MIN_POSITIVE, 1e-42, 100.0, -100.0];
    at_every_level(|level| {
        for (name, f, exact) in FUNCTIONS {
            let mut y = [0.0; 11];
            f(&x, &mut y);
            for (&x, &y) in x.iter().zip(&y) {
                let limit = if name == "silu" && x < -80.0 { 0.0 } else { exact(f64::from(x)) };
                let same = match limit as f32 {
                    limit if limit.is_nan() => y.is_nan(),
                    limit if limit.is_infinite() => y == limit,
                    // Below the smallest normal number only the size matters; silu multiplies that by x.
                    _ => {
                        (f64::from(y) - limit).abs()
                            <= 1e-6 * limit.abs() + 2e-38 * f64::from(x.abs()).max(1.0)
                    }
                };
                assert!(same, "{name}({x}) = {y}, expected {limit} with {level:?}");
            }
        }
        let (mut cos, mut sin) = ([0.0; 3], [0.0; 3]);
        map::sin_cos(&x[..3], &mut cos, &mut sin);
        assert!(
            cos.iter().chain(&sin).all(|y| y.is_nan()),
            "sin_cos of infinities and NaN is NaN with {level:?}"
        );
    });
}

#[test]
fn f64_functions_agree_with_the_standard_library() {
    let x: Vec<f64> = (-4000..=4000).map(|i| f64::from(i) * 0.01).collect();
    let mut y = vec![0.0; x.len()];
    map::softplus(&x, &mut y);
    assert!(x.iter().zip(&y).all(|(&x, &y)| (y - softplus(x)).abs() <= 1e-15 * y.abs()));
    map::sigmoid(&x, &mut y);
    assert!(x.iter().zip(&y).all(|(&x, &y)| (y - sigmoid(x)).abs() <= 1e-15));
    map::silu(&[f64::NEG_INFINITY, f64::INFINITY], &mut y[..2]);
    assert_eq!(y[..2], [0.0, f64::INFINITY]);
}
