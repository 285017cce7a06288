//! Every operation's backward against finite differences of its forward, in f64.

use kuramoto_kernels::drift::Heads;
use kuramoto_kernels::gate::Activation;
use kuramoto_kernels::{
    Dropout, bound, couple, cross_entropy, drift, gate, layer_norm, lift, linear, rope, swiglu, tangent,
};

fn values(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Checks `gradient` against central differences of `f` at `x`.
fn check(what: &str, x: &[f64], gradient: &[f64], f: impl Fn(&[f64]) -> f64) {
    assert_eq!(x.len(), gradient.len(), "{what}");
    let step = 1e-5;
    let mut x = x.to_vec();
    for i in 0..x.len() {
        let at = x[i];
        let mut f_at = |y: f64| {
            x[i] = y;
            f(&x)
        };
        let slope = (8.0 * (f_at(at + step) - f_at(at - step))
            - (f_at(at + 2.0 * step) - f_at(at - 2.0 * step)))
            / (12.0 * step);
        x[i] = at;
        let off = (slope - gradient[i]).abs();
        assert!(
            off <= 1e-8 * slope.abs().max(1.0),
            "{what} [{i}]: {} but differences say {slope}",
            gradient[i]
        );
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

const N: usize = 5;
const K: usize = 6;

#[test]
fn lift_backward() {
    let (theta, weights) = (values(N * K, 1), values(N * 2 * K, 2));
    let mut psi = vec![0.0; N * 2 * K];
    lift::forward(K, &theta, &mut psi);
    let mut dtheta = vec![0.0; N * K];
    lift::backward(K, &psi, &weights, &mut dtheta);
    check("theta", &theta, &dtheta, |theta| {
        let mut psi = vec![0.0; N * 2 * K];
        lift::forward(K, theta, &mut psi);
        dot(&psi, &weights)
    });
}

#[test]
fn gate_backward() {
    for activation in [Activation::Softplus, Activation::Sigmoid, Activation::Linear] {
        for (normalize, heads) in [(true, 1), (true, 3), (false, 2)] {
            // Rows are wider than what is used, as sections of the joint preactivations are.
            let stride = K + 2;
            let (preactivations, weights) = (values(N * stride, 3), values(N * K, 4));
            let forward = |preactivations: &[f64]| {
                let (mut gates, mut inverse, mut slope) =
                    (vec![0.0; N * K], vec![0.0; N * heads], preactivations.to_vec());
                gate::forward(activation, normalize, heads, K, &mut slope, stride, &mut gates, &mut inverse);
                (gates, inverse, slope)
            };
            let (gates, inverse, slope) = forward(&preactivations);
            let mut dpreactivations = vec![0.0; N * stride];
            gate::backward(
                normalize,
                heads,
                K,
                &slope,
                stride,
                &gates,
                &inverse,
                &weights,
                &mut dpreactivations,
            );
            check(&format!("{activation:?}"), &preactivations, &dpreactivations, |preactivations| {
                dot(&forward(preactivations).0, &weights)
            });
        }
    }
}

#[test]
fn drift_backward() {
    for (heads, extra) in [(1, 0), (2, 0), (3, 4)] {
        let shape = Heads { k: K, heads, extra };
        let (theta, omega) = (values(N * K, 1), values(K, 2));
        let (query_gate, key_gate) = (values(N * K, 3), values(N * K, 4));
        let (wq, wk) = (values(N * shape.row(), 5), values(N * shape.row(), 6));
        let first = 3;
        let loss = |theta: &[f64], omega: &[f64], query_gate: &[f64], key_gate: &[f64], c: f64| {
            let (mut psi, mut cos, mut sin) = (vec![0.0; N * 2 * K], vec![0.0; N * K], vec![0.0; N * K]);
            lift::forward(K, theta, &mut psi);
            drift::table(omega, first, &mut cos, &mut sin);
            let (mut query, mut key) = (vec![0.0; N * shape.row()], vec![0.0; N * shape.row()]);
            drift::forward(shape, &psi, query_gate, key_gate, &cos, &sin, c, &mut query, &mut key);
            (dot(&query, &wq) + dot(&key, &wk), psi, cos, sin)
        };
        let c = 0.7;
        let (_, psi, cos, sin) = loss(&theta, &omega, &query_gate, &key_gate, c);
        let (mut dquery_gate, mut dkey_gate) = (vec![0.0; N * K], vec![0.0; N * K]);
        let (mut dtheta, mut domega) = (vec![0.0; N * K], vec![0.0; K]);
        let dc = drift::backward(
            shape,
            first,
            &psi,
            &query_gate,
            &key_gate,
            &cos,
            &sin,
            c,
            &wq,
            &wk,
            &mut dquery_gate,
            &mut dkey_gate,
            &mut dtheta,
            &mut domega,
        );
        check("theta", &theta, &dtheta, |x| loss(x, &omega, &query_gate, &key_gate, c).0);
        check("omega", &omega, &domega, |x| loss(&theta, x, &query_gate, &key_gate, c).0);
        check("query_gate", &query_gate, &dquery_gate, |x| loss(&theta, &omega, x, &key_gate, c).0);
        check("key_gate", &key_gate, &dkey_gate, |x| loss(&theta, &omega, &query_gate, x, c).0);
        check("c", &[c], &[dc], |x| loss(&theta, &omega, &query_gate, &key_gate, x[0]).0);
    }
}

#[test]
fn couple_backward() {
    let stride = N + 2;
    for dropout in [Dropout::NONE, Dropout::new(0.4, 9)] {
        let (scores, weights) = (values(N * stride, 1), values(N * stride, 2));
        let loss = |scores: &[f64]| {
            let (mut a, mut coupled) = (scores.to_vec(), vec![0.0; N * stride]);
            couple::forward(N, &mut a, stride);
            couple::drop(N, &mut a, stride, &dropout, 0, &mut coupled);
            (0..N).map(|t| dot(&coupled[t * stride..][..=t], &weights[t * stride..][..=t])).sum::<f64>()
        };
        let (mut a, mut coupled, mut again) = (scores.clone(), vec![0.0; N * stride], vec![0.0; N * stride]);
        couple::forward(N, &mut a, stride);
        couple::drop(N, &mut a, stride, &dropout, 0, &mut coupled);
        couple::kept(N, &a, stride, &dropout, &mut again);
        assert_eq!(coupled, again, "the mask is kept in the signs");
        let mut da = weights.clone();
        couple::backward(N, &a, stride, &dropout, &mut da);
        for t in 0..N {
            let row = t * stride..t * stride + t + 1;
            let mut gradient = vec![0.0; scores.len()];
            gradient[row.clone()].copy_from_slice(&da[row.clone()]);
            check("scores", &scores[row.clone()], &gradient[row.clone()], |part| {
                let mut scores = scores.clone();
                scores[row.clone()].copy_from_slice(part);
                loss(&scores)
            });
        }
    }
}

#[test]
fn tangent_backward() {
    let stride = K + 3;
    let (theta, g, v) = (values(N * K, 1), values(N * 2 * K, 2), values(N * stride, 3));
    let weights = values(N * K, 4);
    let loss = |theta: &[f64], g: &[f64], v: &[f64]| {
        let (mut psi, mut u) = (vec![0.0; N * 2 * K], vec![0.0; N * K]);
        lift::forward(K, theta, &mut psi);
        tangent::forward(K, &psi, g, v, stride, &mut u);
        (dot(&u, &weights), psi)
    };
    let (_, psi) = loss(&theta, &g, &v);
    let (mut dv, mut dg, mut dtheta) = (vec![0.0; N * stride], vec![0.0; N * 2 * K], vec![0.0; N * K]);
    tangent::backward(K, &psi, &g, &v, stride, &weights, &mut dv, &mut dg, &mut dtheta);
    check("theta", &theta, &dtheta, |x| loss(x, &g, &v).0);
    check("g", &g, &dg, |x| loss(&theta, x, &v).0);
    check("v", &v, &dv, |x| loss(&theta, &g, x).0);
}

#[test]
fn bound_backward() {
    for radius in [Some(0.3), Some(5.0), None] {
        for dropout in [Dropout::NONE, Dropout::new(0.4, 3)] {
            let (theta, x, weights) = (values(N * K, 1), values(N * K, 2), values(N * K, 3));
            let loss = |x: &[f64], radius: Option<f64>| {
                let (mut rms, mut out) = (vec![0.0; N], vec![0.0; N * K]);
                bound::forward(K, &theta, x, radius, &dropout, &mut rms, &mut out);
                (dot(&out, &weights), rms)
            };
            let (_, rms) = loss(&x, radius);
            let mut dx = vec![0.0; N * K];
            let dlog_radius = bound::backward(K, &x, radius, &dropout, &rms, &weights, &mut dx);
            check("x", &x, &dx, |x| loss(x, radius).0);
            if let Some(radius) = radius {
                check("log r", &[radius.ln()], &[dlog_radius], |log| loss(&x, Some(log[0].exp())).0);
            }
        }
    }
}

#[test]
fn swiglu_backward() {
    let (gate_up, weights) = (values(N * 2 * K, 1), values(N * K, 2));
    let forward = |gate_up: &[f64]| {
        let mut hidden = vec![0.0; N * K];
        swiglu::forward(K, gate_up, &mut hidden);
        hidden
    };
    let (mut dgate_up, mut hidden) = (vec![0.0; N * 2 * K], vec![0.0; N * K]);
    swiglu::backward(K, &gate_up, &weights, &mut dgate_up, &mut hidden);
    assert_eq!(hidden, forward(&gate_up));
    check("gate_up", &gate_up, &dgate_up, |gate_up| dot(&forward(gate_up), &weights));
}

#[test]
fn layer_norm_backward() {
    let (x, weights) = (values(N * K, 1), values(N * K, 2));
    let (scale, bias) = (values(K, 3), values(K, 4));
    let loss = |x: &[f64], scale: &[f64], bias: &[f64]| {
        let (mut normal, mut inverse_sd, mut y) = (vec![0.0; N * K], vec![0.0; N], vec![0.0; N * K]);
        layer_norm::forward(K, x, &mut normal, &mut inverse_sd);
        layer_norm::affine(K, &normal, scale, bias, &mut y);
        (dot(&y, &weights), normal, inverse_sd)
    };
    let (_, normal, inverse_sd) = loss(&x, &scale, &bias);
    let (mut dy, mut dscale, mut dbias, mut dx) =
        (weights.clone(), vec![0.0; K], vec![0.0; K], vec![0.0; N * K]);
    layer_norm::affine_backward(K, &normal, &scale, &mut dy, &mut dscale, &mut dbias);
    layer_norm::backward(K, &normal, &inverse_sd, &dy, &mut dx);
    check("x", &x, &dx, |x| loss(x, &scale, &bias).0);
    check("scale", &scale, &dscale, |scale| loss(&x, scale, &bias).0);
    check("bias", &bias, &dbias, |bias| loss(&x, &scale, bias).0);
}

#[test]
fn rope_turns_and_turns_back() {
    for (heads, width) in [(1, 6), (2, 3), (6, 1)] {
        let half = width / 2;
        let (mut cos, mut sin) = (vec![0.0; N * half], vec![0.0; N * half]);
        rope::table(10_000.0, half, 0, &mut cos, &mut sin);
        let x = values(N * K, 1);
        let mut y = x.clone();
        rope::forward(heads, width, &cos, &sin, 0.5, &mut y, K);
        // The backward of a rotation is the rotation back.
        rope::backward(heads, width, &cos, &sin, 2.0, &mut y, K);
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-14));
    }
}

#[test]
fn cross_entropy_backward() {
    let vocab = 7;
    let targets = [0, 6, 3, 3, 1];
    let raw = values(N * vocab, 1);
    for scale in [1.7, -0.6] {
        let loss = |raw: &[f64], scale: f64| {
            let (mut raw, mut losses) = (raw.to_vec(), [0.0; N]);
            cross_entropy::forward(vocab, scale, &targets, &mut raw, &mut losses);
            losses
        };
        let (mut draw, mut losses, mut spare) = (raw.clone(), [0.0; N], vec![0.0; vocab]);
        let dscale =
            cross_entropy::forward_backward(vocab, scale, 0.25, &targets, &mut draw, &mut losses, &mut spare);
        for (a, b) in losses.iter().zip(loss(&raw, scale)) {
            assert!((a - b).abs() < 1e-14);
        }
        let mean = |raw: &[f64], scale: f64| 0.25 * loss(raw, scale).iter().sum::<f64>();
        check("raw", &raw, &draw, |raw| mean(raw, scale));
        check("scale", &[scale], &[dscale], |scale| mean(&raw, scale[0]));
    }
}

#[test]
fn rows_by_token() {
    let (table, tokens) = (values(4 * K, 1), [3u8, 0, 3]);
    let mut rows = vec![0.0; 3 * K];
    linear::gather(K, &table, &tokens, &mut rows);
    assert_eq!(rows[..K], table[3 * K..]);
    let mut dtable = vec![0.0; 4 * K];
    linear::scatter(K, &rows, &tokens, &mut dtable);
    assert!((0..K).all(|j| dtable[3 * K + j] == 2.0 * table[3 * K + j] && dtable[K + j] == 0.0));
}
