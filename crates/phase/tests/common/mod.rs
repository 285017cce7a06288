//! Kuramoto models with the random weights of the fixtures, and what another implementation says of them.

#[allow(dead_code)]
#[path = "../../../engine/examples/parity/fixture.rs"]
mod fixture;
#[allow(dead_code)]
#[path = "../../../engine/examples/parity/naive.rs"]
mod naive;

pub use fixture::Fixture;
use kuramoto_kernels::Real;
use kuramoto_model::{Kuramoto, Network, Weights};
use std::path::Path;

/// Every fixture of a Kuramoto model.
pub fn all() -> Vec<(String, Fixture, Kuramoto)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures");
    let read = |name: String| {
        let fixture = Fixture::read(&folder, &name).unwrap();
        let fixture::Model::Kuramoto(config) = &fixture.model else { return None };
        let network = Kuramoto::new(config.clone(), fixture.length).unwrap();
        Some((name, fixture, network))
    };
    fixture::names(&folder).unwrap().into_iter().filter_map(read).collect()
}

/// The fixture of that name.
#[allow(dead_code)]
pub fn named(name: &str) -> (Fixture, Kuramoto) {
    let (_, fixture, network) = all().into_iter().find(|(other, ..)| other == name).unwrap();
    (fixture, network)
}

pub fn parameters<F: Real>(fixture: &Fixture, network: &Kuramoto) -> Vec<F> {
    let mut parameters = vec![F::ZERO; network.layout().count()];
    for tensor in network.layout().tensors() {
        let values = &fixture.tensors[&format!("param.{}", tensor.name)];
        tensor
            .slot
            .slice_mut(&mut parameters)
            .iter_mut()
            .zip(values)
            .for_each(|(x, value)| *x = F::from_f64(*value));
    }
    parameters
}

pub fn weights<F: Real>(fixture: &Fixture, network: &Kuramoto) -> Weights<F, Kuramoto>
where
    Kuramoto: Network<F>,
{
    Weights::new(network.clone(), &parameters(fixture, network)).unwrap()
}
