//! The one clock of a trial: monotonic, in nanoseconds, never set back.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since an arbitrary instant, the same for all threads of this machine.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Wall clock, for the record's date only; nothing is measured with it.
pub fn unix_ns() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}
