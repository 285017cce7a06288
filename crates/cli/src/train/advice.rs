//! What to try after training: commands that go on with what was just done.

use crate::matching::percent_apart;
use crate::program::quoted;
use crate::table::thousands;
use kuramoto_model::ModelKind;
use kuramoto_train::overlay::flag_of;
use kuramoto_train::presets::{Preset, Protocol};
use kuramoto_train::{Config, Identity, Overlay, presets};
use std::path::Path;

/// A run that was trained.
pub struct Trained<'a> {
    pub folder: &'a Path,
    pub config: &'a Config,
    pub corpus: &'a Identity,
    /// As it was given on the command line.
    pub cache: Option<&'a Path>,
    pub steps: u64,
    /// It ended because a step was not finite.
    pub non_finite: bool,
}

/// Commands, without the program's name, and what each is for.
pub fn next(trained: &Trained<'_>) -> Vec<(String, String)> {
    let Trained { folder, config, steps, .. } = *trained;
    let run = quoted(&folder.to_string_lossy());
    let cache = trained
        .cache
        .map_or_else(String::new, |cache| format!(" --cache {}", quoted(&cache.to_string_lossy())));
    // Where `runs` and `explore` find it.
    let beside = match folder.parent() {
        Some(parent) if parent == Path::new("runs") => String::new(),
        Some(parent) if parent.as_os_str().is_empty() => " .".into(),
        Some(parent) => format!(" {}", quoted(&parent.to_string_lossy())),
        None => String::new(),
    };
    let mut next = vec![
        (format!("generate {run}"), "more text".to_string()),
        (
            format!("eval {run} --split test{cache}"),
            "exact bits per byte on text that decided nothing".into(),
        ),
        (format!("explore{beside}"), "all runs in a browser, and their phases".into()),
    ];
    if config.model.kind() == ModelKind::Kuramoto {
        next.push((format!("diagnose {run}{cache}"), "how its phases synchronize, with figures".into()));
    }
    next.push(match trained.non_finite {
        false => (format!("train --resume {run} --steps {}{cache}", 2 * steps), "twice as long".into()),
        true => (
            format!("train --resume {run} --on-bad-step skip{cache}"),
            "without the steps that are not finite".into(),
        ),
    });
    next.extend(counterpart(trained).map(|(command, why)| (command + &cache, why)));
    if config.data.corpus == "tales" {
        next.push((format!("train --data FILE{cache}"), "your own text".into()));
    }
    next.push((format!("runs{beside}"), "every run and its result".into()));
    next
}

/// The run to compare with: the reference of an ablation, else the other model at the same budget.
fn counterpart(trained: &Trained<'_>) -> Option<(String, String)> {
    let Trained { config, corpus, .. } = *trained;
    let parameters = config.model.parameters().ok()?;
    let ablated = !config.model.ablations().is_empty();
    let kind = match config.model.kind() {
        ModelKind::Kuramoto if !ablated => ModelKind::Transformer,
        _ => ModelKind::Kuramoto,
    };
    let what = match (ablated, kind) {
        (true, _) => "the model without ablations",
        (false, ModelKind::Kuramoto) => "the matched Kuramoto model",
        (false, ModelKind::Transformer) => "the matched transformer",
    };
    let same_kind = kind == config.model.kind();
    let mut keys = shared(config, same_kind);
    if !same_kind && config.model.width() != matched_width(config)? {
        keys.push(("budget".into(), parameters.to_string()));
    }
    // What the command would train, to say how large that is.
    let overlays = keys.iter().map(|(key, value)| match key.as_str() {
        "data.corpus" | "data.path" => Overlay::text("advice", key, value),
        _ => Overlay::set("advice", key, value),
    });
    let mut overlays: Vec<Overlay> = overlays.collect();
    overlays.push(Overlay::text("advice", "model.kind", kind.name()));
    let mut other = Config::from_overlays(&overlays).ok()?;
    other.resolve(corpus).ok()?;
    let count = other.model.parameters().ok()?;
    let mut command = String::from("train");
    if kind != ModelKind::Kuramoto {
        command += &format!(" --model {kind}");
    }
    for (key, value) in &keys {
        command += &match (flag_of(key), key.as_str()) {
            (_, "validation.test") => " --test".into(),
            (Some(flag), _) => format!(" {flag} {}", quoted(value)),
            (None, _) => format!(" --set {}", quoted(&format!("{key}={value}"))),
        };
    }
    let size = format!("{} parameters, {}", thousands(count), percent_apart(count, parameters));
    Some((command, format!("{what} to compare with ({size})")))
}

/// What the budget alone would give.
fn matched_width(config: &Config) -> Option<usize> {
    kuramoto_model::matching::match_width(&config.model, config.budget).ok().map(|matched| matched.width)
}

/// Keys that a run to compare with has too. Another model has its own recipe: of the model, only its depth is
/// the same.
fn shared(config: &Config, same_kind: bool) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    if config.preset != Preset::Quick {
        keys.push(("preset".into(), config.preset.to_string()));
    }
    if config.protocol != Protocol::Tuned {
        keys.push(("protocol".into(), config.protocol.name().into()));
    }
    let preset = presets::config(config.preset, config.protocol, config.model.kind());
    if config.data.corpus != preset.data.corpus {
        keys.push(("data.corpus".into(), config.data.corpus.clone()));
    }
    if !config.data.path.is_empty() {
        keys.push(("data.path".into(), config.data.path.clone()));
    }
    if config.seed != preset.seed {
        keys.push(("seed".into(), config.seed.to_string()));
    }
    for (key, value) in config.changes() {
        let of_the_model = key.starts_with("model.") || key.starts_with("optimizer.");
        let other_model = of_the_model && !same_kind && key != "model.layers";
        if other_model || key.starts_with("init-from.") {
            continue;
        }
        keys.push((key, value.as_str().map_or_else(|| value.to_string(), String::from)));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(keys: &str, ablations: &[&str], folder: &str) -> String {
        advice_after(keys, ablations, folder, false)
    }

    fn advice_after(keys: &str, ablations: &[&str], folder: &str, non_finite: bool) -> String {
        let mut config = Config::from_overlays(&[Overlay::parse("keys", keys).unwrap()]).unwrap();
        config.model.ablate(ablations).unwrap();
        let enwik8 = config.data.corpus == "enwik8";
        let corpus = Identity {
            name: "corpus".into(),
            bytes: if enwik8 { 100_000_000 } else { 12_000_000 },
            vocabulary: (0..if enwik8 { 205 } else { 50 }).collect(),
            ..Default::default()
        };
        config.resolve(&corpus).unwrap();
        let (folder, config, corpus) = (Path::new(folder), &config, &corpus);
        let trained = Trained { folder, config, corpus, cache: None, steps: 100, non_finite };
        next(&trained).iter().map(|(command, why)| format!("{command}  # {why}\n")).collect()
    }

    #[test]
    fn after_the_default_run() {
        insta::assert_snapshot!(advice("", &[], "runs/tales-kuramoto-1"), @"
        generate runs/tales-kuramoto-1  # more text
        eval runs/tales-kuramoto-1 --split test  # exact bits per byte on text that decided nothing
        explore  # all runs in a browser, and their phases
        diagnose runs/tales-kuramoto-1  # how its phases synchronize, with figures
        train --resume runs/tales-kuramoto-1 --steps 200  # twice as long
        train --model transformer  # the matched transformer to compare with (180,290 parameters, 1.0% more)
        train --data FILE  # your own text
        runs  # every run and its result
        ");
    }

    /// A longer run would end at the same step.
    #[test]
    fn after_a_run_that_was_not_finite() {
        let text = advice_after("", &[], "mine", true);
        assert!(text.contains("train --resume mine --on-bad-step skip  # without the steps"), "{text}");
        assert!(!text.contains("--steps"), "{text}");
    }

    #[test]
    fn after_enwik8_with_flags() {
        let keys = "preset = '1m'\nprotocol = 'paper'\ndata.path = '/data/my enwik8.xz'\nseed = 2\n\
                    length.steps = 100\noptimizer.learning-rate = 0.002\nmodel.layers = 6";
        insta::assert_snapshot!(advice(keys, &[], "runs/enwik8-kuramoto-1"), @"
        generate runs/enwik8-kuramoto-1  # more text
        eval runs/enwik8-kuramoto-1 --split test  # exact bits per byte on text that decided nothing
        explore  # all runs in a browser, and their phases
        diagnose runs/enwik8-kuramoto-1  # how its phases synchronize, with figures
        train --resume runs/enwik8-kuramoto-1 --steps 200  # twice as long
        train --model transformer --preset 1m --protocol paper --data-path '/data/my enwik8.xz' --seed 2 --steps 100 --layers 6  # the matched transformer to compare with (1,006,005 parameters, 2.4% more)
        runs  # every run and its result
        ");
    }

    #[test]
    fn after_an_ablation_on_a_file() {
        let keys = "data.corpus = 'book.txt'\noptimizer.learning-rate = 0.002\noptimizer.beta2 = 0.99\n\
                    validation.test = true";
        insta::assert_snapshot!(advice(keys, &["no-value-gate"], "mine"), @"
        generate mine  # more text
        eval mine --split test  # exact bits per byte on text that decided nothing
        explore .  # all runs in a browser, and their phases
        diagnose mine  # how its phases synchronize, with figures
        train --resume mine --steps 200  # twice as long
        train --data book.txt --set optimizer.beta2=0.99 --learning-rate 0.002 --test  # the model without ablations to compare with (178,508 parameters, 0.8% fewer)
        runs .  # every run and its result
        ");
    }

    #[test]
    fn after_a_transformer_of_a_given_width() {
        let keys = "model.kind = 'transformer'\nmodel.width = 64\nbatch.sequences = 8";
        insta::assert_snapshot!(advice(keys, &[], "/data/runs/a b"), @"
        generate '/data/runs/a b'  # more text
        eval '/data/runs/a b' --split test  # exact bits per byte on text that decided nothing
        explore /data/runs  # all runs in a browser, and their phases
        train --resume '/data/runs/a b' --steps 200  # twice as long
        train --batch 8 --budget 204594  # the matched Kuramoto model to compare with (213,172 parameters, 4.2% more)
        train --data FILE  # your own text
        runs /data/runs  # every run and its result
        ");
    }
}
