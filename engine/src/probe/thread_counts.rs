//! What one thread has done since it began: its context switches, and how long it was on a core and in a run queue.

use std::fs;

use super::field;
use super::schedstat::Used;
use super::task_files::used;
use crate::process_tree::Pid;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    pub voluntary: u64,
    pub involuntary: u64,
    /// Zero if the kernel does not count it.
    pub used: Used,
}

impl ThreadCounts {
    /// Returns `None` if there is no such thread, or no longer.
    pub fn read(pid: Pid, tid: Pid) -> Option<Self> {
        let status = fs::read(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        Some(Self {
            voluntary: field(&status, "voluntary_ctxt_switches:")?,
            involuntary: field(&status, "nonvoluntary_ctxt_switches:")?,
            used: used(pid, tid).ok()?.unwrap_or_default(),
        })
    }

    /// Returns whether these may be of the same thread, later: a count never falls.
    pub fn may_follow(&self, before: &Self) -> bool {
        self.voluntary >= before.voluntary
            && self.involuntary >= before.involuntary
            && self.used.cpu_ns >= before.used.cpu_ns
            && self.used.run_queue_ns >= before.used.run_queue_ns
    }
}

impl std::ops::AddAssign for ThreadCounts {
    fn add_assign(&mut self, other: Self) {
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.used += other.used;
    }
}
