//! Drawing tokens: how the next one is chosen by its logits, and writing on from those that are there.

use crate::error::{Error, Result};
use crate::network::Network;
use crate::random::fraction;
use crate::weights::Weights;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// How the next byte is drawn.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the likeliest byte always.
    pub temperature: f64,
    /// Draws from the likeliest bytes that make up this probability together; 1 for all.
    pub top_p: f64,
    /// Draws from this many of the likeliest bytes; 0 for all.
    #[serde(default)]
    pub top_k: usize,
    /// Of the draws.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { temperature: 1.0, top_p: 1.0, top_k: 0, seed: 0 }
    }
}

impl Sampling {
    /// Says what is wrong, if anything.
    pub fn check(&self) -> Result<()> {
        if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            return Err(not_allowed("temperature", self.temperature, "it must be finite and at least 0"));
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return Err(not_allowed("top-p", self.top_p, "it must be more than 0 and at most 1"));
        }
        Ok(())
    }
}

fn not_allowed(field: &'static str, value: impl ToString, allowed: &str) -> Error {
    Error::Field { field, value: value.to_string(), allowed: allowed.into() }
}

/// Writes `count` tokens after those of `history`, handing each to `write` as it comes, until `write` says
/// false.
pub fn write_on<N: Network<f32>>(
    weights: &Weights<f32, N>,
    mut history: Vec<u8>,
    count: usize,
    sampling: &Sampling,
    write: &mut dyn FnMut(u8) -> bool,
) -> Result<()> {
    if history.is_empty() {
        return Err(not_allowed("prompt", "\"\"", "give at least one byte to go on from"));
    }
    let (mut decoder, context) = (weights.decoder(), weights.network().context());
    // Of a prompt that fills the context, the last half, so that there is room to write.
    let half = context.div_ceil(2);
    let mut next = if history.len() < context { 0 } else { history.len() - half };
    let mut drawer = Drawer::new(sampling)?;
    for _ in 0..count {
        if decoder.len() == context {
            decoder.clear();
            next = history.len() - half;
        }
        let mut drawn = None;
        while next < history.len() {
            let logits = decoder.push(history[next])?;
            next += 1;
            if next == history.len() {
                drawn = Some(drawer.draw(logits));
            }
        }
        let token = drawn.expect("at least the last byte was new to the decoder");
        history.push(token);
        if !write(token) {
            break;
        }
    }
    Ok(())
}

/// Draws one token after another.
pub struct Drawer {
    sampling: Sampling,
    random: ChaCha8Rng,
    /// Room to work in.
    nucleus: Vec<(u8, f64)>,
}

impl Drawer {
    /// As `sampling` says, which is checked.
    pub fn new(sampling: &Sampling) -> Result<Drawer> {
        sampling.check()?;
        Ok(Drawer {
            sampling: *sampling,
            random: ChaCha8Rng::seed_from_u64(sampling.seed),
            nucleus: Vec::new(),
        })
    }

    /// Draws a token by its logits.
    pub fn draw(&mut self, logits: &[f32]) -> u8 {
        let Drawer { sampling, random, nucleus } = self;
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // At temperature 0 only the likeliest is left: the quotient is 0 / 0 for it and minus infinity for
        // the others.
        let weight =
            |x: f32| if x == highest { 1.0 } else { (f64::from(x - highest) / sampling.temperature).exp() };
        nucleus.clear();
        nucleus.extend(logits.iter().enumerate().map(|(token, &x)| (token as u8, weight(x))));
        nucleus.sort_by(|a, b| b.1.total_cmp(&a.1));
        let total: f64 = nucleus.iter().map(|(_, weight)| weight).sum();
        let mut kept = 0.0;
        let count = nucleus.iter().take_while(|(_, weight)| {
            let wanted = kept < sampling.top_p * total;
            kept += weight;
            wanted
        });
        let most = if sampling.top_k == 0 { logits.len() } else { sampling.top_k };
        let count = count.count().clamp(1, most);
        let mass: f64 = nucleus[..count].iter().map(|(_, weight)| weight).sum();
        let mut left = fraction(random) * mass;
        for &(token, weight) in &nucleus[..count] {
            left -= weight;
            if left < 0.0 {
                return token;
            }
        }
        nucleus[count - 1].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(logits: &[f32], sampling: Sampling) -> Vec<f64> {
        let mut drawer = Drawer::new(&sampling).unwrap();
        let mut counts = vec![0.0; logits.len()];
        for _ in 0..20_000 {
            counts[usize::from(drawer.draw(logits))] += 1.0 / 20_000.0;
        }
        counts
    }

    fn near(found: &[f64], expected: &[f64]) {
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 0.02, "{found:?} against {expected:?}");
        }
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let logits = [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()];
        let with = |temperature, top_p| {
            shares(&logits, Sampling { temperature, top_p, seed: 1, ..Default::default() })
        };
        near(&with(1.0, 1.0), &[0.5, 0.3, 0.2]);
        near(&with(0.0, 1.0), &[1.0, 0.0, 0.0]);
        near(&with(0.5, 1.0), &[25.0 / 38.0, 9.0 / 38.0, 4.0 / 38.0]);
        // Half is reached by the first alone, more needs the second.
        near(&with(1.0, 0.5), &[1.0, 0.0, 0.0]);
        near(&with(1.0, 0.6), &[0.625, 0.375, 0.0]);
        let top = |top_k| shares(&logits, Sampling { top_k, seed: 1, ..Default::default() });
        near(&top(1), &[1.0, 0.0, 0.0]);
        near(&top(2), &[0.625, 0.375, 0.0]);
        near(&top(9), &[0.5, 0.3, 0.2]);
    }

    #[test]
    fn impossible_settings_are_refused() {
        for (temperature, top_p) in
            [(-1.0, 1.0), (f64::NAN, 1.0), (1.0, 0.0), (1.0, 1.1), (f64::INFINITY, 1.0)]
        {
            assert!(Sampling { temperature, top_p, ..Default::default() }.check().is_err());
        }
    }
}
