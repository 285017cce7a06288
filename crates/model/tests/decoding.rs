//! Cached decoding equals the full forward pass, byte by byte.

mod common;

use common::{COMBINATIONS, combination, noise, random_weights, small, text};
use kuramoto_kernels::Real;
use kuramoto_model::{
    Error, Kuramoto, KuramotoConfig, Network, NoHooks, Transformer, TransformerConfig, Weights,
};
use proptest::prelude::*;

/// Largest difference of cached from full logits, relative to the largest logit.
fn difference<F: Real, N: Network<F>>(weights: &Weights<F, N>, tokens: &[u8]) -> f64 {
    let mut work = weights.workspace();
    weights.forward(tokens, &mut work, &mut NoHooks).unwrap();
    let logits = weights.logits(tokens.len(), &work);
    let size = logits.iter().fold(0.0f64, |m, x| m.max(x.to_f64().abs()));
    let vocab = weights.network().vocab();
    let mut decoder = weights.decoder();
    let mut worst = 0.0f64;
    // Twice: a cleared decoder has forgotten everything.
    for _ in 0..2 {
        decoder.clear();
        for (&token, full) in tokens.iter().zip(logits.chunks(vocab)) {
            let cached = decoder.push(token).unwrap();
            worst = cached.iter().zip(full).fold(worst, |m, (a, b)| m.max((a.to_f64() - b.to_f64()).abs()));
        }
    }
    worst / size
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn cached_equals_full(pick in 0..COMBINATIONS, seed in 0u64..1000, n in 1usize..30) {
        let tokens = text(n, 7, seed);
        let model = Kuramoto::new(combination(pick), n).unwrap();
        let double = random_weights::<f64, _>(model.clone(), seed);
        prop_assert!(difference(&double, &tokens) < 1e-12);
        let mut single = random_weights::<f32, _>(model, seed);
        single.edit(|_, parameters| {
            parameters.iter_mut().zip(noise(100_000, seed)).for_each(|(x, v)| *x = 0.3 * v as f32);
        });
        prop_assert!(difference(&single, &tokens) < 1e-5);
    }
}

#[test]
fn real_sizes_to_1e_5() {
    let tokens = text(256, 205, 1);
    let weights = Weights::<f32, _>::initialized(Kuramoto::new(KuramotoConfig::default(), 256).unwrap(), 1);
    let off = difference(&weights, &tokens);
    assert!(off < 1e-5, "Kuramoto differs by {off:e}");
    for heads in [1, 3] {
        let config = TransformerConfig { heads, ..Default::default() };
        let weights = Weights::<f32, _>::initialized(Transformer::new(config, 256).unwrap(), 1);
        let off = difference(&weights, &tokens);
        assert!(off < 1e-5, "transformer with {heads} heads differs by {off:e}");
    }
}

#[test]
fn refuses_what_it_cannot_take() {
    let weights = Weights::<f32, _>::initialized(Kuramoto::new(small(), 2).unwrap(), 0);
    let mut decoder = weights.decoder();
    assert_eq!(decoder.push(7).unwrap_err(), Error::Token { token: 7, position: 0, vocab: 7 });
    assert!(decoder.is_empty());
    decoder.push(0).unwrap();
    decoder.push(6).unwrap();
    assert_eq!(decoder.push(0).unwrap_err(), Error::TooLong { length: 3, context: 2 });
    assert_eq!(decoder.len(), 2);
}

/// Rows of what hooks were given, by hook point.
#[derive(Default, Debug)]
struct Seen(Vec<(String, Vec<f64>)>);

impl<F: Real> kuramoto_model::Hooks<F> for Seen {
    fn state(&mut self, layer: usize, state: &mut [F]) {
        self.0.push((format!("state {layer}"), state.iter().map(|x| x.to_f64()).collect()));
    }
    fn middle(&mut self, layer: usize, state: &mut [F]) {
        self.0.push((format!("middle {layer}"), state.iter().map(|x| x.to_f64()).collect()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    /// A sequence whose beginning was run before is the same sequence, whatever came after that beginning.
    #[test]
    fn extended_equals_full(pick in 0..COMBINATIONS, seed in 0u64..1000, n in 2usize..30, cut in 0.0f64..1.0, old in 1usize..30) {
        let tokens = text(n, 7, seed);
        let kept = ((n as f64 * cut) as usize).min(n - 1);
        let mut before = tokens[..kept].to_vec();
        before.extend(text(old, 7, seed + 1));
        before.truncate(30);
        let weights = random_weights::<f64, _>(Kuramoto::new(combination(pick), 30).unwrap(), seed);
        let (mut work, mut whole) = (weights.workspace(), weights.workspace());
        weights.forward(&before, &mut work, &mut NoHooks).unwrap();
        let (mut rest, mut all) = (Seen::default(), Seen::default());
        weights.extend(&tokens, kept, &mut work, &mut rest).unwrap();
        weights.forward(&tokens, &mut whole, &mut all).unwrap();
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        prop_assert!(apart(&weights.logits(n, &work), &weights.logits(n, &whole)) < 1e-9);
        for ((name, rest), (_, all)) in rest.0.iter().zip(&all.0) {
            let k = all.len() / n;
            prop_assert_eq!(rest.len(), (n - kept) * k);
            prop_assert!(apart(rest, &all[kept * k..]) < 1e-9, "{}", name);
        }
    }
}

#[test]
fn nothing_to_extend_by_is_an_error() {
    let weights = Weights::<f32, _>::initialized(Kuramoto::new(small(), 4).unwrap(), 0);
    let mut work = weights.workspace();
    weights.forward(&[1, 2], &mut work, &mut NoHooks).unwrap();
    assert_eq!(weights.extend(&[1, 2], 2, &mut work, &mut NoHooks).unwrap_err(), Error::Empty);
    assert!(weights.extend(&[1, 2, 9], 2, &mut work, &mut NoHooks).is_err());
}
