//! TensorBoard event files: records with checksums around a few fields of the `Event` message.
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

fn event(wall_time: f64, step: u64, body: &[u8]) -> Vec<u8> {
    let mut message = vec![1 << 3 | 1];
    message.extend(wall_time.to_le_bytes());
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
