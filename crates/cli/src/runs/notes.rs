//! `kuramoto runs note`, `tag` and `remove`: what people do with a run besides training it.

use crate::program::{program, quoted};
use crate::table::counted;
use crate::wrong;
use anyhow::{Context, Result};
use kuramoto_train::disk::System;
use kuramoto_train::listing::Listed;
use kuramoto_train::{Error, Run};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct NoteArguments {
    /// Run folder
    run: PathBuf,
    /// The note, in place of the one that is there; "" removes it. Without it, the note is printed
    text: Option<String>,
}

#[derive(clap::Args)]
pub struct TagArguments {
    /// Run folder
    run: PathBuf,
    /// Tags to add
    #[arg(required = true)]
    tags: Vec<String>,
    /// Take these tags away instead
    #[arg(long)]
    remove: bool,
}

#[derive(clap::Args)]
pub struct RemoveArguments {
    /// Run folder
    run: PathBuf,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub fn note(arguments: &NoteArguments) -> Result<()> {
    let run = Run::open(&arguments.run)?;
    let mut notes = run.notes()?;
    let Some(text) = &arguments.text else { return crate::print(&format!("{}\n", notes.note)) };
    let before = std::mem::replace(&mut notes.note, text.trim().into());
    run.save_notes(&System, &notes)?;
    if !before.is_empty() && before != notes.note {
        crate::note(&format!("the note was: {before}"));
    }
    Ok(())
}

pub fn tag(arguments: &TagArguments) -> Result<()> {
    let run = Run::open(&arguments.run)?;
    let mut notes = run.notes()?;
    for tag in &arguments.tags {
        if tag.is_empty() || tag.contains(|c: char| c.is_whitespace() || c == ',' || c.is_control()) {
            return Err(wrong("tag", format!("{tag:?}"), "a tag is a word without spaces and commas").into());
        }
        match arguments.remove {
            true => drop(notes.tags.remove(tag)),
            false => drop(notes.tags.insert(tag.clone())),
        }
    }
    run.save_notes(&System, &notes)?;
    let tags: Vec<String> = notes.tags.into_iter().collect();
    crate::print(&format!("{}\n", if tags.is_empty() { "no tags".into() } else { tags.join(", ") }))
}

pub fn remove(arguments: &RemoveArguments) -> Result<()> {
    let (run, listed) = (Run::open(&arguments.run)?, Listed::read(&arguments.run)?);
    let folder = quoted(&arguments.run.to_string_lossy());
    let (files, bytes) = contents(run.folder()).with_context(|| format!("cannot list {folder}"))?;
    let what = format!(
        "{folder} ({}, {}; {}, {})",
        listed.status,
        counted(listed.steps as usize, "step"),
        counted(files, "file"),
        indicatif::DecimalBytes(bytes)
    );
    if !arguments.yes {
        if !io::stdin().is_terminal() {
            let why = format!("give it to remove {what} without being asked");
            return Err(Error::Config { origin: "--yes".into(), why }.into());
        }
        write!(io::stderr(), "remove {what} for good? [y/N] ")?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return crate::print("nothing was removed\n");
        }
    }
    run.remove()?;
    let left = arguments.run.parent().filter(|parent| *parent != Path::new("runs"));
    let left = left.map_or_else(String::new, |parent| format!(" {}", quoted(&parent.to_string_lossy())));
    crate::print(&format!("removed {what}; `{} runs{left}` lists the others\n", program()))
}

/// Files in a folder and their bytes.
fn contents(folder: &Path) -> io::Result<(usize, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let (inner, more) = contents(&entry.path())?;
            (files, bytes) = (files + inner, bytes + more);
        } else {
            (files, bytes) = (files + 1, bytes + entry.metadata()?.len());
        }
    }
    Ok((files, bytes))
}
