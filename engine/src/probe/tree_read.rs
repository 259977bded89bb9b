//! What is read of a process tree at one time, before it is added up (`processes.rs`). Any thread may read it; which
//! processes are known is passed in.

use std::collections::{BTreeMap, BTreeSet};

use super::rests::Rests;
use super::stat::Stat;
use super::thread_counts::ThreadCounts;
use super::tree_threads::{ThreadsRead, begun_on_this_machine};
use super::{own_cpu_ns, pss, task_files};
use crate::clock::now_ns;
use crate::jobs::Jobs;
use crate::process_tree::{self, Pid};

/// What costs more to read than a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dear {
    /// Which processes there are. The next row shows it.
    Tree,
    /// The proportional memory.
    Memory,
    /// What each thread has done.
    Threads,
}

pub const DEAR: [Dear; 3] = [Dear::Tree, Dear::Memory, Dear::Threads];

#[derive(Debug, Default)]
pub struct TreeRead {
    /// When the processes were read: halfway through.
    pub at_ns: u64,
    pub stats: Vec<Stat>,
    /// All processes of the tree, if they were looked for.
    pub tree: Option<Vec<Pid>>,
    pub pss: Option<Result<Option<u64>, String>>,
    pub threads: Option<ThreadsRead>,
    /// The CPU time that other threads than the caller's took for it.
    pub elsewhere_cpu_ns: u64,
}

/// A process that is known: its id, and when it began, if it was read before. Another process may have its id later.
pub type Known = (Pid, Option<u64>);

impl TreeRead {
    /// Reads a row: CPU time, memory and threads of the processes that are known.
    pub fn row(known: &[Known]) -> Self {
        let began_ns = now_ns();
        let is_it = |stat: &Stat, started: Option<u64>| started.is_none_or(|started| started == stat.started);
        let read = |&(pid, started): &Known| Stat::read(pid).filter(|stat| is_it(stat, started));
        let stats = known.iter().filter_map(read).collect();
        Self { at_ns: began_ns.midpoint(now_ns()), stats, ..Self::default() }
    }

    /// Reads one of the more expensive parts. `memory`: a thread of normal priority, which reads the memory; without it
    /// memory is not read.
    pub fn read(&mut self, dear: Dear, memory: Option<&Jobs>) {
        match dear {
            // Look from all known processes: one whose parent ended is no longer a descendant of the root.
            Dear::Tree => self.tree = Some(process_tree::with_descendants_of(&self.pids())),
            Dear::Memory => self.pss = memory.and_then(|memory| self.memory_by(memory)),
            Dear::Threads => self.read_threads(&mut Rests::none(), false),
        }
    }

    /// Reads all that is left at the beginning or the end of the measured phase. The calling thread must not be at idle
    /// priority if it `reads_memory`.
    pub fn rest(&mut self, rests: &mut Rests, reads_memory: bool) {
        if !process_tree::kernel_lists_children() {
            let mut found: BTreeSet<Pid> = self.pids().into_iter().collect();
            let all = process_tree::with_descendants_of(&self.pids());
            self.stats.extend(all.into_iter().filter(|&pid| found.insert(pid)).filter_map(Stat::read));
        }
        self.read_threads(rests, true);
        let pids = self.pids();
        if reads_memory {
            self.pss = Some(pss::read(&pids));
        }
        self.tree = Some(pids);
    }

    fn pids(&self) -> Vec<Pid> {
        self.stats.iter().map(|stat| stat.pid).collect()
    }

    fn memory_by(&mut self, memory: &Jobs) -> Option<Result<Option<u64>, String>> {
        let pids = self.pids();
        let job = memory.give(move || {
            let began_cpu_ns = own_cpu_ns();
            (pss::read(&pids), own_cpu_ns() - began_cpu_ns)
        });
        let (pss, cpu_ns) = job.wait()?;
        self.elsewhere_cpu_ns += cpu_ns;
        Some(pss)
    }

    /// Reads all threads. If it is to search, it reads the processes that they have started as well.
    fn read_threads(&mut self, rests: &mut Rests, searches: bool) {
        let began_ns = now_ns();
        let mut found: BTreeSet<Pid> = self.pids().into_iter().collect();
        let (mut counts, mut next, mut children) = (BTreeMap::new(), 0, Vec::new());
        while let Some(pid) = self.stats.get(next).map(|stat| stat.pid) {
            for tid in task_files::threads(pid).unwrap_or_default() {
                rests.take();
                counts.extend(ThreadCounts::read(pid, tid).map(|counts| (tid, counts)));
                if searches {
                    process_tree::append_children_of_thread(pid, tid, &mut children);
                    let new = children.drain(..).filter(|&child| found.insert(child));
                    self.stats.extend(new.filter_map(Stat::read));
                }
            }
            next += 1;
        }
        let begun = begun_on_this_machine();
        self.threads = Some(ThreadsRead { at_ns: began_ns.midpoint(now_ns()), counts, begun });
    }
}
