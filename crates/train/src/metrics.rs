//! `metrics.jsonl`: one row a step, keyed by step, only ever added to.

use crate::disk::{self, Disk};
use crate::error::{At, Result};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, ErrorKind};
use std::mem;
use std::path::Path;

/// One step. All but the last three fields are the same bits in every repetition of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which step, from 1.
    pub step: u64,
    /// Passes over the training split so far.
    pub epoch: f64,
    /// Bytes read so far.
    pub tokens: u64,
    /// Loss of this step's batch.
    #[serde(deserialize_with = "number")]
    pub train_bits_per_byte: f64,
    /// Global norm of the gradient, before clipping.
    #[serde(deserialize_with = "number")]
    pub gradient_norm: f64,
    /// Learning rate of this step.
    #[serde(deserialize_with = "number")]
    pub learning_rate: f64,
    /// Why the step was not applied, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad: Option<String>,
    /// Of the validation after this step, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_bits_per_byte: Option<f64>,
    /// In the first row: fewest bits per byte that are possible on what is validated, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor_bits_per_byte: Option<f64>,
    /// True if that was the best so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<bool>,
    /// At a validation: the value of every single-number parameter, and the mean size of every layer's drift
    /// rates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, f64>,
    /// In the first row, and where it is another than before: what computed this step and those that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Seconds of training so far.
    #[serde(deserialize_with = "number")]
    pub seconds: f64,
    /// Of this step.
    #[serde(deserialize_with = "number")]
    pub tokens_per_second: f64,
    /// Share of the machine's multiply-add peak, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
}

/// JSON has no NaN and no infinity: they are written as null.
fn number<'de, D: serde::Deserializer<'de>>(input: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or(f64::NAN))
}

impl Row {
    /// As a line of the file.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a row is plain data") + "\n"
    }
}

/// Every whole row of a file; a torn last line is passed over.
pub fn read(path: &Path) -> Result<Vec<Row>> {
    Ok(parse(&disk::read(path).at("read", path)?))
}

/// Every whole row of part of a file.
pub fn parse(text: &[u8]) -> Vec<Row> {
    text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// What a list of runs tells of a file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Glance {
    pub first: Option<Row>,
    pub last: Option<Row>,
    /// Of the validations, the least bits per byte.
    pub best: Option<f64>,
}

/// Parses the first row, the last and those with a validation; a torn last line is passed over. A run of the
/// paper's length has 275,000 rows, and a page that watches it looks again and again: to parse them all would
/// take time from training.
pub(crate) fn glance(mut file: impl BufRead) -> Glance {
    let row = |line: &[u8]| serde_json::from_slice::<Row>(line).ok();
    let validation = memmem::Finder::new("\"validation_bits_per_byte\"");
    let mut glance = Glance::default();
    let (mut line, mut last) = (Vec::new(), Vec::new());
    while file.read_until(b'\n', &mut line).is_ok() && line.ends_with(b"\n") {
        if glance.first.is_none() {
            glance.first = row(&line);
        }
        if validation.find(&line).is_some() {
            let bits = row(&line).and_then(|row| row.validation_bits_per_byte);
            glance.best = glance.best.into_iter().chain(bits).min_by(f64::total_cmp);
        }
        mem::swap(&mut line, &mut last);
        line.clear();
    }
    Glance { last: row(&last), ..glance }
}

/// What a file of rows will hold once it ends after a step. Nothing is changed yet.
pub(crate) struct Rewind {
    kept: Vec<u8>,
    changed: bool,
    /// Lines that are whole but no rows, or rows of a step that does not belong there, counted from 1. They are
    /// kept: they may be mended by hand.
    pub damaged: Vec<usize>,
    /// Rows that should be there and are not: every step has one.
    pub missing: u64,
}

impl Rewind {
    /// Of a file that is to end after `step`: later rows, which a resumed run writes again, and a torn last
    /// line go.
    pub fn read(path: &Path, step: u64) -> Result<Rewind> {
        #[derive(Deserialize)]
        struct Key {
            step: u64,
        }
        let text = match disk::read(path) {
            // A link that leads nowhere is there, and could not be written to either.
            Err(_) if fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) => {
                Vec::new()
            }
            text => text.at("read", path)?,
        };
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        let steps: Vec<Option<u64>> =
            lines.iter().map(|line| serde_json::from_slice::<Key>(line).ok().map(|key| key.step)).collect();
        let (mut kept, mut damaged) = (Vec::with_capacity(text.len()), Vec::new());
        let (mut count, mut last, mut past) = (0, 0, false);
        for (i, line) in lines.into_iter().enumerate() {
            past = steps[i].map_or(past, |own| own > step);
            if past || !line.ends_with(b"\n") {
                continue;
            }
            kept.extend_from_slice(line);
            count += 1;
            // Rows may be missing before this one. But a step that the next row falls behind is a damaged number.
            let next = steps.get(i + 1).copied().flatten();
            let fits = |own: &u64| *own == last + 1 || (*own > last && next.is_none_or(|next| next > *own));
            match steps[i].filter(fits) {
                Some(own) => last = own,
                None => damaged.push(i + 1),
            }
        }
        Ok(Rewind { changed: kept != text, kept, damaged, missing: step.saturating_sub(count) })
    }

    /// Changes the file; returns its length.
    pub fn apply(&self, disk: &dyn Disk, path: &Path) -> Result<u64> {
        if self.changed {
            disk::replace(disk, path, &self.kept)?;
        }
        Ok(self.kept.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glance_tells_what_all_rows_tell() {
        let row = |step: u64, validation: Option<f64>| {
            let bad = (step == 2).then(|| "\"validation_bits_per_byte\":0".to_string());
            Row { step, bad, validation_bits_per_byte: validation, ..Row::default() }.to_line()
        };
        let rows = [
            row(1, None),
            row(2, None),
            row(3, Some(2.5)),
            row(4, Some(2.25)),
            row(5, Some(3.0)),
            row(6, None),
        ];
        let whole = rows.concat();
        // Cut anywhere, as by a process that died while it wrote.
        for end in 0..=whole.len() {
            let text = &whole.as_bytes()[..end];
            let all = parse(&text[..whole[..end].rfind('\n').unwrap_or(0)]);
            let best = all.iter().filter_map(|row| row.validation_bits_per_byte).min_by(f64::total_cmp);
            assert_eq!(glance(text), Glance { first: all.first().cloned(), last: all.last().cloned(), best });
        }
    }

    /// A digit of a step may have become another one.
    #[test]
    fn rows_out_of_place_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let found = |steps: &[u64]| {
            let lines: String = steps.iter().map(|step| format!("{{\"step\":{step}}}\n")).collect();
            fs::write(&path, lines).unwrap();
            let rewind = Rewind::read(&path, 6).unwrap();
            (rewind.damaged, rewind.missing)
        };
        assert_eq!(found(&[1, 2, 3, 4, 5, 6]), (vec![], 0));
        assert_eq!(found(&[1, 2, 3, 4, 5, 6, 7, 8]), (vec![], 0), "later rows go");
        assert_eq!(found(&[1, 2, 1, 4, 5, 6]), (vec![3], 0));
        assert_eq!(found(&[1, 6, 3, 4, 5, 6]), (vec![2], 0));
        assert_eq!(found(&[1, 2, 3, 4, 5, 2]), (vec![6], 0));
        assert_eq!(found(&[1, 2, 3, 4, 5, 9]), (vec![], 1), "a row of a later step");
        assert_eq!(found(&[1, 2, 5, 6]), (vec![], 2), "rows were lost");
    }
}
