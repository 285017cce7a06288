//! `kuramoto explore`: a local page to watch training and to look inside.

use anyhow::{Context, Result, bail};
use kuramoto_explorer::{Limits, Options, Server};
use kuramoto_train::data::default_cache;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub struct Arguments {
    /// Folder of runs [default: runs, and the models that come with the program]
    folder: Option<PathBuf>,
    /// Port; 0 for any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Address to listen on; others than 127.0.0.1 let other machines in
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Do not open a browser
    #[arg(long)]
    no_browser: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let folders = match &arguments.folder {
        Some(folder) if folder.is_dir() => vec![folder.clone()],
        Some(folder) => bail!("{} is not a folder: give a folder of runs", folder.display()),
        None => vec!["runs".into(), kuramoto_models::unpack_all(&default_cache())?],
    };
    let options = Options {
        folders,
        address: arguments.host,
        port: arguments.port,
        at_a_time: crate::threads(None)?,
        limits: Limits::default(),
    };
    let runtime = tokio::runtime::Runtime::new().context("the server cannot be started")?;
    runtime.block_on(async {
        let place = format!("{}:{}", arguments.host, arguments.port);
        let server = Server::bind(&options).await.with_context(|| format!("cannot listen on {place}"))?;
        crate::print(&format!("{}\n", server.link()))?;
        if !arguments.host.is_loopback() {
            crate::note(
                "warning: other machines can reach this page; whoever has the link can read these runs",
            );
        }
        crate::note("open the link; stop with Ctrl-C");
        if !arguments.no_browser {
            open(server.link());
        }
        // A page that is still open must not hold the program.
        tokio::select! {
            served = server.run() => served.context("the server failed"),
            stopped = tokio::signal::ctrl_c() => stopped.context("cannot listen to Ctrl-C"),
        }
    })
}

/// With what the system opens links with; if there is nothing, the link is printed anyway.
fn open(link: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    Command::new(program).arg(link).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok();
}
