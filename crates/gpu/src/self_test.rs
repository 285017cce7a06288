//! A test that a device must pass before it is trusted.
pub struct Findings;
pub fn self_test() {}
pub fn self_test_of() {}
