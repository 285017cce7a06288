//! The scaling table of `kuramoto bench --threads 1,2,..`, and what more cores and machines would do.

use crate::table::{Table, thousands};
use kuramoto_engine::scaling::{Costs, ETHERNET};
use std::fmt::Write;

/// Bytes that one run of the paper's protocol reads: 50 epochs of nine tenths of enwik8.
pub const PROTOCOL_BYTES: f64 = 50.0 * 9e7;

/// One measured number of threads.
pub struct MeasuredPoint {
    pub threads: usize,
    pub tokens_per_s: f64,
    pub costs: Costs,
}

/// The scaling table of one configuration, and predictions from its first point, which has one thread.
pub fn report(
    name: &str,
    sequences: usize,
    context: usize,
    lanes: usize,
    points: &[MeasuredPoint],
) -> String {
    let tokens = (sequences * context) as f64;
    let (one, costs) = (points[0].tokens_per_s, points[0].costs);
    let mut text = format!(
        "\n{name}: a sequence takes {:.1} ms on one thread, an addition of two gradients {:.2} ms, norm and \
         update {:.2} ms, the rest {:.2} ms; a gradient has {:.2} MB\n\n",
        1e3 * costs.sequence,
        1e3 * costs.addition,
        1e3 * costs.update,
        1e3 * costs.rest,
        costs.gradient_bytes / 1e6
    );
    let mut table =
        Table::new(&["threads", "tokens/s", "speed-up", "efficiency", "predicted", "reduction ms"]);
    for point in points {
        let speed = point.tokens_per_s / one;
        let predicted = costs.step(sequences, lanes, 1, point.threads, &ETHERNET);
        table.row([
            point.threads.to_string(),
            thousands(point.tokens_per_s as usize),
            format!("{speed:.2}"),
            format!("{:.0}%", 100.0 * speed / point.threads as f64),
            thousands((tokens / predicted) as usize),
            format!("{:.2}", 1e3 * point.costs.addition * (lanes - 1) as f64),
        ]);
    }
    write!(text, "{table}").ok();
    let places = [(1, 8), (1, 16), (1, 32), (1, 64), (1, 128), (2, 32), (4, 16), (2, 64), (4, 64)];
    for batch in [sequences, 4 * sequences] {
        let mut table =
            Table::new(&["machines x cores", "step ms", "tokens/s", "efficiency", "50 epochs of enwik8"]);
        let single = costs.step(batch, 1, 1, 1, &ETHERNET);
        for (machines, cores) in places {
            let step = costs.step(batch, batch.min(machines * cores), machines, cores, &ETHERNET);
            let rate = (batch * context) as f64 / step;
            table.row([
                format!("{machines} x {cores}"),
                format!("{:.1}", 1e3 * step),
                thousands(rate as usize),
                format!("{:.0}%", 100.0 * single / (step * (machines * cores) as f64)),
                format!("{:.1} h", PROTOCOL_BYTES / rate / 3600.0),
            ]);
        }
        write!(text, "\npredicted, batches of {batch} x {context}, a lane a core:\n\n{table}").ok();
    }
    text + "\ncores like these, each as fast beside the others as alone; machines joined by 10 Gbit/s and \
            50 us; a batch keeps as many cores busy as it has sequences\n"
}
