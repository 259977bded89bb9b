//! CPU, memory, threads and context switches of one process tree from one reading to the next. It reads nothing
//! (`tree_read.rs` does) and does not look at sockets or at the load.

use std::collections::BTreeMap;

use super::members::Members;
use super::sample::Sample;
use super::stat::Stat;
use super::tree_read::{Known, TreeRead};
use super::tree_threads::TreeThreads;
use crate::process_tree::Pid;

pub struct Processes {
    root: Pid,
    /// When the root began, as it was first read.
    started: Option<u64>,
    tree: Vec<Pid>,
    members: Members,
    threads: TreeThreads,
    /// Fields that could not be read, and why.
    unread: BTreeMap<&'static str, String>,
}

impl Processes {
    pub fn new(root: Pid) -> Self {
        Self {
            root,
            started: Stat::read(root).map(|stat| stat.started),
            tree: vec![root],
            members: Members::default(),
            threads: TreeThreads::default(),
            unread: BTreeMap::new(),
        }
    }

    pub fn root(&self) -> Pid {
        self.root
    }

    /// Returns the processes that the next reading is to read.
    pub fn known(&self) -> Vec<Known> {
        let of_root = |pid| self.started.filter(|_| pid == self.root);
        self.tree.iter().map(|&pid| (pid, self.members.started(pid).or_else(|| of_root(pid)))).collect()
    }

    /// Adds a row. `due_ns` is when it was due.
    pub fn row(&mut self, read: TreeRead, due_ns: u64) -> Sample {
        self.members.update(&read.stats);
        if read.stats.is_empty() {
            self.unread.insert("cpu_user_ns", self.gone());
        }
        self.tree = read.tree.unwrap_or_else(|| read.stats.iter().map(|stat| stat.pid).collect());
        let cpu = self.members.cpu();
        let sum = |of: fn(&Stat) -> u64| self.members.present().map(of).sum();
        let mut sample = Sample {
            at_ns: read.at_ns,
            late_ns: read.at_ns.saturating_sub(due_ns),
            cpu_user_ns: cpu.user_ns,
            cpu_kernel_ns: cpu.kernel_ns,
            rss_bytes: sum(|stat| stat.rss_bytes),
            processes: read.stats.len() as u64,
            threads: sum(|stat| stat.threads),
            ..Sample::default()
        };
        if let Some(threads) = read.threads {
            self.threads.update(threads.counts);
            (sample.voluntary_switches, sample.involuntary_switches) = self.threads.switches().unzip();
            sample.switches_at_least = self.threads.switches_at_least();
            sample.used_by_threads = self.threads.used();
            sample.threads_at_ns = Some(threads.at_ns);
        }
        sample.pss_bytes = read.pss.and_then(|pss| {
            pss.unwrap_or_else(|why| {
                self.unread.insert("pss_bytes", why);
                None
            })
        });
        sample
    }

    /// Adds the reading at the beginning of the measured phase.
    pub fn open(&mut self, read: TreeRead, due_ns: u64) -> Sample {
        let begun = read.threads.as_ref().and_then(|threads| threads.begun);
        let sample = self.row(read, due_ns);
        self.threads.open(begun);
        sample
    }

    /// Adds the reading at the end of the measured phase.
    pub fn close(&mut self, read: TreeRead, due_ns: u64) -> Sample {
        let begun = read.threads.as_ref().and_then(|threads| threads.begun);
        let sample = self.row(read, due_ns);
        self.threads.close(begun);
        sample
    }

    /// Returns what could not be read, and why.
    pub fn unread(&self) -> Vec<(&'static str, String)> {
        let mut unread = self.unread.clone();
        let lost = self.members.unaccounted();
        if lost.processes > 0 {
            unread.entry("cpu_user_ns").or_insert_with(|| {
                format!(
                    "{} processes ended for which no parent waited: what they used after their last reading is \
                     missing, {} ms up to it are counted",
                    lost.processes,
                    lost.cpu_ns / 1_000_000
                )
            });
        }
        if let Some(why) = self.threads.unread() {
            unread.insert("voluntary_switches", why);
        }
        unread.into_iter().collect()
    }

    fn gone(&self) -> String {
        match Stat::read(self.root) {
            Some(_) => format!("process {} is gone, and its number is another's", self.root),
            None => format!("process {} is gone", self.root),
        }
    }
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;
