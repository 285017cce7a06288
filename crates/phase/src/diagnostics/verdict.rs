//! Verdicts: whether a model shows what the paper says of its own, beyond what it had before training and
//! beyond what a token's coupling with itself gives for free.

use serde::Serialize;

/// What "near one" means for an order parameter or an alignment.
pub const NEAR_ONE: f64 = 0.9;
/// Difference of two order parameters or alignments that counts.
pub const ORDER_MARGIN: f64 = 0.05;
/// Difference of two rates that counts, as a share of the mean rate at the start.
pub const RATE_MARGIN: f64 = 0.1;
/// Ratio of two coupling ranges that counts.
pub const RANGE_MARGIN: f64 = 1.5;
/// Share of a token's coupling that other tokens must have for drift to have any effect: with itself, at
/// distance 0, nothing drifts.
pub const OTHERS_MARGIN: f64 = 0.05;

/// Whether a model shows what the paper says of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As stated, beyond the untrained model and without the help of coupling with oneself.
    Shown,
    /// What there is of it, the untrained model has as well.
    FromTheStart,
    /// Training brought some of it, or all of it by coupling with oneself alone.
    InPart,
    /// Not even the main part of it.
    NotHere,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Shown => "shown",
            Verdict::FromTheStart => "from the start",
            Verdict::InPart => "in part",
            Verdict::NotHere => "not here",
        }
    }
}

/// What a verdict follows from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// The model has all that is stated.
    pub stated: bool,
    /// It has the main part of it.
    pub part: bool,
    /// It is further in the stated direction than the untrained model, by a margin.
    pub beyond_start: bool,
    /// It has it without what a token's coupling with itself gives.
    pub beyond_self: bool,
}

impl Evidence {
    pub fn verdict(self) -> Verdict {
        match self {
            Evidence { stated: false, part: false, .. } => Verdict::NotHere,
            Evidence { beyond_start: false, .. } => Verdict::FromTheStart,
            Evidence { stated: true, beyond_self: true, .. } => Verdict::Shown,
            _ => Verdict::InPart,
        }
    }
}

/// The vocabulary and the margins, as text.
pub fn explained() -> String {
    format!(
        "shown: as stated, by a margin beyond the untrained model (same configuration and seed, at step 0), and \
         without what a token's coupling with itself gives for free\n\
         from the start: the untrained model has what there is of it, within the margin\n\
         in part: training brought some of it, or all of it through coupling with oneself\n\
         not here: not even the main part of it\n\
         Margins: near one is at least {NEAR_ONE}; order parameters and alignments differ by {ORDER_MARGIN}, rates \
         by {RATE_MARGIN} of the mean rate at the start, coupling ranges by a factor of {RANGE_MARGIN}; drift \
         counts where other tokens have at least {OTHERS_MARGIN} of the coupling."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_has_its_verdict() {
        let of = |stated, part, beyond_start, beyond_self| {
            Evidence { stated, part, beyond_start, beyond_self }.verdict()
        };
        for part in [true, false] {
            assert_eq!(of(true, part, true, true), Verdict::Shown);
            assert_eq!(of(true, part, true, false), Verdict::InPart);
            for beyond_self in [true, false] {
                assert_eq!(of(true, part, false, beyond_self), Verdict::FromTheStart);
            }
        }
        for beyond_self in [true, false] {
            assert_eq!(of(false, true, true, beyond_self), Verdict::InPart);
            assert_eq!(of(false, true, false, beyond_self), Verdict::FromTheStart);
            for beyond_start in [true, false] {
                assert_eq!(of(false, false, beyond_start, beyond_self), Verdict::NotHere);
            }
        }
    }

    #[test]
    fn the_explanation_has_every_word() {
        let text = explained();
        for verdict in [Verdict::Shown, Verdict::FromTheStart, Verdict::InPart, Verdict::NotHere] {
            assert!(text.lines().any(|line| line.starts_with(&format!("{}: ", verdict.words()))), "{text}");
        }
    }
}
