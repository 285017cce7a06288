//! Any text as a configuration file: taken or refused, never a panic.

#![no_main]

use kuramoto_train::data::Identity;
use kuramoto_train::{Config, Overlay};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(layer) = Overlay::parse("fuzz", text) else { return };
    let Ok(mut config) = Config::from_overlays(&[layer]) else { return };
    let corpus =
        Identity { name: "fuzz".into(), bytes: 1 << 20, vocabulary: (0..200).collect(), ..Default::default() };
    if config.resolve(&corpus).is_ok() {
        assert_eq!(Config::parse("saved", &config.to_toml()).unwrap(), config);
    }
});
