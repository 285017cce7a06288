//! Any JSON as interventions and changes of parameters: what the checks admit also runs.

#![no_main]

use kuramoto_model::{Kuramoto, KuramotoConfig, Weights};
use kuramoto_phase::intervention::{Change, Intervening, Intervention};
use kuramoto_phase::{KuramotoWeights, Trace};
use std::sync::LazyLock;

static MODEL: LazyLock<Kuramoto> = LazyLock::new(|| {
    Kuramoto::new(KuramotoConfig { vocab: 3, width: 4, layers: 2, ..Default::default() }, 8).unwrap()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok((interventions, changes)) = serde_json::from_slice::<(Vec<Intervention>, Vec<Change>)>(bytes)
    else {
        return;
    };
    let network = &*MODEL;
    if interventions.len() + changes.len() > 8
        || interventions.iter().any(|change| change.check(network).is_err())
        || changes.iter().any(|change| change.check(network).is_err())
    {
        return;
    }
    let mut weights: KuramotoWeights = Weights::initialized(network.clone(), 0);
    changes.iter().for_each(|change| change.apply(&mut weights));
    let (tokens, mut work, mut trace) = ([0, 1, 2, 1, 0], weights.workspace(), Trace::new(network));
    weights.forward(&tokens, &mut work, &mut Intervening::new(network, &interventions, &mut trace)).unwrap();
    assert_eq!(weights.logits(tokens.len(), &work).len(), 15);
});
