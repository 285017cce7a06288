//! What is learned: the Kuramoto Attention model and its parameter-matched transformer.
//!
//! A model is a configuration ([`ModelConfig`]), a named layout of one parameter arena ([`Layout`]) and a
//! [`Network`] ([`Kuramoto`], [`Transformer`]) that runs one sequence forward and backward on one core.
//! [`Weights`] is a network with its parameters: it runs text, with [`Hooks`] that read and change what
//! happens inside, and decodes.
//!
//! ```
//! use kuramoto_model::matching::match_width;
//! use kuramoto_model::{Kuramoto, KuramotoConfig, NoHooks, TransformerConfig, Weights};
//!
//! # fn main() -> kuramoto_model::Result<()> {
//! // The widths at which both models have about a million parameters, as in the paper.
//! assert_eq!(match_width(&KuramotoConfig::default().into(), 1_000_000)?.width, 176);
//! assert_eq!(match_width(&TransformerConfig::default().into(), 1_000_000)?.width, 120);
//!
//! // A small untrained model reads four tokens.
//! let config = KuramotoConfig { vocab: 4, width: 8, layers: 2, ..Default::default() };
//! let weights = Weights::<f32, _>::initialized(Kuramoto::new(config, 16)?, 0);
//! let mut work = weights.workspace();
//! weights.forward(&[0, 1, 2, 3], &mut work, &mut NoHooks)?;
//! assert_eq!(weights.logits(4, &work).len(), 4 * 4);
//! # Ok(())
//! # }
//! ```
//!
//! # Glossary
//!
//! Names in the code and symbols of the paper; n tokens, k oscillators, h heads, m outputs of all gate maps.
//! Every row is of `eq:layer`, Equation (1), unless it says otherwise. The book (`docs/model.md`) follows the
//! equation line by line to the stages, kernels and tests.
//!
//! | here | paper | shape | meaning |
//! |---|---|---|---|
//! | `theta` | theta_t | n x k | phase state in radians, wrapped only with `wrapped-angles` |
//! | `psi` | psi(theta_t) | n x 2k | the lift: cosines before sines |
//! | `preactivations` | W_q psi, W_k psi, v(theta) | n x m | outputs of all gate maps, side by side |
//! | `query_gate`, `key_gate` | g^q, g^k | n x k | diagonal metric (`app:metric`, Appendix A) |
//! | `inverse_mean_query`, `inverse_mean_key` | 1 / mean(g) | n x h | normalization in rho (Section 2.0.1) |
//! | `omega` | omega_j | k per layer | drift rates, the natural frequencies (Section 3.5) |
//! | `turned` | | n x 2k | psi turned by omega t, the values where they drift too |
//! | `tau` | tau | 1 | score scale, shared by all layers (`prop:coordasc`, Proposition 1) |
//! | `query`, `key` | | n x row | gated, drifted phasors; their dot products are the scores s |
//! | `coupling` | A | h x n x n | causal softmax of the scores (`prop:coordasc`, Proposition 1) |
//! | `resultant` | G | n x 2k | coupling-weighted mean of psi: real parts, then imaginary parts |
//! | (in [`kernels::tangent`]) | a | n x k | Kuramoto direction (`lem:weld`, Lemma 2) |
//! | (in `preactivations`) | v(theta_t) | n x k | signed value gate (`sec:valuepath`, Section 3.4) |
//! | `update` | v . a | n x k | gated direction, before its bound |
//! | `middle` | theta_t after its first update | n x k | input of the feed-forward block |
//! | `middle_psi` | psi of the same | n x 2k | input of the feed-forward block with `phase-feed-forward` |
//! | `feed_forward` | SwiGLU(theta_t) | n x k | second increment, before its bound |
//! | `update_rms`, `feed_forward_rms` | | n | sizes of both increments (Section 2.0.2) |
//! | `log_r1`, `log_r2` | | 1 per layer | logarithms of the radii of both bounds (Section 2.0.2) |
//! | `proto` | phi | V x k | prototype phases of the readout (Section 2.0.4) |
//! | `contracted_values`, `contracted_mean` | | n x 2rh | transport frame's values and mean (Table 3) |
//!
//! Nothing here knows threads, files or optimizers; how a training step is computed is in the crate
//! `kuramoto-engine`.
//!
//! [`kernels::tangent`]: kuramoto_kernels::tangent

pub mod ablation;
mod attention;
pub mod config;
pub mod corpus;
pub mod error;
pub mod flops;
pub mod hooks;
mod init;
pub mod kuramoto;
pub mod layout;
pub mod matching;
mod model_config;
pub mod network;
mod packed;
mod parallel;
pub mod random;
pub mod sampling;
pub mod transformer;
pub mod weight_file;
mod weights;
mod workspace;

pub use ablation::Ablation;
pub use config::{KuramotoConfig, TransformerConfig};
pub use error::{Error, Result};
pub use hooks::{Gates, Hooks, NoHooks};
pub use kuramoto::Kuramoto;
pub use layout::{Layout, ParameterKind, Slot, Tensor};
pub use model_config::{ModelConfig, ModelKind};
pub use network::{Network, Pass, SequenceDropout};
pub use transformer::Transformer;
pub use weights::{Decoder, Weights};
