//! Where training goes on from: the newest good checkpoint or the very start, the same in every process.

use crate::error::{Error, Result};
use crate::run::{Found, Run};
use crate::setting::{Observer, Setting};
use crate::state::State;
use crate::warm_start;
use kuramoto_engine::{Arenas, Engine};
use kuramoto_model::Layout;

/// What was found in a run folder. Nothing is changed yet.
pub(crate) struct Start {
    /// Of process 0, which alone reads the folder.
    found: Option<Found>,
    /// The same in all processes; None at the very start.
    pub state: Option<State>,
}

impl Start {
    /// Looks for the newest good checkpoint of a run of `steps` steps.
    pub fn find(layout: &Layout, run: &Run, steps: u64, setting: &Setting<'_>) -> Result<Start> {
        let found = if setting.leads() { run.newest(layout)? } else { None };
        let state = found.as_ref().map(|found| &found.loaded.state);
        if let Some(State { step, .. }) = state.filter(|state| state.step > steps) {
            let why = format!("it has taken {step} steps already; {steps} are fewer: ask for more");
            return Err(Error::run(run.folder(), why));
        }
        let shared = setting.device.group().share(serde_json::to_vec(&state).expect("a state is plain data"));
        let state = serde_json::from_slice(&shared).expect("process 0 wrote it just now");
        Ok(Start { found, state })
    }

    /// Restores it, or starts from the seed, and clears up what an interrupted save left.
    pub fn restore(
        &self,
        engine: &mut dyn Engine,
        run: &Run,
        setting: &Setting<'_>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        if setting.leads() {
            let refused = self.found.as_ref().map_or(&[][..], |found| &found.refused);
            for (folder, why) in refused {
                observer.warning(&format!("{why}; set aside {}", folder.display()));
            }
            run.tidy(setting.disk, refused)?;
            if let Some(found) = &self.found {
                run.settle(setting.disk, &found.loaded.state)?;
            }
        }
        match self.state {
            None => {
                engine.start(run.config().seed)?;
                if let Some(from) = &run.config().init_from {
                    let layout = engine.layout().clone();
                    let seeded = engine.parameters()?;
                    let taken = match setting.leads() {
                        true => Some(warm_start::parameters(run.corpus(), from, &layout, seeded)?),
                        false => None,
                    };
                    engine.load(taken.as_ref().map(|parameters| Arenas { parameters, moments: None }))?;
                }
            }
            Some(_) => engine.load(self.found.as_ref().map(|found| {
                let (first, second) = &found.loaded.moments;
                Arenas { parameters: &found.loaded.parameters, moments: Some((first, second)) }
            }))?,
        }
        Ok(())
    }
}
