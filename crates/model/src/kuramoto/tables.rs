//! What is derived from the parameters once per step: packed weights, drift tables, and tables by byte.

use super::Kuramoto;
use super::slots::{FeedForwardSlots, ReadoutSlots};
use crate::config::FeedForward;
use crate::packed::PackedMap;
use crate::parallel::for_each_pair;
use kuramoto_kernels::product::product;
use kuramoto_kernels::{AlignedVec, Causal, Packed, Real, View, drift, lift, linear};

/// A feed-forward block's maps: gate and up stacked, then down; or one linear map.
#[derive(Debug)]
pub(crate) struct PackedFeedForward<F> {
    pub first: PackedMap<F>,
    pub down: Option<PackedMap<F>>,
}

#[derive(Debug)]
struct DriftTable<F> {
    cos: AlignedVec<F>,
    sin: AlignedVec<F>,
}

impl<F: Real> DriftTable<F> {
    /// Of so many positions.
    fn new(omega: &[F], positions: usize) -> Self {
        let len = positions * omega.len();
        let mut table = DriftTable { cos: AlignedVec::zeros(len), sin: AlignedVec::zeros(len) };
        drift::table(omega, 0, &mut table.cos, &mut table.sin);
        table
    }
}

/// Derived from the parameters once per step, shared by all threads.
#[derive(Debug)]
pub struct Tables<F> {
    /// psi of the embedding (V x 2k).
    pub(super) emb_psi: AlignedVec<F>,
    /// Layer 0's `preactivations` for every byte (V x m).
    pub(super) emb_preactivations: AlignedVec<F>,
    drift: Vec<DriftTable<F>>,
    pub(super) gates: Vec<PackedMap<F>>,
    pub(super) feed_forward: Vec<PackedFeedForward<F>>,
    pub(super) readout: PackedMap<F>,
    /// psi of the prototypes (V x 2k); empty with a linear readout.
    proto_psi: AlignedVec<F>,
    /// For `fold_tables`: d psi of the embedding (V x 2k), and psi of the embedding packed.
    emb_dpsi: AlignedVec<F>,
    emb_packed: Packed<F>,
}

impl<F: Real> Tables<F> {
    pub(super) fn new(model: &Kuramoto) -> Self {
        let Shape { v, k, m, t } = Shape::for_model(model);
        let config = model.config();
        let block = || PackedFeedForward {
            first: PackedMap::new(first_outputs(config.feed_forward, k), config.feed_forward.inputs(k)),
            down: config.feed_forward.is_swiglu().then(|| PackedMap::new(k, 2 * k)),
        };
        Tables {
            emb_psi: AlignedVec::zeros(v * 2 * k),
            emb_preactivations: AlignedVec::zeros(v * m),
            drift: (0..model.drift_tables()).map(|_| DriftTable::new(&model.initial_omega(), t)).collect(),
            gates: model.slots.gates.iter().map(|set| PackedMap::new(set.columns, 2 * k)).collect(),
            feed_forward: model.slots.feed_forward.iter().map(|_| block()).collect(),
            readout: PackedMap::new(v, 2 * k),
            proto_psi: AlignedVec::zeros(model.slots.table_proto.len),
            emb_dpsi: AlignedVec::zeros(v * 2 * k),
            emb_packed: Packed::with_capacity(v, 2 * k),
        }
    }

    pub(super) fn floats(model: &Kuramoto) -> usize {
        let Shape { v, k, m, t } = Shape::for_model(model);
        let kind = model.config().feed_forward;
        let down = if kind.is_swiglu() { PackedMap::<F>::floats(k, 2 * k) } else { 0 };
        let block = PackedMap::<F>::floats(first_outputs(kind, k), kind.inputs(k)) + down;
        2 * v * 2 * k
            + v * m
            + model.drift_tables() * 2 * t * k
            + model.slots.gates.iter().map(|set| PackedMap::<F>::floats(set.columns, 2 * k)).sum::<usize>()
            + model.slots.feed_forward.len() * block
            + PackedMap::<F>::floats(v, 2 * k)
            + model.slots.table_proto.len
            + Packed::<F>::floats(v, 2 * k)
    }

    /// cos and sin of omega t (T x k each) of a layer.
    pub(super) fn drift(&self, layer: usize) -> (&[F], &[F]) {
        let table = &self.drift[layer.min(self.drift.len() - 1)];
        (&table.cos, &table.sin)
    }
}

struct Shape {
    v: usize,
    k: usize,
    m: usize,
    t: usize,
}

impl Shape {
    fn for_model(model: &Kuramoto) -> Self {
        Shape {
            v: model.config.vocab,
            k: model.config.width,
            m: model.slots.sections.total,
            t: model.context,
        }
    }
}

/// Outputs of a feed-forward block's first map.
fn first_outputs(kind: FeedForward, k: usize) -> usize {
    match kind {
        FeedForward::Swiglu | FeedForward::PhaseSwiglu => 4 * k,
        FeedForward::Linear => k,
        FeedForward::None => 0,
    }
}

impl Kuramoto {
    pub(super) fn derive_tables<F: Real>(&self, parameters: &[F], tables: &mut Tables<F>) {
        let Shape { v, k, m, .. } = Shape::for_model(self);
        let slots = &self.slots;
        // Rates that are not learned keep the table that was made with their start.
        for_each_pair(&mut tables.drift, &slots.omega, |table, omega| {
            drift::table(omega.slice(parameters), 0, &mut table.cos, &mut table.sin);
        });
        for_each_pair(&mut tables.gates, &slots.gates, |packed, slots| {
            packed.pack(slots.weight.slice(parameters), slots.columns, 2 * k);
        });
        for_each_pair(&mut tables.feed_forward, &slots.feed_forward, |packed, slots| match *slots {
            FeedForwardSlots::Swiglu { gate_up, down, .. } => {
                packed.first.pack(gate_up.slice(parameters), 4 * k, self.config.feed_forward.inputs(k));
                if let Some(packed) = &mut packed.down {
                    packed.pack(down.slice(parameters), k, 2 * k);
                }
            }
            FeedForwardSlots::Linear { weight, .. } => packed.first.pack(weight.slice(parameters), k, k),
        });
        match slots.readout {
            ReadoutSlots::Phase { proto } => {
                lift::forward(k, proto.slice(parameters), &mut tables.proto_psi);
                tables.readout.pack(&tables.proto_psi, v, 2 * k);
            }
            ReadoutSlots::Linear { weight, .. } => tables.readout.pack(weight.slice(parameters), v, 2 * k),
        }
        lift::forward(k, slots.emb.slice(parameters), &mut tables.emb_psi);
        let psi = View::rows(&tables.emb_psi, 2 * k);
        for (set, slots) in self.gate_sets(0) {
            let outputs = &mut tables.emb_preactivations[slots.first..];
            linear::fill_bias(slots.bias.slice(parameters), outputs, m);
            product(outputs, m, v, psi, &tables.gates[set].forward, true, Causal::Full);
        }
    }

    pub(super) fn fold_tables<F: Real>(&self, tables: &mut Tables<F>, gradient: &mut [F]) {
        let Shape { v, k, m, .. } = Shape::for_model(self);
        let slots = &self.slots;
        let (gradient, by_tables) = gradient.split_at_mut(self.layout.count());
        let (dproto_psi, dpreactivations) = by_tables.split_at(slots.table_proto.len);
        if let ReadoutSlots::Phase { proto } = slots.readout {
            lift::backward(k, &tables.proto_psi, dproto_psi, proto.slice_mut(gradient));
        }
        if m == 0 {
            return;
        }
        tables.emb_packed.pack(&tables.emb_psi, 2 * k, v, 2 * k);
        let dpsi = &mut tables.emb_dpsi;
        for (i, (set, slots)) in self.gate_sets(0).enumerate() {
            let doutputs = &dpreactivations[slots.first..];
            linear::bias_backward(doutputs, m, slots.bias.slice_mut(gradient));
            let (dweight, by_output) = (slots.weight.slice_mut(gradient), View::transposed(doutputs, m));
            product(dweight, 2 * k, slots.columns, by_output, &tables.emb_packed, true, Causal::Full);
            let (by_byte, map) = (View::rows(doutputs, m), &tables.gates[set].backward);
            product(dpsi, 2 * k, v, by_byte, map, i > 0, Causal::Full);
        }
        lift::backward(k, &tables.emb_psi, dpsi, slots.emb.slice_mut(gradient));
    }
}
