//! Arrays sent to the page, as [safetensors](https://github.com/huggingface/safetensors).
//!
//! A message is one safetensors file: the `u64` length of a JSON header, the header, then the arrays as raw
//! little-endian numbers. What is not an array travels as JSON text under the key `meta` of `__metadata__`.
//!
//! A stream is a sequence of frames, each the `u32` little-endian length of a message followed by the
//! message.

use safetensors::{Dtype, View};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;

/// The key of `__metadata__` that holds JSON.
const META: &str = "meta";

/// Arrays by name, and JSON beside them.
#[derive(Default)]
pub struct Message {
    arrays: Vec<(String, Array)>,
    meta: Option<Value>,
}

struct Array {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for Array {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

impl Message {
    /// Adds an array of floats, which must fill its shape.
    pub fn floats(&mut self, name: &str, shape: &[usize], values: impl IntoIterator<Item = f32>) {
        let mut bytes = Vec::with_capacity(4 * shape.iter().product::<usize>());
        values.into_iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        self.array(name, Dtype::F32, shape, bytes);
    }

    /// Adds an array of bytes, which must fill its shape.
    pub fn bytes(&mut self, name: &str, shape: &[usize], values: &[u8]) {
        self.array(name, Dtype::U8, shape, values.to_vec());
    }

    /// Panics if the values do not fill the shape: the page trusts the header.
    fn array(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: Vec<u8>) {
        assert_eq!(8 * bytes.len(), dtype.bitsize() * shape.iter().product::<usize>(), "{name}");
        self.arrays.push((name.into(), Array { dtype, shape: shape.to_vec(), bytes }));
    }

    /// Sets what is not an array.
    pub fn meta(&mut self, meta: Value) {
        self.meta = Some(meta);
    }

    /// The message as a file.
    pub fn encode(self) -> Vec<u8> {
        let metadata = self.meta.map(|meta| HashMap::from([(META.to_string(), meta.to_string())]));
        safetensors::serialize(self.arrays, metadata).expect("names are unique and sizes were checked")
    }

    /// The message as a part of a stream.
    pub fn frame(self) -> Vec<u8> {
        let message = self.encode();
        let length = u32::try_from(message.len()).expect("a frame holds the arrays of a single byte");
        [&length.to_le_bytes(), message.as_slice()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::SafeTensors;
    use serde_json::json;

    #[test]
    fn messages_are_safetensors() {
        let mut message = Message::default();
        message.bytes("byte", &[1], b"A");
        message.floats("phase", &[2, 3], (0..6).map(|x| x as f32));
        message.meta(json!({ "n": 3 }));
        let bytes = message.encode();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        assert_eq!(header.metadata().as_ref().unwrap()[META], r#"{"n":3}"#);
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let phase = tensors.tensor("phase").unwrap();
        assert_eq!((phase.dtype(), phase.shape()), (Dtype::F32, [2, 3].as_slice()));
        assert_eq!(phase.data(), (0..6).flat_map(|x| (x as f32).to_le_bytes()).collect::<Vec<u8>>());
        assert_eq!(tensors.tensor("byte").unwrap().data(), b"A");
    }

    #[test]
    fn frames_begin_with_the_length_of_their_message() {
        let message = || {
            let mut message = Message::default();
            message.floats("phase", &[2], [0.5, 1.5]);
            message
        };
        let (frame, alone) = (message().frame(), message().encode());
        assert_eq!(frame[..4], (alone.len() as u32).to_le_bytes());
        assert_eq!(frame[4..], alone);
    }

    #[test]
    #[should_panic(expected = "phase")]
    fn values_must_fill_the_shape() {
        Message::default().floats("phase", &[2, 2], [0.0; 3]);
    }
}
