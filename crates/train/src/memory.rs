//! Free memory, before it is needed.

use crate::error::{Error, Result};
use std::fs;

/// Bytes this process may still take: of the system, of its control group or of its own limit of addresses,
/// whichever is least. 0 if the system does not say.
fn available() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    // Without /proc there is nothing to compare with, and the next call would panic.
    if system.total_memory() == 0 {
        return 0;
    }
    // What files left in the page cache counts as used by the group, but is given back when it is needed.
    let group =
        system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory.saturating_sub(limits.rss));
    system.available_memory().min(group).min(address_space().unwrap_or(u64::MAX))
}

/// What `ulimit -v` leaves, where there is such a limit.
fn address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = limit.split_whitespace().next()?.parse().ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let kilobytes: u64 = used.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(1024 * kilobytes))
}

/// What makes a model that is trained or read need less.
pub const SMALLER: &str = "fewer threads, a shorter context or a smaller model";

/// Says so if `planned` bytes for `what` will not fit, and what would need `less`.
pub fn check(what: &'static str, planned: u64, less: &'static str) -> Result<()> {
    match available() {
        // A system that does not say is taken at its word when it refuses.
        0 => Ok(()),
        available if planned > available => Err(Error::Memory { what, less, planned, available }),
        _ => Ok(()),
    }
}
