//! A local web page to watch training and to inspect models: one process, one port, nothing fetched from
//! elsewhere.
//!
//! `server` has the routes, `connections` limits how many clients there are and how slow they may be, and
//! `guard` admits only requests that have the link's token; `catalogue` lists the runs under a folder and reads their rows, which `live` streams; `inspect` runs a
//! model on a text, with and without interventions; `message` is the format of the arrays it sends.

mod assets;
mod catalogue;
mod connections;
mod error;
mod guard;
mod inspect;
mod live;
mod message;
mod server;

pub use connections::Limits;
pub use server::{Options, Server};
