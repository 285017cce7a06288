//! `kuramoto train`: the main job.

mod advice;
mod arguments;
mod conclusion;
mod dry_run;

pub use arguments::Arguments;

use crate::device::check_build;
use crate::processes::{self, Follower};
use crate::progress::{Progress, Style};
use crate::signals::{self, Signals};
use crate::table::{counted, thousands};
use anyhow::{Context, Result};
use kuramoto_engine::Processes;
use kuramoto_train::run::Ended;
use kuramoto_train::{Config, Error, Identity, Overlay, Session, Setting};
use std::io::IsTerminal;
use std::process::ExitCode;

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let processes = Processes::join()?;
    let prepare = || {
        arguments.check(processes.group().size())?;
        if arguments.explain {
            check_build("--explain")?;
        }
        // The first process gives the others its configuration.
        let overlays = if processes.leads() { arguments.overlays()? } else { Vec::new() };
        if arguments.explain {
            return Ok((overlays, None));
        }
        Ok((overlays, Some(arguments.open_device(processes.group())?)))
    };
    let (overlays, opened) = match processes::in_all(&processes, prepare()) {
        Ok(prepared) => prepared,
        Err(error) => return processes::could_not_begin(&processes, error),
    };
    let Some(opened) = opened else {
        dry_run::explain(&arguments.new_run(&overlays), &arguments.device)?;
        return Ok(ExitCode::SUCCESS);
    };
    if arguments.dry_run {
        dry_run::run(&arguments.new_run(&overlays), &Setting::new(opened.device()), arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let setting =
        Setting { core_peak_flops: Some(opened.measure()?.peak_flops), ..Setting::new(opened.device()) };
    match open(arguments, &overlays, setting) {
        Ok(mut session) => {
            train(arguments, &processes, &mut session).or_else(|error| processes::failed(&processes, error))
        }
        Err(error) => processes::could_not_begin(&processes, error.into()),
    }
}

/// A new run, or the one to resume.
fn open<'a>(arguments: &Arguments, overlays: &[Overlay], setting: Setting<'a>) -> Result<Session<'a>, Error> {
    let Some(folder) = &arguments.resume else {
        return Session::create(&arguments.new_run(overlays), setting);
    };
    let kept: Vec<Overlay> =
        overlays.iter().filter(|overlay| overlay.origin != "--data-path").cloned().collect();
    Session::resume(folder, &kept, arguments.data_path(), &arguments.corpora(), setting)
}

fn train(arguments: &Arguments, processes: &Processes, session: &mut Session<'_>) -> Result<ExitCode> {
    // From here on there is something to save; until now a signal may end the process as it is.
    let signals = Signals::listen().context("cannot listen to signals")?;
    if !processes.leads() {
        session.train(&mut Follower(signals))?;
        return Ok(processes::FOLLOWED);
    }
    if arguments.resume.is_none() {
        note_other_name(session.run().config(), session.run().corpus());
        survey(session.run().config());
    } else if processes.group().size() == 1
        && let Some((summary, text)) =
            conclusion::already_done(session.run(), arguments.keys.patience.is_some())?
    {
        crate::print(&if arguments.json { serde_json::to_string(&summary)? + "\n" } else { text })?;
        return Ok(ExitCode::SUCCESS);
    }
    let style = match (arguments.json, std::io::stderr().is_terminal()) {
        (true, _) => Style::Json,
        (false, true) => Style::Bar,
        (false, false) => Style::Lines,
    };
    let mut progress = Progress::new(style, signals.clone());
    let outcome = session.train(&mut progress);
    progress.finish();
    let summary = outcome?;
    let printed = match arguments.json {
        true => crate::print(&format!("{}\n", serde_json::to_string(&summary)?)),
        false => crate::print(&conclusion::conclusion(session.run(), &summary, arguments.cache.as_deref())?),
    };
    // Where training stopped because nobody reads, nobody reads this either.
    if summary.ended != Ended::Interrupted {
        printed?;
    }
    Ok(match summary.ended {
        // Another process may be the one that got the signal.
        Ended::Interrupted if processes.group().size() > 1 && !signals.came() => {
            ExitCode::from(signals::TERMINATED)
        }
        Ended::Interrupted => ExitCode::from(signals.exit_code()),
        _ => ExitCode::SUCCESS,
    })
}

/// Says why a corpus has another name than its place or its files suggest, if so.
pub fn note_other_name(config: &Config, corpus: &Identity) {
    // What cannot be listed now could be read before: training does not need it any more.
    if let Some(why) = config.source().ok().and_then(|source| source.why_renamed(corpus)) {
        crate::note(&format!("note: {why}"));
    }
}

/// Says what a folder of files holds.
fn survey(config: &Config) {
    // What cannot be listed now could be read before: training does not need it any more.
    let Ok(Some(survey)) = config.source().and_then(|source| source.survey()) else { return };
    let folder = &config.data.corpus;
    let (files, bytes) = (counted(survey.files, "file"), thousands(survey.bytes as usize));
    crate::note(&format!("{folder}: {files} of {bytes} bytes in all"));
    let [first, others @ ..] = &survey.binary[..] else { return };
    let more = match others.len() {
        0 => "is".into(),
        more => format!("and {} are", counted(more, "other")),
    };
    crate::note(&format!(
        "warning: {} {more} not text (it has a zero byte): every byte of a corpus is learned; if that is not \
         meant, train on a folder of text only",
        first.display()
    ));
}
