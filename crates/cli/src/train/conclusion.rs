//! What is printed after training.

use super::advice::{self, Trained};
use crate::describe::above_floor;
use crate::program::{listed, program, quoted};
use crate::progress::seconds;
use crate::table::{counted, thousands};
use crate::text;
use anyhow::Result;
use kuramoto_train::generate::{Sampling, default_prompt, generate};
use kuramoto_train::run::Ended;
use kuramoto_train::{Run, Summary, Which};
use std::path::Path;

/// Bytes of the sample.
const SAMPLE: usize = 400;

/// What was learned, a sample of it, and what to try next.
pub fn conclusion(run: &Run, summary: &Summary, cache: Option<&Path>) -> Result<String> {
    let folder = quoted(&run.folder().to_string_lossy());
    let mut lines = Vec::new();
    let time = seconds(summary.seconds);
    if summary.ended == Ended::Interrupted {
        let program = program();
        lines.push(format!("stopped after step {} and {time}; everything is saved", summary.steps));
        lines.push(format!("go on with: {program} train --resume {folder}"));
        return Ok(lines.join("\n") + "\n");
    }
    let best_step = summary.best_step.unwrap_or(0);
    if summary.ended == Ended::EarlyStop {
        lines.push(format!("stopped early: validation had not improved since step {best_step}"));
    }
    let non_finite = summary.ended == Ended::NonFinite;
    if non_finite {
        lines.push(format!(
            "{}: that step was not applied, and the run ended after step {}",
            summary.ended_in_words(),
            thousands(summary.steps as usize)
        ));
    }
    if let Some(bits) = summary.validation_bits_per_byte {
        let floor = summary
            .floor_bits_per_byte
            .map_or_else(String::new, |floor| format!(", {}", above_floor(bits, floor)));
        lines.push(format!("validation {bits:.3} bits per byte (step {best_step}){floor}"));
    }
    if let Some(bits) = summary.test_bits_per_byte {
        lines.push(format!("test {bits:.3} bits per byte"));
    }
    lines.push(format!("{} read in {time}; saved in {folder}\n", counted(summary.tokens as usize, "byte")));
    if let Some(share) = summary.exchange_share {
        lines.push(format!(
            "{:.1}% of the time went into exchanging gradients and waiting for each other\n",
            100.0 * share
        ));
    }
    let prompt = default_prompt(run.corpus());
    let from = String::from_utf8_lossy(&prompt);
    lines.push(format!("a sample at temperature 0.8, after {from:?}:\n"));
    let sampling = Sampling { temperature: 0.8, seed: run.config().seed, ..Default::default() };
    // A line break that was only to begin with is not worth a line.
    let mut sample = prompt.trim_ascii_start().to_vec();
    generate(run, Which::Best, &prompt, SAMPLE, &sampling, &mut |byte| {
        sample.push(byte);
        true
    })?;
    lines.extend(text::wrap(&text::printable(&sample), 100).into_iter().map(indented));
    let (config, corpus, steps) = (run.config(), run.corpus(), summary.steps);
    let next = advice::next(&Trained { folder: run.folder(), config, corpus, cache, steps, non_finite });
    Ok(format!("{}\n\nnext:\n{}", lines.join("\n"), listed(&next)))
}

fn indented(line: String) -> String {
    if line.is_empty() { line } else { format!("    {line}") }
}

/// Says that a run has nothing left to do, and how to extend it; None if it has.
pub fn already_done(run: &Run, patience_given: bool) -> Result<Option<(Summary, String)>> {
    let Some(summary) = run.summary() else { return Ok(None) };
    let config = run.config();
    let steps = config.steps(&config.sampler(run.corpus())?);
    let untested = config.validation.test && summary.test_bits_per_byte.is_none();
    let (folder, program) = (quoted(&run.folder().to_string_lossy()), program());
    let bits = summary
        .validation_bits_per_byte
        .map_or_else(String::new, |bits| format!(", and its best validation is {bits:.3} bits per byte"));
    let taken = thousands(summary.steps as usize);
    let text = match summary.ended {
        Ended::Finished if summary.steps >= steps && !untested => format!(
            "{folder} is finished: it has taken all of its {}{bits}\ntrain it longer with: {program} train \
             --resume {folder} --steps {}\n",
            counted(summary.steps as usize, "step"),
            2 * summary.steps
        ),
        Ended::EarlyStop if !patience_given && !untested => format!(
            "{folder} stopped early after step {taken}{bits}\ntrain it on with: {program} train --resume \
             {folder} --patience 0\n"
        ),
        Ended::NonFinite if summary.stays_non_finite(config) => format!(
            "{folder} is {}{bits}\nthere is nothing left to train; leave such steps out with: {program} train \
             --resume {folder} --on-bad-step skip\n",
            summary.ended_in_words()
        ),
        _ => return Ok(None),
    };
    Ok(Some((summary, text)))
}
