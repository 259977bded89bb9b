//! CPU clocks of processes and threads by their ids, exact to the nanosecond (clock_getcpuclockid(3)).

use crate::process_tree::Pid;

const CPUCLOCK_SCHED: i32 = 2;
const CPUCLOCK_PERTHREAD: i32 = 4;

/// Returns the CPU time of all threads of a process, past and present, or `None` if there is no such process.
pub fn process_ns(pid: Pid) -> Option<u64> {
    read_ns((!pid << 3) | CPUCLOCK_SCHED)
}

/// Returns the CPU time of one thread of this process up to now, or `None` if it has ended.
pub fn thread_ns(tid: Pid) -> Option<u64> {
    read_ns((!tid << 3) | CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED)
}

/// Returns the CPU time of the calling thread.
pub fn own_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn read_ns(clock: i32) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call; an unknown clock is an error, not undefined behaviour.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    done.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
