//! Where training goes on from: the newest good checkpoint or the very start, the same in every process.

use crate::error::Result;
use crate::run::Run;
use crate::setting::{Observer, Setting};
use crate::state::State;
use kuramoto_engine::{Arenas, Engine};

/// Restores the newest good checkpoint, if there is one, or starts from the seed. Process 0 alone reads the
/// folder, clears up what an interrupted save left, and gives the others what it found.
pub(crate) fn restore(
    engine: &mut dyn Engine,
    run: &Run,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Option<State>> {
    let found = if setting.leads() { run.newest(engine.layout())? } else { None };
    if setting.leads() {
        let refused = found.as_ref().map_or(&[][..], |found| &found.refused);
        for (folder, why) in refused {
            observer.warning(&format!("{why}; set aside {}", folder.display()));
        }
        run.tidy(setting.disk, refused)?;
        if let Some(found) = &found {
            run.settle(setting.disk, &found.loaded.state)?;
        }
    }
    let own =
        serde_json::to_vec(&found.as_ref().map(|found| &found.loaded.state)).expect("a state is plain data");
    let shared = setting.device.group().share(own);
    let state: Option<State> = serde_json::from_slice(&shared).expect("process 0 wrote it just now");
    match state {
        None => engine.start(run.config().seed)?,
        Some(_) => engine.load(found.as_ref().map(|found| {
            let (first, second) = &found.loaded.moments;
            Arenas { parameters: &found.loaded.parameters, moments: Some((first, second)) }
        }))?,
    }
    Ok(state)
}
