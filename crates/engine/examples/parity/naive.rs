//! A naive evaluation of the formulas, one scalar at a time on a reverse-mode tape: no vectors, no blocking,
//! no table, no shortcut. It shares no code with the engine and says how far rounding alone takes `f32`.

use super::fixture::{Fixture, Model};
use kuramoto_kernels::Real;
use kuramoto_model::config::{Drift, FeedForward, GateActivation, Metric, Readout, Value};
use kuramoto_model::{KuramotoConfig, TransformerConfig};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// A number on the tape.
#[derive(Clone, Copy)]
struct Var(usize);

struct Node<F> {
    value: F,
    /// Up to two parents with the derivative by each.
    parents: [(usize, F); 2],
}

/// Which term a sum starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    First,
    Last,
}

struct Tape<F> {
    nodes: RefCell<Vec<Node<F>>>,
    order: Order,
}

impl<F: Real> Tape<F> {
    fn push(&self, value: F, parents: [(usize, F); 2]) -> Var {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { value, parents });
        Var(nodes.len() - 1)
    }
    fn leaf(&self, value: f64) -> Var {
        self.push(F::from_f64(value), [(0, F::ZERO); 2])
    }
    fn value(&self, x: Var) -> F {
        self.nodes.borrow()[x.0].value
    }
    fn add(&self, a: Var, b: Var) -> Var {
        self.push(self.value(a) + self.value(b), [(a.0, F::ONE), (b.0, F::ONE)])
    }
    /// The same angle in (-pi, pi], with the slope 1.
    fn wrap(&self, a: Var) -> Var {
        let angle = self.value(a).to_f64();
        let turns = (angle / TAU - 0.5).ceil();
        self.push(F::from_f64(angle - TAU * turns), [(a.0, F::ONE), (0, F::ZERO)])
    }
    fn sub(&self, a: Var, b: Var) -> Var {
        self.push(self.value(a) - self.value(b), [(a.0, F::ONE), (b.0, -F::ONE)])
    }
    fn mul(&self, a: Var, b: Var) -> Var {
        let (x, y) = (self.value(a), self.value(b));
        self.push(x * y, [(a.0, y), (b.0, x)])
    }
    fn div(&self, a: Var, b: Var) -> Var {
        let (x, y) = (self.value(a), self.value(b));
        self.push(x / y, [(a.0, F::ONE / y), (b.0, -x / (y * y))])
    }
    fn scale(&self, a: Var, by: f64) -> Var {
        let by = F::from_f64(by);
        self.push(self.value(a) * by, [(a.0, by), (0, F::ZERO)])
    }
    fn shift(&self, a: Var, by: f64) -> Var {
        self.push(self.value(a) + F::from_f64(by), [(a.0, F::ONE), (0, F::ZERO)])
    }
    /// A function of one number, from the standard library in the precision of `F`, and its derivative.
    fn apply(&self, a: Var, f: impl Fn(F) -> (F, F)) -> Var {
        let (value, derivative) = f(self.value(a));
        self.push(value, [(a.0, derivative), (0, F::ZERO)])
    }
    fn sum(&self, terms: impl IntoIterator<Item = Var>) -> Var {
        let mut terms: Vec<Var> = terms.into_iter().collect();
        if self.order == Order::Last {
            terms.reverse();
        }
        let zero = self.leaf(0.0);
        terms.into_iter().fold(zero, |sum, x| self.add(sum, x))
    }
    fn sin(&self, a: Var) -> Var {
        self.apply(a, |x| (std_sin(x), std_cos(x)))
    }
    fn cos(&self, a: Var) -> Var {
        self.apply(a, |x| (std_cos(x), -std_sin(x)))
    }
    fn exp(&self, a: Var) -> Var {
        self.apply(a, |x| {
            let y = F::from_f64(x.to_f64().exp());
            (y, y)
        })
    }
    fn ln(&self, a: Var) -> Var {
        self.apply(a, |x| (F::from_f64(x.to_f64().ln()), F::ONE / x))
    }
    fn sqrt(&self, a: Var) -> Var {
        self.apply(a, |x| (x.sqrt(), F::from_f64(0.5) / x.sqrt()))
    }
    fn tanh(&self, a: Var) -> Var {
        self.apply(a, |x| {
            let y = F::from_f64(x.to_f64().tanh());
            (y, F::ONE - y * y)
        })
    }
    fn abs(&self, a: Var) -> Var {
        self.apply(a, |x| (x.abs(), if x < F::ZERO { -F::ONE } else { F::ONE }))
    }
    fn sigmoid(&self, a: Var) -> Var {
        let e = self.exp(self.scale(a, -1.0));
        self.div(self.leaf(1.0), self.shift(e, 1.0))
    }
    fn silu(&self, a: Var) -> Var {
        self.mul(a, self.sigmoid(a))
    }
    fn softplus(&self, a: Var) -> Var {
        self.ln(self.shift(self.exp(a), 1.0))
    }
    fn softmax(&self, scores: &[Var]) -> Vec<Var> {
        let exps: Vec<Var> = scores.iter().map(|&s| self.exp(s)).collect();
        let sum = self.sum(exps.iter().copied());
        exps.iter().map(|&e| self.div(e, sum)).collect()
    }
    fn backward(&self, from: Var) -> Vec<F> {
        let nodes = self.nodes.borrow();
        let mut gradients = vec![F::ZERO; nodes.len()];
        gradients[from.0] = F::ONE;
        for (i, node) in nodes.iter().enumerate().rev() {
            let gradient = gradients[i];
            for (parent, derivative) in node.parents {
                if parent < i {
                    gradients[parent] += gradient * derivative;
                }
            }
        }
        gradients
    }
}

fn std_sin<F: Real>(x: F) -> F {
    F::from_f64(x.to_f64().sin())
}
fn std_cos<F: Real>(x: F) -> F {
    F::from_f64(x.to_f64().cos())
}

/// What the naive evaluation gives.
pub struct Naive {
    pub loss: f64,
    pub logits: Vec<f64>,
    /// By parameter name.
    pub gradients: BTreeMap<String, Vec<f64>>,
}

type Parameters = BTreeMap<String, Vec<Var>>;

/// Loss, logits and gradients of a fixture's batch.
pub fn evaluate<F: Real>(fixture: &Fixture, order: Order) -> Naive {
    let tape = Tape::<F> { nodes: RefCell::default(), order };
    let _unused_parent = tape.leaf(0.0);
    let parameters: Parameters = fixture
        .tensors
        .iter()
        .filter_map(|(name, values)| Some((name.strip_prefix("param.")?, values)))
        .map(|(name, values)| (name.to_string(), values.iter().map(|&x| tape.leaf(x)).collect()))
        .collect();
    let mut losses = Vec::new();
    let mut logits = Vec::new();
    for (tokens, targets) in fixture.tokens.chunks(fixture.length).zip(fixture.targets.chunks(fixture.length))
    {
        let rows = match &fixture.model {
            Model::Kuramoto(config) => kuramoto(&tape, config, &parameters, tokens),
            Model::Transformer(config) => transformer(&tape, config, &parameters, tokens),
        };
        for (row, &target) in rows.iter().zip(targets) {
            let p = tape.softmax(row)[usize::from(target)];
            losses.push(tape.scale(tape.ln(p), -1.0));
            logits.extend(row.iter().map(|&x| tape.value(x).to_f64()));
        }
    }
    let loss = tape.scale(tape.sum(losses.iter().copied()), 1.0 / losses.len() as f64);
    let gradients = tape.backward(loss);
    Naive {
        loss: tape.value(loss).to_f64(),
        logits,
        gradients: parameters
            .into_iter()
            .map(|(name, vars)| (name, vars.iter().map(|v| gradients[v.0].to_f64()).collect()))
            .collect(),
    }
}

/// weight [out, in] x + bias
fn map<F: Real>(tape: &Tape<F>, parameters: &Parameters, name: &str, x: &[Var]) -> Vec<Var> {
    let weight = &parameters[&format!("{name}.weight")];
    let bias = parameters.get(&format!("{name}.bias"));
    let rows = weight.chunks(x.len()).enumerate();
    rows.map(|(o, row)| {
        let y = tape.sum(row.iter().zip(x).map(|(&w, &x)| tape.mul(w, x)));
        bias.map_or(y, |bias| tape.add(y, bias[o]))
    })
    .collect()
}

fn bound<F: Real>(tape: &Tape<F>, x: Vec<Var>, log_radius: Option<&Vec<Var>>) -> Vec<Var> {
    let Some(log_radius) = log_radius else { return x };
    let radius = tape.exp(log_radius[0]);
    let squares = tape.sum(x.iter().map(|&x| tape.mul(x, x)));
    let n = tape.sqrt(tape.shift(tape.scale(squares, 1.0 / x.len() as f64), 1e-12));
    let by = tape.mul(tape.div(radius, n), tape.tanh(tape.div(n, radius)));
    x.iter().map(|&x| tape.mul(x, by)).collect()
}

fn swiglu<F: Real>(tape: &Tape<F>, parameters: &Parameters, name: &str, x: &[Var]) -> Vec<Var> {
    let gate = map(tape, parameters, &format!("{name}.gate"), x);
    let up = map(tape, parameters, &format!("{name}.up"), x);
    let hidden: Vec<Var> = gate.iter().zip(&up).map(|(&g, &u)| tape.mul(tape.silu(g), u)).collect();
    map(tape, parameters, &format!("{name}.down"), &hidden)
}

fn add_all<F: Real>(tape: &Tape<F>, x: &[Var], y: &[Var]) -> Vec<Var> {
    x.iter().zip(y).map(|(&x, &y)| tape.add(x, y)).collect()
}

fn lift<F: Real>(tape: &Tape<F>, theta: &[Var]) -> Vec<Var> {
    theta.iter().map(|&x| tape.cos(x)).chain(theta.iter().map(|&x| tape.sin(x))).collect()
}

fn kuramoto<F: Real>(
    tape: &Tape<F>,
    config: &KuramotoConfig,
    parameters: &Parameters,
    tokens: &[u8],
) -> Vec<Vec<Var>> {
    let (k, h, n) = (config.width, config.heads, tokens.len());
    let kh = k / h;
    let rank = match config.metric {
        Metric::Transport | Metric::ScoreTransport => config.transport_rank,
        Metric::Gates | Metric::None => 0,
    };
    let value_rank = if config.metric == Metric::Transport { rank } else { 0 };
    let fixed: Vec<Var> = (0..k)
        .map(|j| {
            let rate = config.rotary_base.powf(-((j % kh) as f64) / kh as f64);
            tape.leaf(if config.drift == Drift::None { 0.0 } else { rate })
        })
        .collect();
    let emb = &parameters["emb"];
    let mut theta: Vec<Vec<Var>> = tokens.iter().map(|&b| emb[usize::from(b) * k..][..k].to_vec()).collect();
    let tau = tape.scale(parameters["tau"][0], 1.0 / (kh as f64).sqrt());
    for layer in 0..config.layers {
        let prefix = format!("layers.{layer}.");
        let gates = if config.per_layer_gates { format!("{prefix}gates") } else { "gates".into() };
        let metric_gates =
            if config.per_layer_metric_gates { format!("{prefix}gates") } else { gates.clone() };
        let omega = match config.drift {
            Drift::Learned => &parameters[&format!("{prefix}omega")],
            Drift::Shared => &parameters["omega"],
            Drift::Fixed | Drift::None => &fixed,
        };
        if config.wrapped_angles {
            theta = theta.iter().map(|x| x.iter().map(|&x| tape.wrap(x)).collect()).collect();
        }
        let psi: Vec<Vec<Var>> = theta.iter().map(|x| lift(tape, x)).collect();
        let gate = |name: &str| -> Vec<Vec<Var>> {
            let make = |psi: &Vec<Var>| match config.metric {
                Metric::Gates => normalized_gate(
                    tape,
                    config,
                    &map(tape, parameters, &format!("{metric_gates}.{name}"), psi),
                ),
                _ => (0..k).map(|_| tape.leaf(1.0)).collect(),
            };
            psi.iter().map(make).collect()
        };
        let (gq, gk) = (gate("wq"), gate("wk"));
        let frames: Vec<Vec<Var>> = match rank {
            0 => vec![Vec::new(); n],
            _ => psi.iter().map(|x| map(tape, parameters, &format!("{gates}.wf"), x)).collect(),
        };
        let values: Vec<Vec<Var>> = match config.value {
            Value::Projection => {
                psi.iter().map(|x| map(tape, parameters, &format!("{gates}.wval"), x)).collect()
            }
            Value::Circular => Vec::new(),
        };
        // F^T z of one head, z given by its angles.
        let contract = |t: usize, head: usize, angles: &[Var]| -> Vec<[Var; 2]> {
            let frame = |j: usize, c: usize| frames[t][(head * kh + j) * rank + c];
            let part = |c: usize, f: &dyn Fn(Var) -> Var| {
                tape.sum((0..kh).map(|j| tape.mul(frame(j, c), f(angles[head * kh + j]))))
            };
            (0..rank).map(|c| [part(c, &|x| tape.cos(x)), part(c, &|x| tape.sin(x))]).collect()
        };
        let drifted: Vec<Vec<Var>> = (0..n)
            .map(|t| (0..k).map(|j| tape.add(theta[t][j], tape.scale(omega[j], t as f64))).collect())
            .collect();
        let mut increments = vec![Vec::new(); n];
        for head in 0..h {
            let block = head * kh..(head + 1) * kh;
            for t in 0..n {
                let scores: Vec<Var> = (0..=t)
                    .map(|u| {
                        let aligned = block.clone().map(|j| {
                            let cos = tape.cos(tape.sub(drifted[t][j], drifted[u][j]));
                            tape.mul(tape.mul(gq[t][j], gk[u][j]), cos)
                        });
                        let mut score = tape.sum(aligned);
                        let (y, z) = (contract(t, head, &drifted[t]), contract(u, head, &drifted[u]));
                        for (y, z) in y.iter().zip(&z) {
                            score = tape.add(score, tape.add(tape.mul(y[0], z[0]), tape.mul(y[1], z[1])));
                        }
                        tape.mul(tau, score)
                    })
                    .collect();
                let a = tape.softmax(&scores);
                let mean = |f: &dyn Fn(usize) -> Var| {
                    tape.sum(a.iter().enumerate().map(|(u, &a)| tape.mul(a, f(u))))
                };
                if config.value == Value::Projection {
                    increments[t].extend(block.clone().map(|j| mean(&|u| values[u][j])));
                    continue;
                }
                let transported: Vec<[Var; 2]> = (0..value_rank)
                    .map(|c| [0, 1].map(|part| mean(&|u| contract(u, head, &theta[u])[c][part])))
                    .collect();
                for j in block.clone() {
                    let value = |u: usize| match config.drift_in_values {
                        true => tape.sub(theta[u][j], tape.scale(omega[j], (t - u) as f64)),
                        false => theta[u][j],
                    };
                    let mut g = [mean(&|u| tape.cos(value(u))), mean(&|u| tape.sin(value(u)))];
                    for (c, w) in transported.iter().enumerate() {
                        g = [0, 1].map(|part| tape.add(g[part], tape.mul(frames[t][j * rank + c], w[part])));
                    }
                    let (re, im) =
                        (tape.mul(tape.sin(theta[t][j]), g[0]), tape.mul(tape.cos(theta[t][j]), g[1]));
                    increments[t].push(tape.sub(im, re));
                }
            }
        }
        for t in 0..n {
            let mut u = std::mem::take(&mut increments[t]);
            if config.value == Value::Circular && config.value_gate {
                let v = map(tape, parameters, &format!("{gates}.wv"), &psi[t]);
                u = u.iter().zip(&v).map(|(&a, &v)| tape.mul(a, v)).collect();
            }
            let step = bound(tape, u, parameters.get(&format!("{prefix}log_r1")));
            theta[t] = add_all(tape, &theta[t], &step);
            let name = if config.shared_feed_forward { "ffn".to_string() } else { format!("{prefix}ffn") };
            let y = match config.feed_forward {
                FeedForward::Swiglu => swiglu(tape, parameters, &name, &theta[t]),
                FeedForward::PhaseSwiglu => swiglu(tape, parameters, &name, &lift(tape, &theta[t])),
                FeedForward::Linear => map(tape, parameters, &name, &theta[t]),
                FeedForward::None => continue,
            };
            let step = bound(tape, y, parameters.get(&format!("{prefix}log_r2")));
            theta[t] = add_all(tape, &theta[t], &step);
        }
    }
    let read = |theta: &Vec<Var>| -> Vec<Var> {
        if config.readout == Readout::Linear {
            return map(tape, parameters, "head", &lift(tape, theta));
        }
        let scale = tape.scale(parameters["logit_scale"][0], 1.0 / (k as f64).sqrt());
        let aligned =
            |phi: &[Var]| tape.sum(theta.iter().zip(phi).map(|(&x, &phi)| tape.cos(tape.sub(x, phi))));
        parameters["proto"].chunks(k).map(|phi| tape.mul(scale, aligned(phi))).collect()
    };
    theta.iter().map(read).collect()
}

fn normalized_gate<F: Real>(tape: &Tape<F>, config: &KuramotoConfig, pre: &[Var]) -> Vec<Var> {
    let act = |&x: &Var| match config.gate_activation {
        GateActivation::Softplus => tape.softplus(x),
        GateActivation::Sigmoid => tape.sigmoid(x),
        GateActivation::Linear => x,
    };
    let gates: Vec<Var> = pre.iter().map(act).collect();
    if !config.gate_normalization {
        return gates;
    }
    let kh = config.width / config.heads;
    let normalize = |head: &[Var]| -> Vec<Var> {
        let mean =
            tape.shift(tape.scale(tape.sum(head.iter().map(|&g| tape.abs(g))), 1.0 / kh as f64), 1e-12);
        head.iter().map(|&g| tape.div(g, mean)).collect()
    };
    gates.chunks(kh).flat_map(normalize).collect()
}

fn layer_norm<F: Real>(tape: &Tape<F>, x: &[Var], parameters: Option<(&Vec<Var>, &Vec<Var>)>) -> Vec<Var> {
    let size = 1.0 / x.len() as f64;
    let mean = tape.scale(tape.sum(x.iter().copied()), size);
    let centred: Vec<Var> = x.iter().map(|&x| tape.sub(x, mean)).collect();
    let variance = tape.scale(tape.sum(centred.iter().map(|&x| tape.mul(x, x))), size);
    let sd = tape.sqrt(tape.shift(variance, 1e-5));
    let normal = centred.iter().map(|&x| tape.div(x, sd));
    match parameters {
        Some((weight, bias)) => {
            normal.zip(weight.iter().zip(bias)).map(|(x, (&w, &b))| tape.add(tape.mul(x, w), b)).collect()
        }
        None => normal.collect(),
    }
}

fn transformer<F: Real>(
    tape: &Tape<F>,
    config: &TransformerConfig,
    parameters: &Parameters,
    tokens: &[u8],
) -> Vec<Vec<Var>> {
    let (d, h, n) = (config.width, config.heads, tokens.len());
    let width = d / h;
    let half = width / 2;
    let emb = &parameters["emb"];
    let mut x: Vec<Vec<Var>> = tokens.iter().map(|&b| emb[usize::from(b) * d..][..d].to_vec()).collect();
    let turn = |t: usize, y: Vec<Var>| -> Vec<Var> {
        let mut y = y;
        for head in 0..h {
            for i in 0..half {
                let angle = t as f64 * config.rotary_base.powf(-(i as f64) / half as f64);
                let (a, b) = (head * width + i, head * width + i + half);
                let first = tape.sub(tape.scale(y[a], angle.cos()), tape.scale(y[b], angle.sin()));
                let second = tape.add(tape.scale(y[a], angle.sin()), tape.scale(y[b], angle.cos()));
                (y[a], y[b]) = (first, second);
            }
        }
        y
    };
    for layer in 0..config.layers {
        let name = |rest: &str| format!("layers.{layer}.{rest}");
        let norm = |which: &str, x: &[Var]| {
            let (weight, bias) = (name(&format!("{which}.weight")), name(&format!("{which}.bias")));
            layer_norm(tape, x, Some((&parameters[&weight], &parameters[&bias])))
        };
        let y: Vec<Vec<Var>> = x.iter().map(|x| norm("ln1", x)).collect();
        let project = |which: &str| -> Vec<Vec<Var>> {
            y.iter().map(|y| map(tape, parameters, &name(which), y)).collect()
        };
        let turned = |rows: Vec<Vec<Var>>| -> Vec<Vec<Var>> {
            rows.into_iter().enumerate().map(|(t, y)| turn(t, y)).collect()
        };
        let (q, key, v) = (turned(project("wq")), turned(project("wk")), project("wv"));
        for t in 0..n {
            let mut o = Vec::new();
            for head in 0..h {
                let block = head * width..(head + 1) * width;
                let score = |u: usize| {
                    let dot = tape.sum(block.clone().map(|j| tape.mul(q[t][j], key[u][j])));
                    tape.scale(dot, 1.0 / (width as f64).sqrt())
                };
                let a = tape.softmax(&(0..=t).map(score).collect::<Vec<_>>());
                o.extend(block.map(|j| tape.sum(a.iter().enumerate().map(|(u, &a)| tape.mul(a, v[u][j])))));
            }
            x[t] = add_all(tape, &x[t], &map(tape, parameters, &name("wo"), &o));
            let y = norm("ln2", &x[t]);
            x[t] = add_all(tape, &x[t], &swiglu(tape, parameters, &name("ffn"), &y));
        }
    }
    x.iter().map(|x| map(tape, parameters, "head", &layer_norm(tape, x, None))).collect()
}
