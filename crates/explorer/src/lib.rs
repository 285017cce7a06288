//! A local web page to watch training and to inspect models: one process, one port, nothing fetched from
//! elsewhere.
//!
//! `server` has the routes, `connections` limits how many clients there are and how slow they may be, and
//! `guard` admits only requests that have the link's token; `catalogue` lists the runs under a folder and
//! reads their rows, which `live` streams; `models` keeps the models that answer (see [`kuramoto_answer`])
//! loaded. `site` writes the page as files, for hosts where no server runs.
//!
//! ```
//! use kuramoto_explorer::{Limits, Options, Server};
//!
//! # fn main() -> std::io::Result<()> {
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let options = Options {
//!     folders: vec!["runs".into()],
//!     address: [127, 0, 0, 1].into(),
//!     port: 0,
//!     at_a_time: 2,
//!     limits: Limits::default(),
//! };
//! let server = Server::bind(&options).await?;
//! assert!(server.link().starts_with("http://127.0.0.1:"));
//! let serving = tokio::spawn(server.run()); // until the program ends
//! # serving.abort();
//! # Ok(())
//! # })
//! # }
//! ```

mod assets;
mod book;
mod catalogue;
mod connections;
mod error;
mod guard;
mod live;
mod models;
mod server;
mod site;

pub use connections::Limits;
pub use server::{Options, Server};
pub use site::{Site, Written};
