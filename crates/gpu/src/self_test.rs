//! A test that a device must pass before it is trusted: its functions, its products, and the gradients of two
//! small models with dropout, against the processor in f64. A driver that computes wrongly is refused, with
//! what is wrong and by how much.

use crate::arenas::Mode;
use crate::builder::{Builder, Rows, THREADS, kernel};
use crate::device::Gpu;
use crate::engine::GpuEngine;
use crate::memory;
use crate::plan::Plan;
use crate::product::{Causal, Load, Product};
use crate::program::Program;
use kuramoto_engine::{Arenas, Batch, Cpu, Engine, Result, Shape, cpu::CpuEngine};
use kuramoto_model::{
    Kuramoto, KuramotoConfig, ModelConfig, Network, Transformer, TransformerConfig, random,
};

/// Largest error of a function, absolute or of its value, whichever is smaller.
const FUNCTION: f64 = 2e-6;
/// Largest error of a product of matrices, as a part of its size.
const PRODUCT: f64 = 1e-6;
/// Largest error of a tensor's gradient, as a part of its norm.
const TENSOR: f64 = 1e-4;
/// Angles up to so many radians are tested: about as far as phases that are never wrapped get.
const ANGLES: f64 = 1000.0;
const SEQUENCES: usize = 3;
const TOKENS: usize = 37;

/// What a device showed.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Largest error of a function, and which.
    pub function: (f64, &'static str),
    /// Largest error of a product of matrices.
    pub product: f64,
    /// Largest error of a tensor's gradient, and which.
    pub tensor: (f64, String),
    /// Numbers below 1.2e-38 become zero. Either is good: nothing depends on them.
    pub flushes_subnormal: bool,
}

/// Tests a device, or says what it computes wrongly.
pub fn self_test(gpu: &Gpu) -> Result<Findings> {
    self_test_of(gpu, &|_| {})
}

/// Tests a device whose plans are changed before they run: with a wrong kernel it must fail.
pub fn self_test_of(gpu: &Gpu, change: &dyn Fn(&mut Plan)) -> Result<Findings> {
    let (function, flushes_subnormal) = functions(gpu, change)?;
    let product = products(gpu, change)?;
    let kuramoto = KuramotoConfig { vocab: 19, width: 24, layers: 2, heads: 2, ..Default::default() };
    let transformer = TransformerConfig { vocab: 19, width: 24, layers: 1, heads: 2, ..Default::default() };
    let network = Kuramoto::new(kuramoto.clone(), TOKENS)?;
    let first = gradient(gpu, &kuramoto.into(), network, change)?;
    let network = Transformer::new(transformer.clone(), TOKENS)?;
    let second = gradient(gpu, &transformer.into(), network, change)?;
    let tensor = if first.0 > second.0 { first } else { second };
    Ok(Findings { function, product, tensor, flushes_subnormal })
}

/// The worst error of a function, and whether subnormal numbers are flushed.
fn functions(gpu: &Gpu, change: &dyn Fn(&mut Plan)) -> Result<((f64, &'static str), bool)> {
    let inputs: Vec<[f32; 2]> = (0..4096)
        .map(|i| {
            // Ever larger steps, of both signs, with positions up to those of a long context.
            let size = ANGLES * (f64::from(i) / 4095.0).powi(3);
            // The product is an angle of learned rates at the end of a context; far beyond, f32 has no digits
            // left.
            let position = f64::from(i % 512).min(8.0 * ANGLES / size.max(1.0)).floor();
            [if i % 2 == 0 { size as f32 } else { -size as f32 }, position as f32]
        })
        .collect();
    let mut builder = Builder::new(format!("const COUNT: u32 = {}u;", inputs.len()), None);
    let (given, out) =
        (builder.buffer("inputs", 2 * inputs.len()), builder.buffer("outputs", 8 * inputs.len()));
    let subnormal = builder.buffer("subnormal", 2);
    builder.rows(Rows {
        name: "functions",
        text: kernel!("functions"),
        entry: "functions",
        flags: &[],
        constants: String::new(),
        bindings: &[("inputs", given), ("outputs", out), ("subnormal", subnormal)],
        groups: [inputs.len().div_ceil(THREADS), 1, 1],
    });
    let forward = builder.take();
    let mut plan = Plan { forward, ..builder.plan };
    change(&mut plan);
    let program = Program::new(gpu.opened().clone(), &plan, out.len + subnormal.len)?;
    program.write(given, inputs.as_flattened());
    program.write(subnormal, &[f32::MIN_POSITIVE]);
    program.run(&[], &[&program.forward]);
    let [out, subnormal] = program.read([out, subnormal])?;
    let mut worst = (0.0, "");
    for ([x, t], found) in inputs.iter().zip(out.chunks(8)) {
        for ((name, expected), &found) in expected(f64::from(*x), f64::from(*t)).into_iter().zip(found) {
            let error = (f64::from(found) - expected).abs() / expected.abs().max(1.0);
            if error.is_nan() || error > FUNCTION {
                let why = format!(
                    "it computes {name} of {x} as {found} instead of {expected:.9}: update its driver, or {}",
                    instead(gpu)
                );
                return Err(gpu.opened().error(why));
            }
            if error > worst.0 {
                worst = (error, name);
            }
        }
    }
    Ok((worst, subnormal[1] == 0.0))
}

fn expected(x: f64, t: f64) -> [(&'static str, f64); 8] {
    let (size, drift) = (x.abs(), x * t);
    [
        ("the cosine", x.cos()),
        ("the sine", x.sin()),
        ("the drift's cosine", drift.cos()),
        ("the drift's sine", drift.sin()),
        ("the exponential", (-size).exp()),
        ("the softplus", x.max(0.0) + (-size).exp().ln_1p()),
        ("the hyperbolic tangent", size.tanh()),
        ("the logarithm", size.ln_1p()),
    ]
}

/// The worst error of products of random matrices of very different sizes: a gradient may be a billionth of
/// what it is multiplied with, and no element of a matrix is so small or so large that its product may lose
/// digits.
fn products(gpu: &Gpu, change: &dyn Fn(&mut Plan)) -> Result<f64> {
    const SIZES: [(f64, f64); 4] = [(1.0, 1.0), (3e-9, 1.0), (1e6, 1e-3), (1e-20, 1e20)];
    const M: usize = 45;
    const N: usize = 37;
    const K: usize = 70;
    let mut stream = random::stream(2, 0);
    let mut draw = |count: usize, size: fn(&(f64, f64)) -> f64| -> Vec<f32> {
        let mut matrix = |size: f64| -> Vec<f32> {
            (0..count).map(|_| (size * random::uniform_signed(&mut stream)) as f32).collect()
        };
        SIZES.iter().flat_map(|sizes| matrix(size(sizes))).collect()
    };
    let (a, b) = (draw(M * K, |sizes| sizes.0), draw(K * N, |sizes| sizes.1));
    let mut builder = Builder::new(String::new(), gpu.limits().matrix_units);
    let [given_a, given_b] = [("a", &a), ("b", &b)].map(|(name, values)| builder.buffer(name, values.len()));
    let out = builder.buffer("c", SIZES.len() * M * N);
    let product = Product {
        m: M,
        n: N,
        k: K,
        batch: SIZES.len(),
        bindings: vec![("a", "f32", false), ("b", "f32", false), ("c", "f32", true)],
        a: Load::along_k(format!("return a[(z * {M}u + i) * {K}u + k];")),
        b: Load::across_k(format!("return b[(z * {K}u + k) * {N}u + j];")),
        store: format!("c[(z * {M}u + i) * {N}u + j] = v;"),
        row_sums: None,
        causal: Causal::Full,
        slabs: false,
    };
    builder.products("products", &[product], &[("a", given_a), ("b", given_b), ("c", out)]);
    let forward = builder.take();
    let mut plan = Plan { forward, ..builder.plan };
    change(&mut plan);
    let program = Program::new(gpu.opened().clone(), &plan, out.len)?;
    program.write(given_a, &a);
    program.write(given_b, &b);
    program.run(&[], &[&program.forward]);
    let [found] = program.read([out])?;
    let mut worst = 0.0;
    for (((size, a), b), found) in
        SIZES.iter().zip(a.chunks(M * K)).zip(b.chunks(K * N)).zip(found.chunks(M * N))
    {
        let term = |i: usize, j: usize, k: usize| f64::from(a[i * K + k]) * f64::from(b[k * N + j]);
        let exact = |at: usize| (0..K).map(|k| term(at / N, at % N, k)).sum::<f64>();
        let errors = found.iter().enumerate().map(|(at, &found)| (f64::from(found) - exact(at)).powi(2));
        // Elements are uniform, so that their mean square is a third of the square of the largest.
        let norm = (K as f64).sqrt() / 3.0 * size.0 * size.1;
        let error = (errors.sum::<f64>() / (M * N) as f64).sqrt() / norm;
        if error.is_nan() || error > PRODUCT {
            let why = format!(
                "the product of matrices of {:.0e} and {:.0e} is wrong by {error:.1e} of its size, and \
                 {PRODUCT:.0e} is allowed: update its driver, or {}",
                size.0,
                size.1,
                instead(gpu)
            );
            return Err(gpu.opened().error(why));
        }
        worst = error.max(worst);
    }
    Ok(worst)
}

/// What to do where a device computes wrongly.
fn instead(gpu: &Gpu) -> &'static str {
    match gpu.limits().matrix_units {
        Some(_) => "train without matrix units",
        None => "train on the processor",
    }
}

/// The worst error of a tensor in the gradient of a small model.
fn gradient<N: Network<f32> + Network<f64>>(
    gpu: &Gpu,
    model: &ModelConfig,
    network: N,
    change: &dyn Fn(&mut Plan),
) -> Result<(f64, String)> {
    let mut parameters = vec![0.0f32; Network::<f32>::layout(&network).count()];
    network.initialize(1, &mut parameters);
    let mut stream = random::stream(1, 0);
    parameters.iter_mut().for_each(|x| *x += 0.1 * random::uniform_signed(&mut stream) as f32);
    let vocab = model.vocab() as u32;
    let mut bytes =
        || (0..SEQUENCES * TOKENS).map(|_| random::below_u32(&mut stream, vocab) as u8).collect::<Vec<u8>>();
    let (tokens, targets) = (bytes(), bytes());
    let batch = Batch { tokens: &tokens, targets: &targets, length: TOKENS };

    let mut planned = memory::fit(model, SEQUENCES, TOKENS, Mode::Training, gpu.limits())?;
    change(&mut planned.own.plan);
    let mut engine = GpuEngine::new(gpu.opened().clone(), planned)?;
    engine.load(Some(Arenas { parameters: &parameters, moments: None }))?;
    engine.gradient(&batch, 1, 1)?;
    let found = engine.last_gradient()?;

    let shape = Shape { sequences: SEQUENCES, context: TOKENS, lanes: 1 };
    let mut exact = CpuEngine::<f64, N>::new(network, &shape, &Cpu::new(1))?;
    exact.edit(|_, own| own.iter_mut().zip(&parameters).for_each(|(own, &x)| *own = f64::from(x)));
    exact.mean_gradient(&batch, 1, 1)?;
    let expected = exact.last_gradient();

    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    // A scalar whose terms cancel has no digits to compare.
    let least = 1e-2 * norm(&mut expected.iter().copied());
    let mut worst = (0.0, String::new());
    for tensor in engine.layout().tensors() {
        let (found, expected) = (tensor.slot.slice(&found), tensor.slot.slice(expected));
        let difference = norm(&mut found.iter().zip(expected).map(|(&a, b)| f64::from(a) - b));
        let error = difference / norm(&mut expected.iter().copied()).max(least);
        if error.is_nan() || error > TENSOR {
            let why = format!(
                "the gradient of {} in the {} model is wrong by {error:.1e} of its size, and {TENSOR:.0e} is \
                 allowed: update its driver, or {}",
                tensor.name,
                model.kind().name(),
                instead(gpu)
            );
            return Err(gpu.opened().error(why));
        }
        if error > worst.0 {
            worst = (error, tensor.name.clone());
        }
    }
    Ok(worst)
}
