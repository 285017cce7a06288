//! `kuramoto site`: the explorer's page as files.

use anyhow::Result;
use kuramoto_explorer::Site;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folder to write, which must be new or empty
    out: PathBuf,
    /// WebAssembly module; crates/web/site.sh builds it and calls this command
    #[arg(long, value_name = "FILE")]
    module: PathBuf,
    /// Folder of runs [default: the models that come with the program]
    #[arg(long, value_name = "FOLDER")]
    runs: Option<PathBuf>,
    /// Documentation as HTML, to be served with it
    #[arg(long, value_name = "FOLDER")]
    book: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    // Not the cache, which may hold checkpoints of models that another build of the program came with.
    let unpacked = tempfile::tempdir()?;
    let runs = match &arguments.runs {
        Some(folder) => folder.clone(),
        None => kuramoto_models::unpack_all(unpacked.path())?,
    };
    let site = Site { folders: vec![runs], module: arguments.module.clone(), book: arguments.book.clone() };
    let written = site.write(&arguments.out)?;
    let megabytes = written.bytes as f64 / 1e6;
    let runs = crate::table::counted(written.runs, "run");
    crate::note(&format!(
        "{}: {runs}, {megabytes:.1} MB; any web server can serve it",
        arguments.out.display()
    ));
    Ok(())
}
