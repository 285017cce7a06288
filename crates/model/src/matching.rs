//! Parameter counts and matched widths.
//!
//! Depth, heads, vocabulary and budget are fixed; widths are the multiples of lcm(4, heads); the width whose
//! count is nearest to the budget is taken, the smaller one of a tie. Widths that the configuration refuses are
//! skipped.

use crate::config::MAX_WIDTH;
use crate::error::{Error, Result, within};
use crate::model_config::ModelConfig;

/// A width and the parameters it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// k of the Kuramoto model, or d of the transformer.
    pub width: usize,
    /// How many the model has at that width.
    pub parameters: usize,
}

/// The width nearest to `budget` parameters, all else as in `config`.
pub fn match_width(config: &ModelConfig, budget: usize) -> Result<Matched> {
    let mut config = config.clone();
    nearest(config.heads(), budget, |width| {
        *config.width_mut() = width;
        config.parameters()
    })
}

fn nearest(heads: usize, budget: usize, mut count: impl FnMut(usize) -> Result<usize>) -> Result<Matched> {
    within("heads", heads, 1..=MAX_WIDTH / 4)?;
    let step = [1, 2, 4].map(|by| by * heads).into_iter().find(|s| s % 4 == 0).unwrap_or(4 * heads);
    let mut matched = |i: usize| count(i * step).map(|parameters| Matched { width: i * step, parameters });
    let mut high = MAX_WIDTH / step;
    let largest = matched(high)?;
    // Narrow models may be refused, such as those whose heads are narrower than the rank of their transport.
    let mut low = (1..high).find(|&i| matched(i).is_ok()).unwrap_or(high);
    let smallest = matched(low)?;
    if budget == 0 || budget > largest.parameters {
        return Err(Error::Field {
            field: "budget",
            value: budget.to_string(),
            allowed: format!(
                "with these layers, heads and vocabulary it must be from 1 to {}",
                largest.parameters
            ),
        });
    }
    if budget <= smallest.parameters {
        return Ok(smallest);
    }
    // Counts grow with the width: close in on the two widths around the budget.
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if matched(middle)?.parameters < budget { low = middle } else { high = middle }
    }
    let (below, above) = (matched(low)?, matched(high)?);
    Ok(if budget - below.parameters <= above.parameters - budget { below } else { above })
}

/// Reads a number of parameters such as `1M`, `250k`, `1.5m` or `1_003_386`.
pub fn parse_budget(text: &str) -> Result<usize> {
    let plain: String = text.trim().chars().filter(|c| *c != '_' && *c != ',').collect();
    let (digits, unit) = match plain.char_indices().last() {
        Some((at, 'k' | 'K')) => (&plain[..at], 1e3),
        Some((at, 'm' | 'M')) => (&plain[..at], 1e6),
        _ => (plain.as_str(), 1.0),
    };
    match digits.parse::<f64>() {
        Ok(number) if (1.0..=1e12).contains(&(number * unit)) => Ok((number * unit).round() as usize),
        _ => Err(Error::Field {
            field: "budget",
            value: format!("{text:?}"),
            allowed: "write a number of parameters from 1 to 1e12, such as 1M, 250k or 1003386".into(),
        }),
    }
}
