//! CPU, memory, threads and context switches of one process tree, from `/proc` and the processes' own CPU clocks. It
//! does not look at sockets or at the load. The caller decides when to read what.

use std::collections::{BTreeMap, BTreeSet};

use super::members::Members;
use super::pss::PssReader;
use super::sample::Sample;
use super::stat::Stat;
use super::switches::{self, Switches};
use crate::clock::now_ns;
use crate::process_tree::{self, Pid};

/// What costs more to read than a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dear {
    /// Which processes there are. The next row shows it.
    Tree,
    /// The proportional memory.
    Memory,
    /// The switches of each thread.
    Switches,
}

pub const DEAR: [Dear; 3] = [Dear::Tree, Dear::Memory, Dear::Switches];

pub struct Processes {
    root: Pid,
    /// When the root began, as it was first read. Another process may have its id later.
    started: Option<u64>,
    tree: Vec<Pid>,
    members: Members,
    switches: Switches,
    /// `None` if memory is not to be read.
    pss: Option<PssReader>,
    /// Fields that could not be read, and why.
    unread: BTreeMap<&'static str, String>,
}

impl Processes {
    /// `pss` reads the proportional memory, which is not read without it.
    pub fn new(root: Pid, pss: Option<PssReader>) -> Self {
        Self {
            root,
            started: Stat::read(root).map(|stat| stat.started),
            tree: vec![root],
            members: Members::default(),
            switches: Switches::default(),
            pss,
            unread: BTreeMap::new(),
        }
    }

    pub fn root(&self) -> Pid {
        self.root
    }

    /// Takes a row: CPU, memory and threads, as of now. `due_ns` is when it was due.
    pub fn row(&mut self, due_ns: u64) -> Sample {
        let at_ns = now_ns();
        let read = self.known();
        self.sample(&read, due_ns, at_ns)
    }

    /// Reads everything, at the beginning or the end of the measured phase. It reads the known processes first: they
    /// are most of the tree, and it takes a while to look for others.
    pub fn boundary(&mut self, due_ns: u64, opens: bool) -> Sample {
        let at_ns = now_ns();
        let mut read = self.known();
        let known: BTreeSet<Pid> = self.tree.iter().copied().collect();
        self.read_tree();
        read.extend(self.tree.iter().filter(|pid| !known.contains(pid)).filter_map(|&pid| Stat::read(pid)));
        let mut sample = self.sample(&read, due_ns, at_ns);
        self.read(Dear::Memory, &mut sample);
        self.read(Dear::Switches, &mut sample);
        if opens {
            self.switches.open();
        } else {
            self.switches.close();
        }
        sample
    }

    /// Reads one of the more expensive parts into `sample`.
    pub fn read(&mut self, dear: Dear, sample: &mut Sample) {
        match dear {
            Dear::Tree => self.read_tree(),
            Dear::Memory => sample.pss_bytes = self.read_pss(),
            Dear::Switches => {
                let mut read = BTreeMap::new();
                self.tree.iter().for_each(|&pid| switches::read(pid, &mut read));
                self.switches.update(read);
                (sample.voluntary_switches, sample.involuntary_switches) = self.switches.total().unzip();
                sample.switches_at_least = self.switches.at_least();
            }
        }
    }

    /// Returns the CPU time that reading took so far in other threads than those that called.
    pub fn elsewhere_cpu_ns(&self) -> u64 {
        self.pss.as_ref().map_or(0, PssReader::cpu_ns)
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
        if let Some(why) = self.switches.unread() {
            unread.insert("voluntary_switches", why);
        }
        unread.into_iter().collect()
    }

    /// Returns the known processes that are still there. An id that now belongs to another process is forgotten.
    fn known(&mut self) -> Vec<Stat> {
        let (root, root_started, members) = (self.root, self.started, &self.members);
        let started = |pid| members.started(pid).or(root_started.filter(|_| pid == root));
        let is_ours = |stat: &Stat| started(stat.pid).is_none_or(|started| started == stat.started);
        let read: Vec<Stat> = self.tree.iter().filter_map(|&pid| Stat::read(pid)).filter(is_ours).collect();
        self.tree = read.iter().map(|stat| stat.pid).collect();
        read
    }

    fn read_tree(&mut self) {
        // Look from all known processes: one whose parent ended is no longer a descendant of the root.
        self.tree = process_tree::with_descendants_of(&self.tree);
    }

    fn sample(&mut self, read: &[Stat], due_ns: u64, at_ns: u64) -> Sample {
        self.members.update(read);
        if read.is_empty() {
            self.unread.insert("cpu_user_ns", self.gone());
        }
        let cpu = self.members.cpu();
        let sum = |of: fn(&Stat) -> u64| self.members.present().map(of).sum();
        Sample {
            at_ns,
            late_ns: at_ns.saturating_sub(due_ns),
            cpu_user_ns: cpu.user_ns,
            cpu_kernel_ns: cpu.kernel_ns,
            rss_bytes: sum(|stat| stat.rss_bytes),
            processes: read.len() as u64,
            threads: sum(|stat| stat.threads),
            ..Sample::default()
        }
    }

    fn gone(&self) -> String {
        match Stat::read(self.root) {
            Some(_) => format!("process {} is gone, and its number is another's", self.root),
            None => format!("process {} is gone", self.root),
        }
    }

    fn read_pss(&mut self) -> Option<u64> {
        match self.pss.as_mut()?.read(&self.tree) {
            Ok(total) => total,
            Err(why) => {
                self.unread.insert("pss_bytes", why);
                None
            }
        }
    }
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;
