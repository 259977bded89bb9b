//! Which cores a thread may use, and its priority there.

use std::sync::OnceLock;

use rustix::io;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::failure::Failure;
use crate::spec::Pacing;

/// Returns the cores that this process may use, as they were at the first call, which must come before a thread is bound
/// to some of them.
///
/// # Errors
/// `EINVAL` if this machine may have more cores than a `CpuSet` holds.
fn ours() -> io::Result<CpuSet> {
    static OURS: OnceLock<io::Result<CpuSet>> = OnceLock::new();
    *OURS.get_or_init(|| sched_getaffinity(None))
}

/// Checks that this process may run on each of `cores`. If a thread asks for several cores at once, the kernel leaves
/// out those that it does not allow, without an error.
///
/// # Errors
/// A `Failure` (exit code 2) that names the first core that this process may not use.
pub fn check(cores: &[usize]) -> Result<(), Failure> {
    check_among(ours(), cores)
}

fn check_among(ours: io::Result<CpuSet>, cores: &[usize]) -> Result<(), Failure> {
    if cores.is_empty() {
        return Ok(()); // On a machine where `ours` is not known a load on any core is possible.
    }
    let ours =
        ours.map_err(|errno| Failure::new(format!("cannot learn the cores that we may use: {errno}")))?;
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

/// Moves the calling thread from `cores` to all others that this process may use. If there are no others, it stays.
pub fn keep_off(cores: &[usize]) {
    let ours = ours().unwrap_or_else(|_| all());
    let is_other = |core: &usize| ours.is_set(*core) && !cores.contains(core);
    let others: Vec<usize> = (0..CpuSet::MAX_CPU).filter(is_other).collect();
    let _ = pin_current_thread(&others);
}

/// Returns the cores of the machine, also those that are switched off.
pub fn of_the_machine() -> Vec<usize> {
    let listed = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    listed.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok()).collect()
}

/// Returns the cores of the machine, as far as a set holds them.
fn all() -> CpuSet {
    let mut set = CpuSet::new();
    of_the_machine().into_iter().filter(|&core| core < CpuSet::MAX_CPU).for_each(|core| set.set(core));
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cores_that_this_process_may_use_are_among_those_of_the_machine() {
        let (ours, all) = (ours().unwrap(), all());
        assert!((0..CpuSet::MAX_CPU).all(|core| all.is_set(core) || !ours.is_set(core)));
        assert!(ours.count() > 0);
    }

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
        // Where the kernel may have more cores than a set holds, it does not say which are ours.
        let unknown = || Err(io::Errno::INVAL);
        assert!(check_among(unknown(), &[]).is_ok() && check_among(unknown(), &[there]).is_err());
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
