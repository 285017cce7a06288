//! Arrays on their way to the page: a JSON header, then raw little-endian numbers.
//!
//! `u32` length of the header, the header (padded with spaces so that the numbers begin at a multiple of 4), the arrays
//! one after the other. The header is `{"meta": .., "arrays": [{"name", "shape", "offset"}, ..]}`; all are 32-bit floats
//! and offsets count them from the first.

use serde_json::{Value, json};

/// A message in the making.
#[derive(Default)]
pub struct Message {
    arrays: Vec<Value>,
    numbers: Vec<f32>,
}

impl Message {
    /// Adds an array.
    pub fn array(&mut self, name: &str, shape: &[usize], values: impl IntoIterator<Item = f32>) {
        let offset = self.numbers.len();
        self.numbers.extend(values);
        assert_eq!(self.numbers.len() - offset, shape.iter().product::<usize>(), "{name}");
        self.arrays.push(json!({ "name": name, "shape": shape, "offset": offset }));
    }

    /// As bytes.
    pub fn encode(self, meta: Value) -> Vec<u8> {
        let mut header = json!({ "meta": meta, "arrays": self.arrays }).to_string();
        while !header.len().is_multiple_of(4) {
            header.push(' ');
        }
        let mut bytes = Vec::with_capacity(4 + header.len() + 4 * self.numbers.len());
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(self.numbers.iter().flat_map(|x| x.to_le_bytes()));
        bytes
    }
}

/// Name, shape and values of an array.
pub type Decoded = (String, Vec<usize>, Vec<f32>);

/// Takes a message apart; for tests and for programs that talk to the server.
pub fn decode(bytes: &[u8]) -> Option<(Value, Vec<Decoded>)> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let header: Value = serde_json::from_slice(bytes.get(4..4 + length)?).ok()?;
    let numbers: Vec<f32> = bytes[4 + length..]
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect();
    let array = |described: &Value| {
        let shape: Vec<usize> = described["shape"]
            .as_array()?
            .iter()
            .map(|size| size.as_u64().map(|size| size as usize))
            .collect::<Option<_>>()?;
        let offset = described["offset"].as_u64()? as usize;
        let values = numbers.get(offset..offset + shape.iter().product::<usize>())?.to_vec();
        Some((described["name"].as_str()?.to_string(), shape, values))
    };
    let arrays = header["arrays"].as_array()?.iter().map(array).collect::<Option<_>>()?;
    Some((header["meta"].clone(), arrays))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_apart_as_they_were_put_together() {
        let mut message = Message::default();
        message.array("a", &[2, 3], (0..6).map(|x| x as f32));
        message.array("b", &[], [7.5]);
        let bytes = message.encode(json!({ "n": 3 }));
        let (meta, arrays) = decode(&bytes).unwrap();
        assert_eq!(meta, json!({ "n": 3 }));
        assert_eq!(arrays[0], ("a".into(), vec![2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(arrays[1], ("b".into(), vec![], vec![7.5]));
        assert!(decode(&bytes[..bytes.len() - 1]).is_none() && decode(b"").is_none());
    }
}
