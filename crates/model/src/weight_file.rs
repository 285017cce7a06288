//! Weights as [safetensors](https://github.com/huggingface/safetensors), by the names of the [`Layout`].

use crate::error::{Error, Result};
use crate::layout::{Layout, Tensor};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

fn not_weights(why: String) -> Error {
    Error::Weights { why }
}

/// Arenas as named tensors, each with its prefix.
pub fn encode(layout: &Layout, arenas: &[(&str, &[f32])]) -> Vec<u8> {
    let named = arenas.iter().flat_map(|&(prefix, arena)| {
        layout.tensors().iter().map(move |tensor| {
            let bytes: Vec<u8> = tensor.slot.slice(arena).iter().flat_map(|x| x.to_le_bytes()).collect();
            (format!("{prefix}{}", tensor.name), tensor, bytes)
        })
    });
    let named: Vec<(String, &Tensor, Vec<u8>)> = named.collect();
    let views = named.iter().map(|(name, tensor, bytes)| {
        let view = TensorView::new(Dtype::F32, tensor.shape.clone(), bytes);
        (name, view.expect("a slot has as many elements as its shape"))
    });
    let format = [("format".to_string(), "pt".to_string())].into();
    safetensors::serialize(views, Some(format)).expect("names are unique")
}

/// The arena of named tensors that must be exactly those of the layout.
pub fn arena(bytes: &[u8], layout: &Layout, prefix: &str) -> Result<Vec<f32>> {
    let file = SafeTensors::deserialize(bytes)
        .map_err(|error| not_weights(format!("it is not a safetensors file ({error})")))?;
    let mut arena = vec![0.0; layout.count()];
    for tensor in layout.tensors() {
        let name = format!("{prefix}{}", tensor.name);
        let view = file.tensor(&name).map_err(|_| not_weights(format!("it has no tensor {name}")))?;
        if view.dtype() != Dtype::F32 || view.shape() != tensor.shape {
            let why = format!(
                "{name} is {:?} {:?}, but this model has F32 {:?}",
                view.dtype(),
                view.shape(),
                tensor.shape
            );
            return Err(not_weights(why));
        }
        for (x, bytes) in tensor.slot.slice_mut(&mut arena).iter_mut().zip(view.data().chunks_exact(4)) {
            *x = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
    }
    let expected = layout.tensors().len();
    let found = file.names().iter().filter(|name| name.starts_with(prefix)).count();
    if found != expected {
        return Err(not_weights(format!("it has {found} tensors, but this model has {expected}")));
    }
    Ok(arena)
}
