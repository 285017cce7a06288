//! The paper's diagnostics of a trained model: its Figures 1 and 2, whether the model shows what they are said
//! to show, and other measures.

mod drift;
mod figures;
mod profile;
mod statements;
mod summary;
mod tables;
mod verdict;

pub use drift::Drift;
pub use figures::figures;
pub use profile::Profile;
pub use statements::{Case, Statement, statements};
pub use verdict::{
    NEAR_ONE, ORDER_MARGIN, OTHERS_MARGIN, RANGE_MARGIN, RATE_MARGIN, Verdict,
    explained as verdicts_explained,
};

use crate::error::Result;
use crate::metric;
use crate::surrogate::Surrogate;
use crate::survey::{Survey, SurveyRequest, Surveys, survey};
use kuramoto_report::{wrap, write};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Everything that is measured on a model at once.
pub struct Diagnostics {
    /// Measures of the model and of the surrogates that were asked for.
    pub surveys: Surveys,
    /// Measures of the same model before training, which verdicts need whether they were asked for or not.
    pub untrained: Survey,
    /// Its drift rates.
    pub drift: Drift,
    /// tau, the scale of its score.
    pub tau: f64,
    /// What the paper says of its model, judged for this one.
    pub statements: Vec<Statement>,
}

impl Diagnostics {
    /// Measures a model.
    pub fn of(request: &SurveyRequest<'_>) -> Result<Diagnostics> {
        let SurveyRequest { weights, against, .. } = *request;
        // The untrained model comes first, and goes from the list again if it was not asked for.
        let asked = against.iter().copied().filter(|surrogate| *surrogate != Surrogate::Untrained);
        let measured: Vec<Surrogate> = [Surrogate::Untrained].into_iter().chain(asked).collect();
        let mut surveys = survey(&SurveyRequest { against: &measured, ..*request })?;
        let (_, untrained) = surveys.against[0].clone();
        let place = |surrogate: Surrogate| against.iter().position(|other| *other == surrogate);
        surveys.against.retain(|(surrogate, _)| place(*surrogate).is_some());
        surveys.against.sort_by_key(|(surrogate, _)| place(*surrogate));

        let drift = Drift::of(weights);
        let statements = statements(&Case {
            trained: &Profile::of(&surveys.trained, &drift),
            untrained: &Profile::of(&untrained, &drift.at_start()),
            drift: drift.how,
        });
        Ok(Diagnostics { surveys, untrained, drift, tau: metric::tau(weights), statements })
    }

    /// A few lines for a person: how synchronized the model is, where, against what, and what the paper says.
    pub fn summary(&self) -> Vec<String> {
        summary::summary(self)
    }

    /// Writes `diagnostics.txt`, `measures.csv`, `oscillator-locking.csv`, `oscillators.csv`, `diagnostics.json` and the figures
    /// into a folder.
    pub fn write(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let Diagnostics { surveys, untrained, drift, statements, tau } = self;
        let json = serde_json::json!({
            "statements": statements,
            "tau": tau,
            "drift": drift,
            "survey": surveys.trained,
            "untrained": untrained,
        });
        let json = serde_json::to_string_pretty(&json)? + "\n";
        let mut files = vec![
            write(folder, "diagnostics.txt", self.text())?,
            write(folder, "measures.csv", tables::measures_csv(surveys))?,
            write(folder, "oscillator-locking.csv", tables::locking_csv(&surveys.locking))?,
            write(folder, "oscillators.csv", tables::oscillators_csv(&surveys.oscillators, drift))?,
            write(folder, "diagnostics.json", &json)?,
        ];
        for figure in figures(&surveys.trained, untrained, drift) {
            files.extend(figure.save(folder)?);
        }
        Ok(files)
    }

    /// Tables and statements as text, with what every measure means.
    pub fn text(&self) -> String {
        let mut text = format!("Measures by layer\n\n{}\n", tables::measures(&self.surveys.trained));
        if !self.surveys.against.is_empty() {
            text += "Distance to surrogates, in standard deviations of their windows, from the first layer to \
                     the last\n\n";
            writeln!(text, "{}", tables::distances(&self.surveys)).ok();
        }
        text += "What the paper says of its model, and this one\n\n";
        for line in wrap(&verdicts_explained(), 100) {
            writeln!(text, "{line}").ok();
        }
        for Statement { place, text: stated, verdict, because, .. } in &self.statements {
            writeln!(text, "\n{place}: {stated}: {}", verdict.words()).ok();
            wrap(because, 96).iter().for_each(|line| writeln!(text, "    {line}").unwrap_or_default());
        }
        write!(text, "\nWhat the measures mean (more in docs/phase.md#measures)\n\n{}", tables::explained())
            .ok();
        text
    }
}
