//! Configurations: presets, files and keys laid over each other, and what is said of mistakes.

mod common;

use kuramoto_model::{Ablation, ModelConfig};
use kuramoto_train::Overlay;
use kuramoto_train::config::{Config, Decay, Length, Schedule, Warmup};
use kuramoto_train::data::Identity;
use proptest::prelude::*;

fn from_overlays(text: &str) -> Result<Config, kuramoto_train::Error> {
    Config::from_overlays(&[Overlay::parse("file.toml", text)?])
}

fn message(text: &str) -> String {
    match from_overlays(text) {
        Err(error) => error.to_string(),
        Ok(mut config) => config.resolve(&enwik8()).unwrap_err().to_string(),
    }
}

fn enwik8() -> Identity {
    corpus("enwik8", 100_000_000, 205)
}

fn corpus(name: &str, bytes: usize, vocabulary: u8) -> Identity {
    let vocabulary = (0..vocabulary).collect();
    Identity { name: name.into(), bytes, sha256: "x".into(), vocabulary, opening: Vec::new() }
}

/// Also of variants, whose keys are only saved where they are used.
#[test]
fn a_saved_configuration_can_be_laid_over_a_preset() {
    for ablation in Ablation::all() {
        let mut config = from_overlays("").unwrap();
        config.model.ablate(&[ablation.name]).unwrap();
        assert_eq!(from_overlays(&config.to_toml()).unwrap(), config, "{}", ablation.name);
    }
}

/// A preset has none, and a run without them has the keys that it always had.
#[test]
fn multipliers_name_parts_of_tensors() {
    let plain = from_overlays("").unwrap();
    assert!(!plain.to_toml().contains("multipliers"));
    let pair = |pair| Overlay::pair("--set", pair).unwrap();
    let mut config =
        plain.overlaid(&[pair("optimizer.multipliers.omega=0"), pair("optimizer.multipliers.wv=2")]).unwrap();
    config.resolve(&enwik8()).unwrap();
    assert_eq!(
        Vec::from_iter(config.optimizer.multipliers.clone()),
        [("omega".into(), 0.0), ("wv".into(), 2.0)]
    );
    assert_eq!(from_overlays(&config.to_toml()).unwrap(), config);
    assert_eq!(
        message("optimizer.multipliers.wo = 0.1"),
        "optimizer.multipliers.wo = 0.1 is not allowed: no tensor of this model has that in its name: use one of 0, 1, \
         2, bias, down, emb, ffn, gate, gates, layers, log_r1, log_r2, logit_scale, omega, proto, tau, up, weight, wk, \
         wq, wv"
    );
    assert_eq!(
        message("optimizer.multipliers.tau = -1"),
        "optimizer.multipliers.tau = -1 is not allowed: it must be from 0 to 1000000"
    );
    assert_eq!(
        message("optimizer.multipliers.tau = 'fast'"),
        "optimizer.multipliers.tau = \"fast\" is not allowed: it must be a number, such as 0.1"
    );
    assert!(message("optimizer.multipliers = 3").contains("it is a section with keys of its own"));
}

/// What the program compares without being asked for a size must be comparable.
#[test]
fn the_default_models_are_matched_within_two_percent() {
    let tales = corpus("tales", 12_000_000, 50);
    let counts = ["kuramoto", "transformer"].map(|kind| {
        let mut config = from_overlays(&format!("model.kind = '{kind}'")).unwrap();
        config.resolve(&tales).unwrap();
        config.model.parameters().unwrap()
    });
    assert_eq!(counts, [178_508, 180_290]);
    assert!((counts[1] as f64 / counts[0] as f64 - 1.0).abs() < 0.02);
}

/// The paper's protocol, at both sizes, for both models.
#[test]
fn the_paper_protocol_is_the_papers() {
    let expected = [
        ("1m", "kuramoto", 1_003_386),
        ("1m", "transformer", 974_845),
        ("5m", "kuramoto", 4_968_410),
        ("5m", "transformer", 4_997_461),
    ];
    for (preset, kind, parameters) in expected {
        let text = format!("preset = '{preset}'\nprotocol = 'paper'\nmodel.kind = '{kind}'");
        let mut config = from_overlays(&text).unwrap();
        config.resolve(&enwik8()).unwrap();
        assert_eq!(config.model.parameters().unwrap(), parameters);
        let optimizer = &config.optimizer;
        assert_eq!((optimizer.learning_rate, optimizer.weight_decay, optimizer.clip), (1e-3, 0.01, 1.0));
        assert_eq!((optimizer.beta1, optimizer.beta2, optimizer.epsilon), (0.9, 0.999, 1e-8));
        assert_eq!(
            (optimizer.decay, optimizer.schedule, optimizer.warmup),
            (Decay::All, Schedule::Constant, Warmup::Steps(0))
        );
        assert_eq!(
            (config.batch.sequences, config.batch.context, config.length),
            (64, 256, Length::Epochs(50))
        );
        assert_eq!(
            (config.validation.every, config.validation.windows, config.validation.patience),
            (0, 0, 0)
        );
        let (dropout, layers, heads) = match &config.model {
            ModelConfig::Kuramoto(model) => (model.dropout, model.layers, model.heads),
            ModelConfig::Transformer(model) => (model.dropout, model.layers, model.heads),
        };
        assert_eq!((dropout, layers, heads), (0.1, 4, 1));
    }
}

#[test]
fn later_layers_win_and_whole_numbers_are_numbers() {
    let layers = [
        Overlay::parse("file.toml", "[optimizer]\nlearning-rate = 1\nwarmup = 7").unwrap(),
        Overlay::set("--learning-rate", "optimizer.learning-rate", "2e-3"),
        Overlay::set("--tokens", "length.tokens", "1e6"),
        Overlay::set("--data", "data.corpus", "some file.txt"),
    ];
    let config = Config::from_overlays(&layers).unwrap();
    assert_eq!((config.optimizer.learning_rate, config.optimizer.warmup), (2e-3, Warmup::Steps(7)));
    assert_eq!(config.data.corpus, "some file.txt");
    assert_eq!(config.length, Length::Tokens(1_000_000));
}

#[test]
fn what_is_saved_is_read_back() {
    for text in ["", "preset = '5m'\nmodel.kind = 'transformer'", common::TINY] {
        let mut config = from_overlays(text).unwrap();
        config.resolve(&enwik8()).unwrap();
        assert_eq!(Config::parse("config.toml", &config.to_toml()).unwrap(), config);
        let again = Overlay::parse("config.toml", &config.to_toml()).unwrap();
        assert_eq!(
            Config::from_overlays(&[again]).unwrap(),
            config,
            "a saved configuration can be given back"
        );
    }
}

/// The usual minutes between checkpoints are not written: files of earlier runs and plans keep their hashes.
#[test]
fn minutes_between_checkpoints() {
    let usual = from_overlays("").unwrap();
    assert_eq!(usual.checkpoints.minutes, 10.0);
    assert!(!usual.to_toml().contains("minutes"));
    for (set, expected) in [("0", 0.0), ("2.5", 2.5), ("10", 10.0)] {
        let config = from_overlays(&format!("checkpoints.minutes = {set}")).unwrap();
        assert_eq!(config.checkpoints.minutes, expected);
        assert_eq!(Config::parse("saved", &config.to_toml()).unwrap(), config);
    }
    for wrong in ["-1", "nan", "inf", "1e300"] {
        let mut config = from_overlays(&format!("checkpoints.minutes = {wrong}")).unwrap();
        let error = config.resolve(&enwik8()).unwrap_err().to_string();
        assert!(error.contains("checkpoints.minutes"), "{wrong}: {error}");
    }
}

#[test]
fn mistakes_are_named_with_a_suggestion() {
    let expected = [
        ("optimiser.clip = 1", "there is no key optimiser; did you mean optimizer?"),
        ("[optimizer]\nlearning_rate = 1", "no key optimizer.learning_rate; did you mean learning-rate?"),
        ("[model]\nhead = 2", "no key model.head; did you mean heads?"),
        ("[batch]\nxyz = 2", "no key batch.xyz; there are context, lanes, sequences"),
        ("seed = 'x'", "seed = \"x\" is not allowed: it must be of type integer"),
        ("batch = 3", "it is a section"),
        ("preset = 'huge'", "choose quick, 1m or 5m"),
        ("protocol = 'mine'", "choose tuned or paper"),
        ("model.kind = 'mamba'", "choose kuramoto or transformer"),
        ("length = { days = 3 }", "no key length.days; there are epochs, steps, tokens"),
        ("length = { steps = 3, epochs = 1 }", "takes one of epochs, steps and tokens"),
        ("length = { steps = 0 }", "length.steps = 0 is not allowed"),
        ("optimizer.learning-rate = nan", "positive and finite"),
        ("optimizer.learning-rate = -1", "positive and finite"),
        ("optimizer.beta2 = 1", "optimizer.beta2 = 1 is not allowed"),
        ("optimizer.schedule = 'linear'", "unknown variant `linear`"),
        ("batch.context = 0", "context = 0 is not allowed"),
        ("batch.sequences = -4", "invalid value"),
        ("model.heads = 0", "heads = 0 is not allowed"),
        ("model = { width = 10, heads = 3 }", "it must divide width"),
        ("model.vocab = 99", "the corpus has 205 distinct bytes"),
        ("budget = 0", "budget = 0 is not allowed"),
        ("x = [", "it is not TOML"),
        ("bad-steps.spike = 0.5", "at least 1"),
    ];
    for (text, part) in expected {
        let found = message(text);
        assert!(found.contains(part), "{text}: {found}");
        assert!(!found.contains('\n'), "one line: {found}");
    }
}

#[test]
fn ablations_are_matched_again() {
    let mut config = from_overlays("preset = '1m'").unwrap();
    config.model.ablate(&["low-rank-transport"]).unwrap();
    config.resolve(&enwik8()).unwrap();
    assert_eq!(config.model.width(), 164);
    let mut config = from_overlays("model.kind = 'transformer'").unwrap();
    assert!(
        config.model.ablate(&["no-value-gate"]).unwrap_err().to_string().contains("only the Kuramoto model")
    );
}

#[test]
fn the_learning_rate_rises_and_falls() {
    let optimizer = from_overlays(
        "optimizer = { learning-rate = 2, warmup = 10, schedule = 'cosine', final-fraction = 0.25 }",
    );
    let optimizer = optimizer.unwrap().optimizer;
    let at = |step| optimizer.learning_rate_at(step, 110);
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(
        near(at(1), 0.2)
            && near(at(10), 2.0)
            && near(at(60), 1.25)
            && near(at(110), 0.5)
            && near(at(200), 0.5)
    );
}

/// Of 1,400 steps, as the preset `quick` has them.
fn with_warmup(value: &str) -> Config {
    let set = Overlay::set("--warmup", "optimizer.warmup", value);
    let mut config = Config::from_overlays(&[set]).unwrap();
    config.resolve(&enwik8()).unwrap();
    config
}

/// Steps are written as ever; a share says what it is of.
#[test]
fn a_warmup_is_steps_or_a_share_of_the_run() {
    for (value, steps, saved) in [
        ("100", 100, "warmup = 100\n"),
        ("0", 0, "warmup = 0\n"),
        ("1e2", 100, "warmup = 100\n"),
        ("8%", 112, "warmup = \"8% of 1400 steps\"\n"),
        ("12.5%", 175, "warmup = \"12.5% of 1400 steps\"\n"),
        ("0.03%", 0, "warmup = \"0.03% of 1400 steps\"\n"),
        ("0.04%", 1, "warmup = \"0.04% of 1400 steps\"\n"),
        ("0%", 0, "warmup = \"0% of 1400 steps\"\n"),
        ("100%", 1400, "warmup = \"100% of 1400 steps\"\n"),
    ] {
        let config = with_warmup(value);
        assert_eq!(config.optimizer.warmup_steps(1400), steps, "{value}");
        let text = config.to_toml();
        assert!(text.contains(saved), "{value}: {text}");
        assert_eq!(Config::parse("saved", &text).unwrap(), config);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config);
        // The learning rate is that of as many steps.
        let fixed = with_warmup(&steps.to_string());
        let rate = |config: &Config, step| config.optimizer.learning_rate_at(step, 1400).to_bits();
        assert!((1..=1400).all(|step| rate(&config, step) == rate(&fixed, step)), "{value}");
    }
    let epochs = "length.epochs = 1\nbatch = { sequences = 64, context = 256 }\noptimizer.warmup = '8%'";
    let mut config = from_overlays(epochs).unwrap();
    config.resolve(&enwik8()).unwrap();
    assert!(config.to_toml().contains("8% of 5493 steps"), "{}", config.to_toml());
}

#[test]
fn a_warmup_that_is_neither_is_refused() {
    for value in ["120%", "-1%", "100.1%", "nan%", "%", "8", "8 percent", "8%%", "8% of steps", ""] {
        let found = message(&format!("optimizer.warmup = '{value}'"));
        assert!(found.starts_with(&format!("optimizer.warmup = {:?} is not allowed", value)), "{found}");
        assert!(found.contains("such as 100, or a share of the run from 0% to 100%"), "{found}");
    }
    for value in ["-4", "2.5", "true"] {
        let found = message(&format!("optimizer.warmup = {value}"));
        assert!(found.contains("a share of the run from 0% to 100%"), "{found}");
    }
    let text = with_warmup("8%").to_toml().replace("8% of", "108% of");
    let found = Config::parse("saved", &text).unwrap_err().to_string();
    assert!(found.contains("a share of the run from 0% to 100%") && !found.contains('\n'), "{found}");
}

/// A new run from the configuration of another has its share, of its own length.
#[test]
fn a_share_is_of_the_new_run() {
    let saved = Overlay::parse("config.toml", &with_warmup("8%").to_toml()).unwrap().for_new_run();
    let longer = Overlay::set("--steps", "length.steps", "2000");
    let mut config = Config::from_overlays(&[saved, longer.clone()]).unwrap();
    config.resolve(&enwik8()).unwrap();
    assert_eq!(config.optimizer.warmup_steps(2000), 160);
    let saved = Overlay::parse("config.toml", &with_warmup("100").to_toml()).unwrap().for_new_run();
    let config = Config::from_overlays(&[saved, longer]).unwrap();
    assert_eq!(config.optimizer.warmup, Warmup::Steps(100));
}

proptest! {
    #[test]
    fn any_text_is_a_configuration_or_an_error(text in ".{0,200}") {
        if let Ok(mut config) = from_overlays(&text) {
            let _ = config.resolve(&enwik8());
        }
    }

    /// Values of every kind at keys that exist.
    #[test]
    fn any_value_at_any_key_is_taken_or_refused(
        key in prop::sample::select(vec![
            "seed", "budget", "length.steps", "data.bytes", "batch.context", "batch.lanes", "optimizer.beta1",
            "optimizer.warmup", "optimizer.decay", "validation.test", "model.width", "model.layers", "model.metric",
            "model.init.self-score",
            "model.transport-rank", "checkpoints.keep", "bad-steps.policy",
        ]),
        value in prop_oneof![
            any::<i64>().prop_map(|x| x.to_string()),
            any::<f64>().prop_map(|x| x.to_string()),
            "[a-z]{0,8}",
            "-?[0-9.e]{0,8}%( of [0-9]{0,22} steps)?",
            Just("true".to_string()),
            Just("[1, 2]".to_string()),
            Just("18446744073709551616".to_string()),
        ],
    ) {
        if let Ok(mut config) = Config::from_overlays(&[Overlay::set("--set", key, &value)]) {
            let _ = config.resolve(&enwik8());
        }
    }
}
