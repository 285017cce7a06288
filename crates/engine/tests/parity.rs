//! The engine against float64 fixtures of an independent implementation.

#[path = "../examples/parity/fixture.rs"]
mod fixture;
#[path = "../examples/parity/naive.rs"]
mod naive;

use fixture::{Fixture, Worst};
use naive::Order;
use std::path::Path;

fn fixtures() -> Vec<(String, Fixture)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures");
    let names = fixture::names(&folder).unwrap();
    assert_eq!(names.len(), 21, "the fixtures of every row and both models are here");
    names.into_iter().map(|name| (name.clone(), Fixture::read(&folder, &name).unwrap())).collect()
}

#[test]
fn f64_matches_to_1e_9() {
    for (name, fixture) in fixtures() {
        let Worst { error, tensor } = fixture.compare::<f64>().unwrap().worst;
        assert!(error <= 1e-9, "{name}: {error:e} in {tensor}");
    }
}

#[test]
fn f32_is_within_twice_the_naive_error() {
    for (name, fixture) in fixtures() {
        let Worst { error, tensor } = fixture.compare::<f32>().unwrap().worst_norm();
        let naive = fixture.naive_f32_error().unwrap().expect("fixtures are small");
        assert!(error <= fixture::allowed_f32(naive), "{name}: {error:e} in {tensor}, naive {naive:e}");
    }
}

/// The yardstick itself is right: in f64 it agrees with the fixtures too.
#[test]
fn naive_evaluation_matches() {
    for (name, fixture) in fixtures() {
        let Worst { error, tensor } = fixture.naive_errors::<f64>(Order::First).unwrap().worst;
        assert!(error <= 1e-9, "{name}: {error:e} in {tensor}");
    }
}
