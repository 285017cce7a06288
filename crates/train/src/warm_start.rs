//! Starting from the parameters of another run.
//!
//! The new run has the other's model. Its corpus may have other bytes: rows of embedding and readout are taken
//! byte by byte, and those of bytes that the other run never saw start as in any new run. Moments start at
//! zero. Step and hash of the weights are saved in the configuration, and so are part of its fingerprint.

use crate::checkpoint;
use crate::config::{Config, InitFrom};
use crate::data::Identity;
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::run::{Run, Which};
use kuramoto_model::{Layout, Tensor, Weights, with_network};
use std::path::Path;
use toml::{Table, Value};

/// Parameters of another run.
struct Source {
    run: Run,
    layout: Layout,
    parameters: Vec<f32>,
    step: u64,
    sha256: String,
}

impl Source {
    fn open(from: &InitFrom) -> Result<Source> {
        let run = Run::open(Path::new(&from.run))?;
        let which: Which = from.checkpoint.parse()?;
        let (layout, loaded) = with_network!(&run.config().model, run.config().batch.context, |network| {
            let layout = network.layout().clone();
            let loaded = run.load(which, &layout)?;
            (layout, loaded)
        });
        let step = loaded.state.step;
        let sha256 = checkpoint::weights_sha256(&checkpoint::folder(run.folder(), step), &run)?;
        Ok(Source { run, layout, parameters: loaded.parameters, step, sha256 })
    }

    /// Writes what is known here into the parameters of a new model.
    fn copy_into(&self, corpus: &Identity, layout: &Layout, parameters: &mut [f32]) -> Result<()> {
        let known = self.run.corpus().tokens();
        for tensor in layout.tensors() {
            let own = self.layout.find(&tensor.name).filter(|own| same_shape(own, tensor));
            let Some(own) = own else { return Err(self.other_model(&tensor.name)) };
            let (from, to) = (own.slot.slice(&self.parameters), tensor.slot.slice_mut(parameters));
            if !tensor.has_a_row_per_byte() {
                to.copy_from_slice(from);
                continue;
            }
            let width = to.len() / corpus.vocabulary.len();
            for (row, byte) in to.chunks_exact_mut(width).zip(&corpus.vocabulary) {
                if let Some(token) = known[usize::from(*byte)] {
                    row.copy_from_slice(&from[usize::from(token) * width..][..width]);
                }
            }
        }
        match layout.tensors().len() == self.layout.tensors().len() {
            true => Ok(()),
            false => Err(self.other_model("its tensors")),
        }
    }

    fn other_model(&self, what: &str) -> Error {
        let why = format!(
            "{what} of its model and of the new one are not alike: leave out flags that change the model's \
             width, layers or blocks"
        );
        Error::Config { origin: format!("--init-from {}", self.run.folder().display()), why }
    }
}

/// The same but for the number of rows, where each belongs to a byte.
fn same_shape(a: &Tensor, b: &Tensor) -> bool {
    match a.has_a_row_per_byte() {
        true => a.shape[1..] == b.shape[1..],
        false => a.shape == b.shape,
    }
}

/// Where overlays name a run to start from: its model, to be laid under them.
pub(crate) fn model(overlays: &[Overlay]) -> Result<Option<Overlay>> {
    let run = |overlay: &Overlay| overlay.table.get("init-from")?.get("run")?.as_str().map(String::from);
    let Some(path) = overlays.iter().rev().find_map(run) else { return Ok(None) };
    let run = Run::open(Path::new(&path))?;
    let config = run.config();
    let kind = |overlay: &Overlay| overlay.table.get("model")?.get("kind")?.as_str().map(String::from);
    if let Some(kind) = overlays.iter().rev().find_map(kind)
        && kind != config.model.kind().name()
    {
        let why = format!("it is a {} run: a {kind} cannot start from it", config.model.kind());
        return Err(Error::Config { origin: format!("--init-from {path}"), why });
    }
    let mut model = Table::try_from(&config.model).expect("a configuration is plain data");
    model.remove("vocab");
    let mut table = Table::from_iter([("model".to_string(), Value::Table(model))]);
    table.insert("budget".into(), Value::Integer(config.budget as i64));
    Ok(Some(Overlay { origin: format!("--init-from {path}"), table }))
}

/// Fills in which parameters are taken, and makes sure that they fit.
pub(crate) fn resolve(config: &mut Config, corpus: &Identity) -> Result<()> {
    let Some(from) = &config.init_from else { return Ok(()) };
    let source = Source::open(from)?;
    with_network!(&config.model, config.batch.context, |network| {
        let layout = network.layout();
        source.copy_into(corpus, layout, &mut vec![0.0; layout.count()])?;
    });
    let known = source.run.corpus().tokens();
    let folder =
        std::path::absolute(source.run.folder()).unwrap_or_else(|_| source.run.folder().to_path_buf());
    let Some(folder) = folder.to_str() else {
        return Err(Error::run(&folder, "its path is not UTF-8, so no configuration can name it"));
    };
    config.init_from = Some(InitFrom {
        run: folder.into(),
        checkpoint: format!("step-{}", source.step),
        step: source.step,
        sha256: source.sha256,
        known_bytes: corpus.vocabulary.iter().filter(|&&byte| known[usize::from(byte)].is_some()).count(),
    });
    Ok(())
}

/// The parameters that a run starts from, over those of its seed.
pub(crate) fn parameters(
    corpus: &Identity,
    from: &InitFrom,
    layout: &Layout,
    seeded: &[f32],
) -> Result<Vec<f32>> {
    let source = Source::open(from)?;
    if source.sha256 != from.sha256 {
        let why = "its weights are not those that the run was to start from";
        return Err(Error::run(source.run.folder(), why));
    }
    let mut parameters = seeded.to_vec();
    source.copy_into(corpus, layout, &mut parameters)?;
    Ok(parameters)
}

impl Config {
    /// The parameters that training starts from, in the order of the model's layout, for other programs: of the
    /// seed, or of the run that it starts from.
    pub fn starting_parameters(&self, corpus: &Identity) -> Result<Vec<f32>> {
        with_network!(&self.model, self.batch.context, |network| {
            let weights = Weights::<f32, _>::initialized(network, self.seed);
            match &self.init_from {
                Some(from) => parameters(corpus, from, weights.network().layout(), weights.parameters()),
                None => Ok(weights.parameters().to_vec()),
            }
        })
    }
}
