//! All processes of this machine at one instant, and who descends from whom. Of each it takes one file of `/proc` that
//! anybody may read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::rests::Rests;
use super::stat::Stat;
use crate::clock::now_ns;
use crate::process_tree::Pid;

/// The number of the namespace of process ids that all others are in (`PROC_PID_INIT_INO`).
const NAMESPACE_OF_ALL: &str = "pid:[4026531836]";

#[derive(Default)]
pub struct AllProcesses {
    /// When they were read: halfway through.
    pub at_ns: u64,
    by_pid: BTreeMap<Pid, Stat>,
}

impl AllProcesses {
    pub fn read(rests: &mut Rests) -> Self {
        let began_ns = now_ns();
        let read = pids().into_iter().filter_map(|pid| {
            rests.take();
            Stat::read(pid)
        });
        let by_pid = read.map(|stat| (stat.pid, stat)).collect();
        Self { at_ns: began_ns.midpoint(now_ns()), by_pid }
    }

    /// `read`: one for each process.
    #[cfg(test)]
    pub fn of(read: impl IntoIterator<Item = Stat>) -> Self {
        Self { at_ns: 0, by_pid: read.into_iter().map(|stat| (stat.pid, stat)).collect() }
    }

    pub fn each(&self) -> impl Iterator<Item = &Stat> {
        self.by_pid.values()
    }

    pub fn get(&self, pid: Pid) -> Option<&Stat> {
        self.by_pid.get(&pid)
    }

    /// Returns these processes, as far as they are there.
    pub fn some(&self, pids: &BTreeSet<Pid>) -> Vec<Stat> {
        pids.iter().filter_map(|pid| self.by_pid.get(pid).copied()).collect()
    }

    /// Returns `roots` and all that descend from them.
    pub fn with_descendants(&self, roots: &BTreeSet<Pid>) -> BTreeSet<Pid> {
        let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
        for stat in self.by_pid.values() {
            children.entry(stat.parent).or_default().push(stat.pid);
        }
        let (mut found, mut next) = (BTreeSet::new(), Vec::from_iter(roots.iter().copied()));
        while let Some(pid) = next.pop() {
            if found.insert(pid) {
                next.extend(children.get(&pid).into_iter().flatten());
            }
        }
        found
    }

    /// Returns the ancestors of a process, without itself.
    pub fn ancestors(&self, pid: Pid) -> BTreeSet<Pid> {
        let (mut found, mut at) = (BTreeSet::new(), pid);
        while let Some(stat) = self.by_pid.get(&at) {
            at = stat.parent;
            if at == 0 || !found.insert(at) {
                break;
            }
        }
        found
    }
}

/// Returns the ids of all processes that this process is shown, the lowest first.
pub fn pids() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<Pid> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// Returns whether this process is shown all processes of the machine: it is in no namespace of process ids, and those of
/// other users are not hidden from it (`hidepid`).
pub fn are_all_shown() -> bool {
    let namespace = fs::read_link("/proc/self/ns/pid");
    namespace.is_ok_and(|link| link == Path::new(NAMESPACE_OF_ALL)) && Stat::read(1).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::stat::Cpu;
    use super::*;

    fn stat(pid: Pid, parent: Pid) -> Stat {
        let own = Cpu::default();
        Stat { pid, parent, started: 1, own, is_split: true, children: own, threads: 1, rss_bytes: 1 }
    }

    #[test]
    fn who_descends_from_whom_is_told() {
        let all = AllProcesses::of([(1, 0), (2, 1), (3, 2), (4, 3), (5, 1)].map(|(pid, of)| stat(pid, of)));
        assert_eq!(all.with_descendants(&[2, 9].into()), [2, 3, 4, 9].into());
        assert_eq!((all.ancestors(4), all.ancestors(9)), ([1, 2, 3].into(), [].into()));
        let some: Vec<Pid> = all.some(&[3, 9].into()).iter().map(|stat| stat.pid).collect();
        assert_eq!(some, [3]);
    }

    #[test]
    fn a_process_that_seems_to_be_its_own_ancestor_is_no_endless_loop() {
        let all = AllProcesses::of([stat(2, 3), stat(3, 2)]);
        assert_eq!(all.ancestors(2), [2, 3].into());
        assert_eq!(all.with_descendants(&[2].into()), [2, 3].into());
    }

    #[test]
    fn this_process_and_its_parent_are_among_all() {
        let (own, all) = (std::process::id() as Pid, AllProcesses::read(&mut Rests::none()));
        assert!(all.at_ns > 0 && all.ancestors(own).contains(&(std::os::unix::process::parent_id() as Pid)));
        assert_eq!(all.some(&[own].into()).len(), 1);
    }
}
