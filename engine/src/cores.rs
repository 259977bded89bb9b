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

/// Makes the calling thread run only where no other wants to (sched(7), SCHED_IDLE): a thread that wakes
/// takes the core from it at once. What cannot be had is done without.
pub fn step_aside() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` outlives the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
}

/// Moves the calling thread away from `cores`, to all others there are; where there are none it stays.
pub fn keep_off(cores: &[usize]) {
    let all = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let others: Vec<usize> = all
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok())
        .filter(|core| !cores.contains(core))
        .collect();
    let _ = pin_current_thread(&others);
}
