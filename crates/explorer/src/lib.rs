//! A local web page to watch training and to look inside: one process, one port, nothing fetched from elsewhere.
//!
//! [`server`] puts the parts together and lets in only who has the link; [`catalogue`] knows the runs under a folder and
//! their rows; [`look`] runs a model on a text, with and without interventions; [`binary`] is how arrays travel.

mod assets;
pub mod binary;
pub mod catalogue;
mod error;
mod guard;
mod live;
pub mod look;
pub mod server;

pub use server::{Options, Server};
