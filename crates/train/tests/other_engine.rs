//! The trainer knows engines only by their trait: a naive one, in f64 and on one thread, trains the same run.

mod common;

use common::{folder, outcome_curve, tiny, train_new};
use kuramoto_engine::{
    Arenas, Batch, Device, Engine, Evaluator, Group, Result, Shape, SingleProcess, Update,
};
use kuramoto_model::{Layout, ModelConfig, Network, NoHooks, SequenceDropout, Weights, with_network};
use kuramoto_train::disk::System;
use kuramoto_train::publish::publish;
use kuramoto_train::{Run, Session, Setting, Which};
use std::sync::Arc;

struct Naive;

impl Device for Naive {
    fn evaluation_bytes(&self, _: &ModelConfig, _: usize) -> Result<usize> {
        Ok(0)
    }

    fn planned_bytes(&self, _: &ModelConfig, _: &Shape) -> Result<usize> {
        Ok(0)
    }

    fn engine(&self, model: &ModelConfig, shape: &Shape) -> Result<Box<dyn Engine>> {
        with_network!(model, shape.context, |network| Ok(Box::new(NaiveEngine::new(network, 0))))
    }

    fn evaluator(
        &self,
        model: &ModelConfig,
        context: usize,
        parameters: &[f32],
    ) -> Result<Box<dyn Evaluator>> {
        let shape = Shape { sequences: 1, context, lanes: 1 };
        let mut engine = self.engine(model, &shape)?;
        engine.load(Some(Arenas { parameters, moments: None }))?;
        Ok(engine)
    }

    fn group(&self) -> Arc<dyn Group> {
        Arc::new(SingleProcess)
    }

    fn threads(&self, _: &Shape) -> usize {
        1
    }
}

struct NaiveEngine<N: Network<f64>> {
    weights: Weights<f64, N>,
    gradient: Vec<f64>,
    moments: [Vec<f64>; 2],
    /// What was read back: parameters and moments.
    read: [Vec<f32>; 3],
}

impl<N: Network<f64>> NaiveEngine<N> {
    fn new(network: N, seed: u64) -> Self {
        let count = network.layout().count();
        NaiveEngine {
            weights: Weights::initialized(network, seed),
            gradient: Vec::new(),
            moments: [vec![0.0; count], vec![0.0; count]],
            read: Default::default(),
        }
    }

    fn parameter_count(&self) -> usize {
        self.weights.parameters().len()
    }
}

fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

fn double(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

impl<N: Network<f64>> Evaluator for NaiveEngine<N> {
    fn evaluate(&mut self, batch: &Batch<'_>, sums: &mut [f64]) -> Result<()> {
        let mut work = self.weights.workspace();
        for (i, sum) in sums.iter_mut().enumerate() {
            let (tokens, targets) = batch.sequence(i);
            self.weights.forward(tokens, &mut work, &mut NoHooks)?;
            *sum = self.weights.losses(targets, &mut work)?.iter().sum();
        }
        Ok(())
    }
}

impl<N: Network<f64>> Engine for NaiveEngine<N> {
    fn device(&self) -> &str {
        "naive"
    }

    fn layout(&self) -> &Layout {
        self.weights.network().layout()
    }

    fn start(&mut self, seed: u64) -> Result<()> {
        // In the precision that is saved, so that a resumed run starts alike.
        self.weights.edit(|network, parameters| {
            network.initialize(seed, parameters);
            parameters.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        });
        Ok(())
    }

    fn load(&mut self, arenas: Option<Arenas<'_>>) -> Result<()> {
        let arenas = arenas.expect("there is one process");
        self.weights.edit(|_, parameters| parameters.copy_from_slice(&double(arenas.parameters)));
        if let Some((first, second)) = arenas.moments {
            self.moments = [double(first), double(second)];
        }
        Ok(())
    }

    fn gradient(&mut self, batch: &Batch<'_>, seed: u64, step: u64) -> Result<f64> {
        let network = self.weights.network();
        let (rate, weight) = (network.dropout(), 1.0 / batch.tokens.len() as f64);
        let (mut work, mut gradient) = (self.weights.workspace(), vec![0.0; network.gradient_len()]);
        let mut loss = 0.0;
        for i in 0..batch.sequences() {
            let (tokens, targets) = batch.sequence(i);
            let dropout = SequenceDropout { rate, seed, step, sequence: i as u64 };
            loss += self.weights.add_gradient(tokens, targets, dropout, weight, &mut work, &mut gradient);
        }
        self.weights.finish_gradient(&mut gradient);
        gradient.truncate(self.parameter_count());
        self.gradient = gradient;
        Ok(weight * loss)
    }

    fn norm(&mut self) -> Result<f64> {
        Ok(self.gradient.iter().map(|x| x * x).sum::<f64>().sqrt())
    }

    /// AdamW as its authors write it.
    fn update(&mut self, update: &Update, norm: f64) -> Result<()> {
        let Update { beta1, beta2, epsilon, step, .. } = *update;
        let (scale, [first, second], gradient) =
            (update.gradient_scale(norm), &mut self.moments, &self.gradient);
        self.weights.edit(|network, parameters| {
            for tensor in network.layout().tensors() {
                let (rate, decay) = (update.learning_rate_of(tensor), update.weight_decay_of(tensor));
                for i in tensor.slot.start..tensor.slot.start + tensor.slot.len {
                    let slope = scale * gradient[i];
                    first[i] = beta1 * first[i] + (1.0 - beta1) * slope;
                    second[i] = beta2 * second[i] + (1.0 - beta2) * slope * slope;
                    let mean = first[i] / (1.0 - beta1.powi(step as i32));
                    let variance = second[i] / (1.0 - beta2.powi(step as i32));
                    parameters[i] -= rate * (mean / (variance.sqrt() + epsilon) + decay * parameters[i]);
                }
            }
        });
        Ok(())
    }

    fn parameters(&mut self) -> Result<&[f32]> {
        self.read[0] = single(self.weights.parameters());
        Ok(&self.read[0])
    }

    fn arenas(&mut self) -> Result<Arenas<'_>> {
        self.read = [single(self.weights.parameters()), single(&self.moments[0]), single(&self.moments[1])];
        let [parameters, first, second] = &self.read;
        Ok(Arenas { parameters, moments: Some((first, second)) })
    }
}

#[test]
fn another_engine_gives_the_same_curve() {
    let changes = [
        "",
        "model = { kind = 'transformer' }",
        "validation.test = true",
        "optimizer.multipliers = { omega = 0.1, gates = 2, wv = 0.5 }",
    ];
    for changes in changes {
        let folder = folder();
        let (ours, theirs) = (folder.path().join("cpu"), folder.path().join("naive"));
        let expected = train_new(changes, &ours, 2);
        let (config, corpus) = tiny(changes);
        let run = Run::create(&System, &theirs, &config, corpus.identity()).unwrap();
        let mut session = Session::open(run, corpus, Setting::new(&Naive)).unwrap().unwrap();
        let found = session.train(&mut ()).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 2e-4, "{a} against {b}");
        for (a, b) in outcome_curve(&ours).into_iter().zip(outcome_curve(&theirs)) {
            near(a, b);
        }
        assert_eq!(found.test_bits_per_byte.is_some(), expected.test_bits_per_byte.is_some());
        if let Some((a, b)) = found.test_bits_per_byte.zip(expected.test_bits_per_byte) {
            near(a, b);
        }
    }
}

/// A run may move between engines at any checkpoint.
#[test]
fn a_run_moves_between_engines() {
    let folder = folder();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    train_new("", &whole, 2);
    let (config, corpus) = tiny("");
    let run = Run::create(&System, &parts, &config, corpus.identity()).unwrap();
    common::train(&run, &corpus, &System, 1, &mut common::StopAfter(5)).unwrap();
    let mut session = Session::open(run, corpus, Setting::new(&Naive)).unwrap().unwrap();
    let summary = session.train(&mut ()).unwrap();
    assert_eq!(summary.steps, 12);
    assert_eq!(summary.devices.iter().map(|stretch| stretch.from_step).collect::<Vec<_>>(), [1, 6]);
    let published = folder.path().join("published");
    publish(&System, session.run(), Which::Last, &published).unwrap();
    let card = std::fs::read_to_string(published.join("README.md")).unwrap();
    assert!(card.contains("from step 1; naive from step 6"), "{card}");
    for (a, b) in outcome_curve(&whole).into_iter().zip(outcome_curve(&parts)) {
        assert!((a - b).abs() < 2e-4, "{a} against {b}");
    }
}
