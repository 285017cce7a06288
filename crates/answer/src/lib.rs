//! What the explorer's page asks of a model, and the answers.
//!
//! A [`Question`] is a text and how to change the model; a [`Model`] answers it with a [`Message`] of arrays
//! ([`inspect`]), with the [`pulls`] on a byte, or byte by byte with what it writes on ([`Writer`]).
//! A [`Simulation`] is the classical Kuramoto model beside it. Nothing
//! here knows files, threads or a network: the explorer's server answers with it, and so does the WebAssembly
//! module of the page without a server.

mod about;
mod classical;
mod elsewhere;
mod error;
mod inspect;
mod message;
mod model;
mod pulls;
mod question;
mod reading;
mod sample;
mod write;

pub use about::about;
pub use classical::{Simulation, SimulationQuestion};
pub use error::{Error, Result};
pub use inspect::inspect;
pub use message::Message;
pub use model::Model;
pub use pulls::{PullQuestion, pulls};
pub use question::{Part, Question, parse};
pub use sample::sample;
pub use write::{WriteQuestion, Writer};
