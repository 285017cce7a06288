//! TensorBoard event files: records with checksums around a few fields of the `Event` message, and what its
//! dashboards for hyperparameters and text read from the summaries in them.
//!
//! The format is small and has not changed in years, and no kept-up crate writes it, so it is written out
//! here; the test script of the Python layer reads it back with TensorBoard itself.

/// The first record of a file, and one that tells TensorBoard to forget what an earlier file says of later
/// steps.
pub fn header(wall_time: f64, step: u64) -> Vec<u8> {
    let mut version = vec![];
    text(&mut version, 3, b"brain.Event:2");
    let mut start = vec![];
    // SessionLog { status: START }
    text(&mut start, 7, &[0x08, 0x01]);
    [record(&event(wall_time, 0, &version)), record(&event(wall_time, step, &start))].concat()
}

/// A record with named numbers.
pub fn scalars(wall_time: f64, step: u64, values: impl Iterator<Item = (String, f64)>) -> Vec<u8> {
    let mut summary = vec![];
    for (tag, value) in values {
        let mut entry = vec![];
        text(&mut entry, 1, tag.as_bytes());
        // simple_value: field 2, 32 bits.
        entry.push(2 << 3 | 5);
        entry.extend((value as f32).to_le_bytes());
        text(&mut summary, 1, &entry);
    }
    let mut body = vec![];
    text(&mut body, 5, &summary);
    record(&event(wall_time, step, &body))
}

/// A record with a text, which the dashboard reads as Markdown.
pub fn markdown(wall_time: f64, step: u64, tag: &str, markdown: &str) -> Vec<u8> {
    let mut tensor = tensor_of(STRING, 1);
    // string_val
    text(&mut tensor, 8, markdown.as_bytes());
    summary(wall_time, step, &value(tag, "text", &[], &tensor))
}

/// A hyperparameter.
pub enum Hyperparameter {
    /// Any number.
    Number(f64),
    /// A name.
    Name(String),
}

/// Records of a run's hyperparameters, and of which numbers it is to be judged by.
pub fn hyperparameters(wall_time: f64, all: &[(&str, Hyperparameter)], metrics: &[&str]) -> Vec<u8> {
    let (mut experiment, mut start) = (vec![], vec![]);
    for (name, hyperparameter) in all {
        // HParamInfo { name, type: STRING or FLOAT64 }
        let (mut info, mut entry, mut content) = (vec![], vec![], vec![]);
        text(&mut info, 1, name.as_bytes());
        info.push(4 << 3);
        match hyperparameter {
            Hyperparameter::Name(name) => {
                info.push(1);
                text(&mut content, 3, name.as_bytes());
            }
            Hyperparameter::Number(number) => {
                info.push(3);
                double(&mut content, 2, *number);
            }
        }
        text(&mut experiment, 4, &info);
        // An entry of SessionStartInfo.hparams: key, google.protobuf.Value.
        text(&mut entry, 1, name.as_bytes());
        text(&mut entry, 2, &content);
        text(&mut start, 1, &entry);
    }
    for tag in metrics {
        // MetricInfo { name: MetricName { tag } }
        let (mut name, mut info) = (vec![], vec![]);
        text(&mut name, 2, tag.as_bytes());
        text(&mut info, 1, &name);
        text(&mut experiment, 5, &info);
    }
    double(&mut start, 5, wall_time);
    let nothing = tensor_of(FLOAT, 0);
    // HParamsPluginData is one of an experiment (2) and the start of a session (3).
    [("experiment", 2, experiment), ("session_start_info", 3, start)]
        .map(|(name, field, message)| {
            let mut content = vec![];
            text(&mut content, field, &message);
            summary(wall_time, 0, &value(&format!("_hparams_/{name}"), "hparams", &content, &nothing))
        })
        .concat()
}

/// Types of tensors.
const FLOAT: u8 = 1;
const STRING: u8 = 7;

/// A vector of so many elements, which are still to be added.
fn tensor_of(kind: u8, elements: u64) -> Vec<u8> {
    let (mut dimension, mut shape) = (vec![1 << 3], vec![]);
    varint(&mut dimension, elements);
    text(&mut shape, 2, &dimension);
    let mut tensor = vec![1 << 3, kind];
    text(&mut tensor, 2, &shape);
    tensor
}

/// A value of a summary that a plugin reads.
fn value(tag: &str, plugin: &str, content: &[u8], tensor: &[u8]) -> Vec<u8> {
    let (mut data, mut metadata, mut value) = (vec![], vec![], vec![]);
    text(&mut data, 1, plugin.as_bytes());
    text(&mut data, 2, content);
    text(&mut metadata, 1, &data);
    // data_class: TENSOR
    metadata.extend([4 << 3, 2]);
    text(&mut value, 1, tag.as_bytes());
    text(&mut value, 8, tensor);
    text(&mut value, 9, &metadata);
    value
}

/// A record with one value.
fn summary(wall_time: f64, step: u64, value: &[u8]) -> Vec<u8> {
    let (mut summary, mut body) = (vec![], vec![]);
    text(&mut summary, 1, value);
    text(&mut body, 5, &summary);
    record(&event(wall_time, step, &body))
}

fn event(wall_time: f64, step: u64, body: &[u8]) -> Vec<u8> {
    let mut message = vec![];
    double(&mut message, 1, wall_time);
    message.push(2 << 3);
    varint(&mut message, step);
    message.extend(body);
    message
}

/// A field of bytes with its length.
fn text(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// A field of 64 bits.
fn double(out: &mut Vec<u8>, field: u8, value: f64) {
    out.push(field << 3 | 1);
    out.extend(value.to_le_bytes());
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Length, its checksum, the message, its checksum.
fn record(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    let mut out = length.to_vec();
    out.extend(masked(&length).to_le_bytes());
    out.extend(message);
    out.extend(masked(message).to_le_bytes());
    out
}

fn masked(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xA282_EAD8)
}
