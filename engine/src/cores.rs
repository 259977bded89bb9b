//! Which cores a thread may use, and its priority there.

use rustix::io;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::failure::Failure;
use crate::spec::Pacing;

/// Checks that this process may run on each of `cores`. If a thread asks for several cores at once, the kernel leaves
/// out those that it does not allow, without an error.
///
/// # Errors
/// A `Failure` (exit code 2) that names the first core that this process may not use.
pub fn check(cores: &[usize]) -> Result<(), Failure> {
    let ours = sched_getaffinity(None)
        .map_err(|errno| Failure::new(format!("cannot learn the cores that we may use: {errno}")))?;
    let refused = cores.iter().find_map(|&core| Some((core, pin_current_thread(&[core]).err()?)));
    let _ = sched_setaffinity(None, &ours);
    refused.map_or(Ok(()), |(core, errno)| Err(not_to_be_had(core, errno, &ours)))
}

fn not_to_be_had(core: usize, errno: io::Errno, ours: &CpuSet) -> Failure {
    let ours: Vec<String> =
        (0..CpuSet::MAX_CPU).filter(|&core| ours.is_set(core)).map(|core| core.to_string()).collect();
    Failure::usage(format!("cannot run on core {core}: {errno}"))
        .remedy(format!("name cores that we may use here, such as {}", ours.join(",")))
}

/// Binds the calling thread to `cores`. An empty list changes nothing.
///
/// # Errors
/// `EINVAL` if none of the cores exists.
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

/// Makes the calling thread run only when no other thread wants its core (sched(7), SCHED_IDLE). A thread that wakes
/// takes the core from it at once, and a busy thread leaves it nothing. An error is ignored.
pub fn step_aside() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` outlives the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
}

/// Lowers the calling thread's share of a core to about a tenth of another thread's share (sched(7), "The nice
/// value"). A thread that wakes goes first, and a busy thread still leaves it that tenth. This is for a thread that
/// others wait for if it stops.
pub fn give_way() {
    const NICE: i32 = 10;
    let _ = rustix::process::nice(NICE); // On Linux this changes the calling thread alone.
}

/// Moves the calling thread, which sleeps nearly all the time, off `cores` if the threads there never sleep.
pub fn keep_clear(pacing: Pacing, cores: &[usize]) {
    if pacing == Pacing::Spin {
        keep_off(cores);
    }
}

/// Moves the calling thread from `cores` to all others. If there are no others, it stays.
pub fn keep_off(cores: &[usize]) {
    let all = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let others: Vec<usize> = all
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok())
        .filter(|core| !cores.contains(core))
        .collect();
    let _ = pin_current_thread(&others);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cores of the calling thread.
    fn present() -> CpuSet {
        sched_getaffinity(None).unwrap()
    }

    #[test]
    fn a_core_that_is_not_there_is_named_among_those_that_are() {
        let ours = present();
        let there = (0..CpuSet::MAX_CPU).find(|&core| ours.is_set(core)).unwrap();
        for missing in [1_023, 5_000] {
            let failure = check(&[there, missing]).unwrap_err();
            assert!(failure.error.contains(&format!("core {missing}:")), "{}", failure.error);
            assert!(failure.remedy.contains(&there.to_string()), "{}", failure.remedy);
            assert_eq!(failure.exit_code, 2);
        }
        assert!(check(&[there]).is_ok() && check(&[]).is_ok());
        assert_eq!(present(), ours, "who checks stays where it was");
    }

    #[test]
    fn who_gives_way_is_nicer_alone() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let before = niceness();
        let other = std::thread::spawn(move || {
            give_way();
            niceness()
        });
        assert_eq!(other.join().unwrap(), (before + 10).min(19));
        assert_eq!(niceness(), before);
    }
}
