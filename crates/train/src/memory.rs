//! Free memory, before it is needed.

use crate::error::{Error, Result};

/// Bytes this process may still take: of the system, or of its control group where that is less.
fn available() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let group = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    system.available_memory().min(group)
}

/// Says so if `planned` bytes will not fit.
pub fn check(planned: u64) -> Result<()> {
    match available() {
        // A system that does not say is taken at its word when it refuses.
        0 => Ok(()),
        available if planned > available => Err(Error::Memory { planned, available }),
        _ => Ok(()),
    }
}
