//! Which cores a thread runs on.

use rustix::io;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Binds the calling thread to `cores`; an empty list leaves it where it is.
///
/// # Errors
/// `EINVAL` when none of the cores exists.
pub fn pin_current_thread(cores: &[usize]) -> io::Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &core in cores {
        if core < CpuSet::MAX_CPU {
            set.set(core);
        }
    }
    sched_setaffinity(None, &set)
}
