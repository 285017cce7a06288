//! Where parameters lie on the device: as in the model's layout, but everything that is bound by itself
//! starts at a multiple of [`ALIGNMENT`] elements.

use crate::plan::ALIGNMENT;
use kuramoto_engine::Update;
use kuramoto_model::{Layout, Tensor};

/// One tensor here and there.
#[derive(Clone, Debug)]
struct Place {
    tensor: Tensor,
    device: usize,
}

impl Place {
    fn host(&self) -> std::ops::Range<usize> {
        let slot = self.tensor.slot;
        slot.start..slot.start + slot.len
    }

    fn device(&self) -> std::ops::Range<usize> {
        self.device..self.device + self.tensor.slot.len
    }
}

/// Every tensor of a layout.
#[derive(Clone, Debug)]
pub struct Places {
    places: Vec<Place>,
    count: usize,
    /// Elements of an arena on the device.
    pub padded: usize,
}

impl Places {
    /// Of a layout.
    pub fn new(layout: &Layout) -> Places {
        let mut places: Vec<Place> = Vec::new();
        let mut padded: usize = 0;
        for tensor in layout.tensors() {
            if !places.last().is_some_and(|last| are_stacked(&last.tensor.name, &tensor.name)) {
                padded = padded.next_multiple_of(ALIGNMENT);
            }
            places.push(Place { tensor: tensor.clone(), device: padded });
            padded += tensor.slot.len;
        }
        Places { places, count: layout.count(), padded: padded.next_multiple_of(ALIGNMENT) }
    }

    /// Where a tensor starts on the device.
    pub fn start(&self, name: &str) -> usize {
        match self.places.iter().find(|place| place.tensor.name == name) {
            Some(place) => place.device,
            None => unreachable!("the layout has no {name}"),
        }
    }

    /// Values in the layout's order -> an arena of the device.
    pub fn spread(&self, values: &[f32]) -> Vec<f32> {
        let mut arena = vec![0.0; self.padded];
        for place in &self.places {
            arena[place.device()].copy_from_slice(&values[place.host()]);
        }
        arena
    }

    /// An arena of the device -> values in the layout's order.
    pub fn gather(&self, arena: &[f32]) -> Vec<f32> {
        let mut values = vec![0.0; self.count];
        for place in &self.places {
            values[place.host()].copy_from_slice(&arena[place.device()]);
        }
        values
    }

    /// For every [`ALIGNMENT`] elements of an arena, what the optimizer multiplies its step by (the learning
    /// rate over the first moment's correction) and its parameters (what decay leaves). None if tensors with
    /// different multipliers share such a stretch, as stacked ones may.
    pub fn rates(&self, update: &Update<'_>, correction: f64) -> Option<Vec<[f32; 2]>> {
        let mut rates: Vec<Option<[f32; 2]>> = vec![None; self.padded / ALIGNMENT];
        for place in &self.places {
            let rate = update.learning_rate_of(&place.tensor);
            let keep = 1.0 - rate * update.weight_decay_of(&place.tensor);
            let own = [(rate / correction) as f32, keep as f32];
            let range = place.device();
            for slot in &mut rates[range.start / ALIGNMENT..range.end.div_ceil(ALIGNMENT)] {
                if *slot.get_or_insert(own) != own {
                    return None;
                }
            }
        }
        Some(rates.into_iter().map(Option::unwrap_or_default).collect())
    }
}

/// True for maps that read the same input: their weights are one matrix, their biases one vector.
fn are_stacked(name: &str, next: &str) -> bool {
    let split = |name: &str| {
        let mut parts = name.rsplitn(3, '.').map(str::to_owned);
        let (what, map) = (parts.next(), parts.next());
        (parts.next(), map, what)
    };
    let ((prefix, map, what), (next_prefix, next_map, next_what)) = (split(name), split(next));
    let order = ["wq", "wk", "wf", "wv", "wval"];
    let place = |map: &Option<String>| order.iter().position(|known| map.as_deref() == Some(*known));
    let gates = place(&map).zip(place(&next_map)).is_some_and(|(a, b)| a < b);
    let swiglu = map.as_deref() == Some("gate") && next_map.as_deref() == Some("up");
    prefix == next_prefix && what == next_what && (gates || swiglu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kuramoto_model::{Kuramoto, KuramotoConfig};

    #[test]
    fn stacks_stay_together_and_the_rest_is_aligned() {
        let config = KuramotoConfig { vocab: 5, width: 6, layers: 2, ..Default::default() };
        let network = Kuramoto::new(config, 4).unwrap();
        let places = Places::new(network.layout());
        let weights = places.start("gates.wq.weight");
        assert_eq!(weights % ALIGNMENT, 0);
        assert_eq!(places.start("gates.wk.weight"), weights + 72);
        assert_eq!(places.start("gates.wv.weight"), weights + 144);
        assert_eq!(places.start("layers.1.ffn.up.weight"), places.start("layers.1.ffn.gate.weight") + 72);
        for name in
            ["gates.wq.bias", "tau", "layers.0.omega", "layers.1.ffn.down.bias", "proto", "logit_scale"]
        {
            assert_eq!(places.start(name) % ALIGNMENT, 0, "{name}");
        }
        let values: Vec<f32> = (0..network.layout().count()).map(|i| i as f32).collect();
        assert_eq!(places.gather(&places.spread(&values)), values);
    }
}
