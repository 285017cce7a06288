//! Where training goes on from: the newest good checkpoint or the very start, the same in every process.

use crate::disk::Disk;
use crate::error::Result;
use crate::run::Run;
use crate::setting::Observer;
use crate::state::State;
use kuramoto_model::{Engine, Network};

/// Takes the newest good checkpoint, if there is one, and clears up what an interrupted save left.
pub(crate) fn restore<N: Network<f32>>(
    engine: &mut Engine<f32, N>,
    run: &Run,
    disk: &dyn Disk,
    observer: &mut dyn Observer,
) -> Result<Option<State>> {
    let Some(found) = run.newest(engine.network().layout())? else {
        run.tidy(disk, &[])?;
        return Ok(None);
    };
    for (folder, why) in &found.refused {
        observer.warning(&format!("{why}; set aside {}", folder.display()));
    }
    run.tidy(disk, &found.refused)?;
    run.settle(disk, &found.loaded.state)?;
    engine.parameters_mut().copy_from_slice(&found.loaded.parameters);
    let (first, second) = engine.moments_mut();
    first.copy_from_slice(&found.loaded.moments.0);
    second.copy_from_slice(&found.loaded.moments.1);
    Ok(Some(found.loaded.state))
}

/// Gives all processes what process 0 restored, or how it starts.
pub(crate) fn spread<N: Network<f32>>(engine: &mut Engine<f32, N>, state: Option<State>, seed: u64) -> Option<State> {
    let group = engine.group().clone();
    let told = serde_json::to_vec(&state).expect("a state is plain data");
    let state: Option<State> = serde_json::from_slice(&group.share(told)).expect("it was written a line above");
    if state.is_none() {
        engine.initialize(seed);
    }
    // Not every machine need draw the same start to the last bit.
    group.broadcast(bytemuck::cast_slice_mut(engine.parameters_mut()));
    let (first, second) = engine.moments_mut();
    group.broadcast(bytemuck::cast_slice_mut(first));
    group.broadcast(bytemuck::cast_slice_mut(second));
    state
}
