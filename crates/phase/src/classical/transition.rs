//! The transition: order against coupling, as a table and a figure.

use super::{Frequencies, Graph, Population};
use kuramoto_report::csv::optional;
use kuramoto_report::figure::{Corner, Figure, Line, Panel, Points, colour};
use kuramoto_report::statistics::{mean, standard_deviation};
use kuramoto_report::{Csv, TextTable};

/// The order of a population at one coupling, once it has settled.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Settled {
    /// K.
    pub coupling: f64,
    /// Mean order over time.
    pub order: f64,
    /// Its standard deviation over time.
    pub fluctuation: f64,
    /// Of an infinite all-to-all population, where a formula is known.
    pub theory: Option<f64>,
}

/// How long a population is watched.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Time before anything is counted.
    pub settle: f64,
    /// Time over which the order is averaged.
    pub measure: f64,
    /// Time of one step.
    pub step: f64,
}

/// Most steps of a simulation: at a microsecond each, hours.
pub const MAX_STEPS: f64 = 1e10;

impl Watch {
    /// Steps at each coupling; as many as the times ask for, so possibly without end.
    pub fn steps(&self) -> f64 {
        (self.settle / self.step).ceil() + (self.measure / self.step).ceil()
    }
}

/// Bytes that [`sweep`] holds on so many threads: of each population its frequencies, phases and slopes, its
/// graph, and the orders that it measures.
pub fn sweep_bytes(count: usize, graph: &Graph, watch: Watch, threads: usize) -> u64 {
    let orders = (watch.measure / watch.step).ceil() as u64;
    let numbers =
        (count as u64).saturating_mul(7).saturating_add(orders).saturating_mul(size_of::<f64>() as u64);
    numbers.saturating_add(graph.bytes() as u64).saturating_mul(threads as u64)
}

/// The order at each coupling, each from freshly drawn phases; `done` is called after every one, from several
/// threads.
pub fn sweep(
    frequencies: Frequencies,
    count: usize,
    graph: &Graph,
    couplings: &[f64],
    watch: Watch,
    seed: u64,
    done: impl Fn() + Sync,
) -> Vec<Settled> {
    let settled = |&coupling: &f64| {
        let mut population = Population::new(frequencies.spaced(count), graph.clone(), coupling, seed);
        let steps = |time: f64| (time / watch.step).ceil() as usize;
        (0..steps(watch.settle)).for_each(|_| population.step(watch.step));
        let watched = (0..steps(watch.measure)).map(|_| {
            population.step(watch.step);
            population.order()
        });
        let orders: Vec<f64> = watched.collect();
        let theory = frequencies.order(coupling).filter(|_| *graph == Graph::Complete);
        done();
        Settled { coupling, order: mean(&orders), fluctuation: standard_deviation(&orders), theory }
    };
    use rayon::prelude::*;
    couplings.par_iter().map(settled).collect()
}

/// A row for each coupling.
pub fn csv(found: &[Settled]) -> String {
    let mut table = Csv::new(["coupling", "order", "fluctuation", "theory"]);
    for Settled { coupling, order, fluctuation, theory } in found {
        table.row([coupling.to_string(), order.to_string(), fluctuation.to_string(), optional(*theory)]);
    }
    table.finish()
}

/// The same for a terminal.
pub fn table(found: &[Settled]) -> TextTable {
    let mut table = TextTable::new(&["K", "order r", "sd over time", "theory"]);
    for Settled { coupling, order, fluctuation, theory } in found {
        let theory = theory.map_or_else(|| "-".into(), |theory| format!("{theory:.4}"));
        table.row([format!("{coupling:.4}"), format!("{order:.4}"), format!("{fluctuation:.4}"), theory]);
    }
    table
}

/// r against K, beside the theory of an infinite population.
pub fn figure(frequencies: Frequencies, found: &[Settled]) -> Figure {
    let points = found.iter().map(|settled| (settled.coupling, settled.order));
    let mut panel = Panel::new("The Kuramoto transition")
        .labels("coupling K", "order parameter r")
        .y_range(0.0, 1.02)
        .legend(Corner::BottomRight)
        .points(
            Points::new(points, colour::BLUE)
                .size(3.5)
                .whiskers(found.iter().map(|settled| settled.fluctuation))
                .legend("simulated, ± sd over time"),
        );
    if found.iter().any(|settled| settled.theory.is_some()) {
        let top = found.iter().map(|settled| settled.coupling).fold(0.0, f64::max);
        let theory = (1..=400)
            .map(|i| top * f64::from(i) / 400.0)
            .filter_map(|coupling| Some((coupling, frequencies.order(coupling)?)));
        panel = panel.line(Line::new(theory, colour::ORANGE).legend("√(1 − Kc / K)"));
    }
    let critical = frequencies.critical_coupling();
    let mark = Line::new([(critical, 0.0), (critical, 1.0)], colour::GREY).width(2.0).dashed();
    let panel = panel.line(mark.legend(format!("Kc = {critical:.3}")));
    let caption = "Order of the classical Kuramoto model against its coupling.";
    Figure::single("transition", caption, panel, (620.0, 420.0))
}

#[cfg(test)]
mod tests {
    use super::super::Distribution;
    use super::*;

    const WATCH: Watch = Watch { settle: 60.0, measure: 40.0, step: 0.05 };

    /// Above the transition a large population of Lorentzian frequencies follows r = sqrt(1 - K_c / K); below
    /// it there is only the noise of a finite population.
    #[test]
    fn the_transition_is_where_it_should_be() {
        let frequencies = Frequencies::Lorentzian(0.5);
        assert!((frequencies.critical_coupling() - 1.0).abs() < 1e-12);
        let couplings = [0.2, 0.5, 1.5, 2.0, 3.0, 4.0];
        for settled in sweep(frequencies, 4000, &Graph::Complete, &couplings, WATCH, 1, || ()) {
            let theory = settled.theory.unwrap();
            assert!((settled.order - theory).abs() < 0.05, "{settled:?}");
        }
    }

    #[test]
    fn tables_leave_out_theory_where_there_is_none() {
        let found = [Some(0.5), None].map(|theory| Settled {
            coupling: 2.0,
            order: 0.25,
            fluctuation: 0.125,
            theory,
        });
        assert_eq!(csv(&found), "coupling,order,fluctuation,theory\n2,0.25,0.125,0.5\n2,0.25,0.125,\n");
        assert!(table(&found).to_string().ends_with(" -\n"));
        assert_eq!("normal".parse(), Ok(Distribution::Normal));
        assert_eq!(Distribution::Uniform.of_width(2.0), Frequencies::Uniform(2.0));
    }
}
