//! Models in a web page: the answers of [`kuramoto_answer`] as a WebAssembly module.
//!
//! The module's interface (`exports`, in WebAssembly alone) is a few functions over one request and one response
//! in its memory, so that it needs no generated code around it; the page's worker calls them. [`Session`] is what
//! is behind them, and [`Description`] what the page fetches of a model besides its weights.

pub mod description;
// Names as short as these would clash with others in a native program.
#[cfg(target_arch = "wasm32")]
pub mod exports;
pub mod session;

pub use description::Description;
pub use session::{Refusal, Session};
