//! Seconds that one forward pass over 256 bytes takes, a line a call: what Python's `model.logits` is compared
//! with (`crates/python/benchmarks/speed.py`).

use kuramoto_model::NoHooks;
use kuramoto_train::{Run, Which};
use std::error::Error;
use std::time::Instant;

#[expect(clippy::print_stdout, reason = "an example prints what it measures")]
fn main() -> Result<(), Box<dyn Error>> {
    let cache = tempfile::tempdir()?;
    let model = kuramoto_models::find("enwik8-kuramoto-1m").expect("it is shipped");
    let run = Run::open(&model.unpack(cache.path())?)?;
    let (weights, _) = run.kuramoto(Which::Best)?;
    let text = b"The capital of France is Paris. ".repeat(8);
    let mut work = weights.workspace();
    for _ in 0..std::env::args().nth(1).map_or(Ok(200), |count| count.parse())? {
        let started = Instant::now();
        // The text is encoded anew, as every call from Python does.
        let tokens = run.corpus().encode("text", &text)?;
        weights.forward(&tokens, &mut work, &mut NoHooks)?;
        let logits = weights.logits(tokens.len(), &work);
        println!("{}", started.elapsed().as_secs_f64());
        drop(logits);
    }
    Ok(())
}
