//! `kuramoto completions` and `kuramoto man`: the command line, for shells and `man`.

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::fs;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  kuramoto completions bash > ~/.local/share/bash-completion/completions/kuramoto
  kuramoto completions zsh > ~/.zfunc/_kuramoto
  kuramoto completions fish > ~/.config/fish/completions/kuramoto.fish")]
pub struct CompletionArguments {
    /// Which shell
    shell: Shell,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  kuramoto man ~/.local/share/man/man1 && man kuramoto-train")]
pub struct ManArguments {
    /// Folder for the pages; made if it is not there
    folder: PathBuf,
}

/// Prints the completions of a shell.
pub fn completions(mut command: Command, arguments: &CompletionArguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "kuramoto", &mut script);
    crate::print(&String::from_utf8(script)?)
}

/// Writes a page for the program and one for each of its commands.
pub fn man(command: Command, arguments: &ManArguments) -> Result<()> {
    let folder = &arguments.folder;
    let failed = || format!("cannot write man pages into {}", folder.display());
    fs::create_dir_all(folder).with_context(failed)?;
    clap_mangen::generate_to(command, folder).with_context(failed)?;
    crate::print(&format!("wrote {}\n", folder.join("kuramoto.1 and kuramoto-*.1").display()))
}
