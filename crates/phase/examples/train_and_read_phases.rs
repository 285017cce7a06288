//! Trains a small model, evaluates it on text it has never seen, and reads its phases.

#![allow(clippy::print_stdout)]

use kuramoto_engine::Cpu;
use kuramoto_phase::Trace;
use kuramoto_phase::order::global_order;
use kuramoto_train::{NewRun, Overlay, Session, Setting, Split, Which};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keys = "data.bytes = 60000\nlength = { steps = 40 }\nmodel = { width = 16, layers = 2 }";
    let folder = std::env::temp_dir().join(format!("kuramoto-example-{}", std::process::id()));
    let new = NewRun {
        overlays: vec![Overlay::parse("example", keys)?],
        folder: Some(folder),
        ..Default::default()
    };
    let device = Cpu::all_cores();
    let mut session = Session::create(&new, Setting::new(&device))?;
    let summary = session.train(&mut ())?;
    let test = session.evaluate(Which::Best, Split::Test)?;
    println!("{} parameters, {:.3} bits per byte", summary.parameters, test.bits_per_byte);

    let (weights, _) = session.run().kuramoto(Which::Best)?;
    let tokens = session.run().corpus().encode("text", b"Anna was a merry baker")?;
    let mut trace = Trace::new(weights.network());
    weights.forward(&tokens, &mut weights.workspace(), &mut trace)?;
    for (layer, phases) in trace.states.iter().enumerate() {
        println!("global order entering layer {layer}: {:.3}", global_order(phases, trace.k));
    }
    std::fs::remove_dir_all(session.run().folder())?;
    Ok(())
}
