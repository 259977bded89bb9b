//! CPU time of the kernel's own threads, such as those that write to a disk. Nobody's program uses it: the kernel does
//! there what programs have asked for, the server among them.

use std::collections::BTreeMap;
use std::fs;

use super::all_processes::pids;
use super::stat::Stat;
use crate::process_tree::Pid;

/// The thread that starts all others of the kernel.
const KTHREADD: Pid = 2;
/// Of `flags` in `/proc/PID/stat`: it is a thread of the kernel (`PF_KTHREAD`).
const IS_KERNEL_THREAD: u64 = 0x0020_0000;

/// Process → CPU time in ns at the beginning; `None`: it is no thread of the kernel.
#[derive(Default)]
pub struct KernelThreads(BTreeMap<Pid, Option<u64>>);

impl KernelThreads {
    /// Reads all of them. In a namespace of process ids there are none to be seen.
    pub fn open() -> Self {
        if !is_kthreadd() {
            return Self::default();
        }
        Self(pids().into_iter().map(|pid| (pid, is_one(pid).then(|| cpu_ns(pid)).flatten())).collect())
    }

    /// Returns what all of them have used since; those that began meanwhile, from their beginning.
    pub fn used_ns(&self) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        let used = |pid: Pid| match self.0.get(&pid) {
            Some(None) => None,
            Some(&Some(before_ns)) => Some(cpu_ns(pid)?.saturating_sub(before_ns)),
            None => is_one(pid).then(|| cpu_ns(pid)).flatten(),
        };
        pids().into_iter().filter_map(used).sum()
    }
}

fn is_kthreadd() -> bool {
    let text = fs::read_to_string(format!("/proc/{KTHREADD}/stat")).unwrap_or_default();
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let flags = after_name.split_ascii_whitespace().nth(6).and_then(|flags| flags.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & IS_KERNEL_THREAD != 0)
}

fn is_one(pid: Pid) -> bool {
    pid == KTHREADD || Stat::read(pid).is_some_and(|stat| stat.parent == KTHREADD)
}

fn cpu_ns(pid: Pid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_computes_is_not_the_kernels() {
        let threads = KernelThreads::open();
        let began_ns = super::super::own_cpu_ns();
        while super::super::own_cpu_ns() < began_ns + 200_000_000 {}
        assert!(threads.used_ns() < 150_000_000, "{}", threads.used_ns());
        let own = std::process::id() as Pid;
        assert!(!is_one(own) && threads.0.get(&own).is_none_or(Option::is_none));
    }

    #[test]
    fn where_kernel_threads_are_shown_each_has_a_time() {
        let threads = KernelThreads::open();
        assert_eq!(threads.0.get(&KTHREADD).is_some_and(Option::is_some), is_kthreadd());
    }
}
