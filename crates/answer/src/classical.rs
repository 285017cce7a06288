//! The classical Kuramoto model, which the article runs beside the layer that is named after it.

use crate::error::{Error, Result};
use crate::message::Message;
use kuramoto_phase::classical::{Frequencies, Graph, Population};
use serde::Deserialize;
use serde_json::json;

/// Most oscillators of a population.
const MOST_OSCILLATORS: usize = 2000;
/// Most steps that one question may ask for.
const MOST_STEPS: usize = 1000;

/// Asks for some steps of a population with Lorentzian frequencies, all coupled with all.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulationQuestion {
    oscillators: usize,
    /// Half-width of the frequencies.
    width: f64,
    /// K.
    coupling: f64,
    /// Of the first phases.
    seed: u64,
    /// Whether to draw the first phases anew.
    restart: bool,
    steps: usize,
    /// Time of one step.
    step: f64,
}

/// A population that goes on from question to question.
#[derive(Default)]
pub struct Simulation {
    /// With what it was made of: oscillators, half-width and seed.
    population: Option<((usize, f64, u64), Population)>,
}

impl Simulation {
    /// Takes the steps that are asked for: phases and natural frequencies, and the order after each step.
    pub fn run(&mut self, asked: &SimulationQuestion) -> Result<Message> {
        let SimulationQuestion { oscillators, width, coupling, seed, restart, steps, step } = *asked;
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let counts = (1..=MOST_OSCILLATORS).contains(&oscillators) && steps <= MOST_STEPS;
        if !(counts && positive(width) && positive(step) && coupling.is_finite()) {
            return Err(Error::Simulation { oscillators: MOST_OSCILLATORS, steps: MOST_STEPS });
        }
        let frequencies = Frequencies::Lorentzian(width);
        let made_of = (oscillators, width, seed);
        if restart || self.population.as_ref().is_none_or(|(before, _)| *before != made_of) {
            let new = Population::new(frequencies.spaced(oscillators), Graph::Complete, coupling, seed);
            self.population = Some((made_of, new));
        }
        let mut message = Message::default();
        if let Some((_, population)) = &mut self.population {
            population.set_coupling(coupling);
            let mut orders = vec![population.order() as f32];
            for _ in 0..steps {
                population.step(step);
                orders.push(population.order() as f32);
            }
            message.floats("phase", &[oscillators], population.phases.iter().map(|phase| *phase as f32));
            let natural = frequencies.spaced(oscillators);
            message.floats("frequency", &[oscillators], natural.into_iter().map(|rate| rate as f32));
            message.floats("order", &[orders.len()], orders);
        }
        message.meta(
            json!({ "critical": frequencies.critical_coupling(), "theory": frequencies.order(coupling) }),
        );
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use safetensors::SafeTensors;

    fn asked(more: &str) -> SimulationQuestion {
        let text = format!(
            r#"{{"oscillators": 400, "width": 0.5, "seed": 1, "step": 0.05, "restart": false, {more}}}"#
        );
        parse(text.as_bytes()).unwrap()
    }

    fn last_order(bytes: &[u8]) -> f32 {
        let tensors = SafeTensors::deserialize(bytes).unwrap();
        let data = tensors.tensor("order").unwrap().data();
        f32::from_le_bytes(data[data.len() - 4..].try_into().unwrap())
    }

    #[test]
    fn a_population_goes_on_where_it_was() {
        let (mut at_once, mut in_parts) = (Simulation::default(), Simulation::default());
        let whole = at_once.run(&asked(r#""coupling": 3.0, "steps": 800"#)).unwrap().encode();
        in_parts.run(&asked(r#""coupling": 3.0, "steps": 300"#)).unwrap();
        let rest = in_parts.run(&asked(r#""coupling": 3.0, "steps": 500"#)).unwrap().encode();
        assert_eq!(last_order(&whole), last_order(&rest));
        // Above the transition at K = 1 it comes near sqrt(1 - 1/3); without coupling it disperses again.
        assert!((last_order(&whole) - (2f32 / 3.0).sqrt()).abs() < 0.05);
        let apart = in_parts.run(&asked(r#""coupling": 0.0, "steps": 800"#)).unwrap().encode();
        assert!(last_order(&apart) < 0.2);
    }

    #[test]
    fn too_much_is_refused() {
        for more in [r#""coupling": 1.0, "steps": 1001"#, r#""coupling": 1e999, "steps": 1"#] {
            let text = format!(
                r#"{{"oscillators": 9, "width": 0.5, "seed": 1, "step": 0.05, "restart": false, {more}}}"#
            );
            let refused = parse::<SimulationQuestion>(text.as_bytes())
                .and_then(|asked| Simulation::default().run(&asked));
            assert!(refused.is_err(), "{more}");
        }
    }
}
