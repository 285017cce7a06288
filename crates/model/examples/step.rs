#![allow(missing_docs, clippy::print_stdout)]
use kuramoto_model::*;
use std::time::Instant;
fn run<N: Network<f32>>(name: &str, net: N, flops: f64, peak: f64, threads: usize) {
    let (b, t) = (64, 256);
    let planned = Engine::<f32, N>::planned_bytes(&net, 8, threads);
    let mut e = Engine::new(net, b, 8, threads).unwrap();
    e.initialize(1);
    let tokens: Vec<u8> = (0..b * t).map(|i| ((i * 7919 + i / 13) % 205) as u8).collect();
    let targets: Vec<u8> = tokens.iter().map(|x| (x + 1) % 205).collect();
    let batch = Batch { tokens: &tokens, targets: &targets, length: t };
    let mut best = f64::INFINITY;
    for step in 1..=6 {
        let s = Instant::now();
        let l = e.gradient(&batch, 1, step).unwrap();
        let n = e.gradient_norm();
        e.update(&Update { step, ..Default::default() }, n);
        let dt = s.elapsed().as_secs_f64();
        best = best.min(dt);
        if step == 6 { println!("{name}: loss {l:.3} norm {n:.3} {:.0} tok/s util {:.1}% planned {} MB", (b * t) as f64 / best, 100.0 * flops * (b * t) as f64 / best / peak / threads as f64, planned >> 20); }
    }
}
fn main() {
    let peak = kuramoto_kernels::peak::measure(0.5);
    println!("peak {:.1}", peak / 1e9);
    let arg: String = std::env::args().nth(1).unwrap_or("all".into());
    for threads in [1usize, 2] {
        for dropout in [0.1, 0.0] {
            for (n, k, d) in [("1m", 176, 120), ("5m", 400, 276)] {
                if arg != "all" && arg != n { continue; }
                let c = KuramotoConfig { width: k, dropout, ..Default::default() };
                run(&format!("ka {n} dropout {dropout} threads {threads}"), Kuramoto::new(c.clone(), 256).unwrap(), flops::kuramoto(&c, 256).training, peak, threads);
                let c = TransformerConfig { width: d, dropout, ..Default::default() };
                run(&format!("tf {n} dropout {dropout} threads {threads}"), Transformer::new(c.clone(), 256).unwrap(), flops::transformer(&c, 256).training, peak, threads);
            }
        }
    }
}
