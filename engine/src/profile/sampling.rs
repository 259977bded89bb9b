//! Which threads are sampled, and how many of their samples were where.
//!
//! Each thread that is sampled takes a descriptor and two pages of memory that the kernel locks, of which a user may have few.
//! So there are a few dozen at a time. Of a server with more threads they are chosen again each second: those that used most
//! CPU time since, and by chance among those that used about as much.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::address_space::AddressSpace;
use super::mapped_file;
use super::naming::{self, Files};
use super::perf_event::{Denied, Sampled};
use super::places::{Place, Places};
use crate::probe::own_cpu_ns;
use crate::process_tree::Pid;
use crate::record::ProfileRecord;

/// 64 threads are sampled at a time, or two for each core of a larger machine: a runtime may have one that computes on
/// each core, and what is not sampled counts as unknown. The memory that the kernel lets a user lock rises with the cores.
const AT_ONCE: usize = 64;
const AT_ONCE_PER_CORE: usize = 2;
/// Where there are more, for how long these are.
const TERM_NS: u64 = 1_000_000_000;
/// The CPU time from one sample of a thread to its next: in step with no timer, and a buffer lasts for 0.8 seconds.
const PERIOD_NS: u64 = 4_973_117;
/// A thread of hundreds uses little CPU time in its term, so the samples are closer then.
const SHORT_PERIOD_NS: u64 = 973_117;
/// With more than 16 cores samples are rarer: they all must be read.
const CORES: usize = 16;
/// 128 files are kept open for their symbols.
const FILES_MOST: usize = 128;

/// Returns the number of descriptors that all of this takes at most.
pub fn descriptors() -> u64 {
    (at_once(cores()) + FILES_MOST) as u64
}

fn at_once(cores: usize) -> usize {
    AT_ONCE.max(AT_ONCE_PER_CORE * cores)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

struct Watched {
    pid: Pid,
    sampled: Sampled,
}

pub struct Sampling {
    random: Xoshiro256PlusPlus,
    /// How many threads are sampled at a time, and how many files are kept open: as many as there are descriptors for.
    at_once: usize,
    files_most: usize,
    period_ns: u64,
    watched: BTreeMap<Pid, Watched>,
    /// CPU time of each thread when they were chosen, and when that was.
    used: BTreeMap<Pid, u64>,
    term_ends_ns: u64,
    /// How many threads there were when they were last counted.
    number: usize,
    spaces: BTreeMap<Pid, AddressSpace>,
    files: Files,
    places: Places,
    samples: u64,
    lost: u64,
    looked_at: BTreeSet<(Pid, Pid)>,
    denied: Option<Denied>,
    /// Threads that were denied. They are not tried again.
    refused: BTreeSet<Pid>,
    /// When the first threads were chosen, until it ends; and for how long it went on, over all turns of the load.
    began_ns: Option<u64>,
    window_ns: u64,
    cost_ns: u64,
}

impl Sampling {
    /// `room`: how many descriptors it may take.
    pub fn new(random: Xoshiro256PlusPlus, room: u64) -> Self {
        // If there is not room for all, files get no less than half: without them there are no names.
        let room = room as usize;
        let at_once = room.saturating_sub(FILES_MOST).max(room / 2).min(at_once(cores()));
        Self {
            random,
            at_once,
            files_most: (room - at_once).min(FILES_MOST),
            period_ns: 0,
            watched: BTreeMap::new(),
            used: BTreeMap::new(),
            term_ends_ns: 0,
            number: 0,
            spaces: BTreeMap::new(),
            files: Files::new(),
            places: Places::default(),
            samples: 0,
            lost: 0,
            looked_at: BTreeSet::new(),
            denied: (at_once == 0).then(|| Denied::Used("no descriptor is left for it".into())),
            refused: BTreeSet::new(),
            began_ns: None,
            window_ns: 0,
            cost_ns: 0,
        }
    }

    /// Counts what came, and chooses threads if it is time to. `threads`: process, thread and CPU time so far of each.
    pub fn go_on<T: Iterator<Item = (Pid, Pid, u64)>>(&mut self, threads: impl Fn() -> T, now_ns: u64) {
        let began_ns = own_cpu_ns();
        self.began_ns.get_or_insert(now_ns);
        self.count(now_ns);
        // To count thousands of threads takes as long as a reading should.
        if self.number <= self.at_once || now_ns >= self.term_ends_ns {
            self.look_for(threads, now_ns);
        }
        self.cost_ns += own_cpu_ns() - began_ns;
    }

    fn look_for<T: Iterator<Item = (Pid, Pid, u64)>>(&mut self, threads: impl Fn() -> T, now_ns: u64) {
        self.number = threads().count();
        let are_few = self.number <= self.at_once;
        if are_few || now_ns >= self.term_ends_ns {
            self.term_ends_ns = now_ns + TERM_NS;
            let chosen = if are_few { threads().collect() } else { self.choose(threads()) };
            self.watch(&chosen, self.number);
        }
    }

    /// Counts the last samples, and takes no more. Nothing if none were taken, or it has ended.
    pub fn end(&mut self, now_ns: u64) {
        if let Some(began_ns) = self.began_ns.take() {
            self.count(now_ns);
            self.watched.clear();
            self.window_ns += now_ns.saturating_sub(began_ns);
        }
    }

    /// Returns what the samples come to. It takes up to a second.
    pub fn record(self) -> ProfileRecord {
        let began_ns = own_cpu_ns();
        let named = naming::named(&self.places, self.files);
        ProfileRecord {
            samples: self.samples,
            lost: self.lost,
            period_ns: self.period_ns,
            window_ns: self.window_ns,
            threads: self.looked_at.len() as u64,
            named: named.named,
            functions: named.functions,
            between: named.between,
            objects: named.objects,
            cost_ns: self.cost_ns,
            naming_cost_ns: own_cpu_ns() - began_ns,
            why: self.denied.map(|denied| denied.why()),
        }
    }

    /// Returns those threads that used most CPU time since the last choice.
    fn choose(&mut self, threads: impl Iterator<Item = (Pid, Pid, u64)>) -> Vec<(Pid, Pid, u64)> {
        let before = std::mem::take(&mut self.used);
        let mut ranked = Vec::new();
        for (pid, tid, cpu_ns) in threads {
            let used_ns = cpu_ns.saturating_sub(before.get(&tid).copied().unwrap_or(0));
            self.used.insert(tid, cpu_ns);
            // Those within a factor of two used about as much.
            ranked.push((Reverse(used_ns.checked_ilog2()), self.random.random::<u32>(), (pid, tid, cpu_ns)));
        }
        ranked.sort_unstable();
        ranked.truncate(self.at_once);
        ranked.into_iter().map(|(.., thread)| thread).collect()
    }

    fn watch(&mut self, chosen: &[(Pid, Pid, u64)], number: usize) {
        if self.period_ns == 0 {
            let period_ns = if number > self.at_once { SHORT_PERIOD_NS } else { PERIOD_NS };
            self.period_ns = period_ns * cores().div_ceil(CORES) as u64; // One for all samples: each stands for as much.
        }
        let stays: BTreeMap<Pid, Pid> = chosen.iter().map(|&(pid, tid, _)| (tid, pid)).collect();
        self.watched.retain(|tid, watched| stays.get(tid) == Some(&watched.pid));
        for (tid, pid) in stays {
            if self.watched.contains_key(&tid) || self.refused.contains(&tid) {
                continue;
            }
            match Sampled::begin(tid, self.period_ns) {
                Ok(sampled) => {
                    self.watched.insert(tid, Watched { pid, sampled });
                    self.looked_at.insert((pid, tid));
                }
                Err(Denied::Gone) => {}
                Err(denied) => {
                    self.refused.insert(tid);
                    self.denied.get_or_insert(denied);
                }
            }
        }
    }

    fn count(&mut self, now_ns: u64) {
        let Self { watched, spaces, files, places, files_most, .. } = self;
        for Watched { pid, sampled } in watched.values_mut() {
            let taken = sampled.take();
            self.lost += taken.lost;
            self.samples += taken.addresses.len() as u64;
            for address in taken.addresses {
                let space = spaces.entry(*pid).or_default();
                match space.find(*pid, address, now_ns) {
                    Some((place, mapping)) => {
                        if let Place::File(file, _) = &place
                            && file.inode != 0
                            && files.len() < *files_most
                        {
                            // Now, as the process may end, and the file may be replaced.
                            files.entry(file.clone()).or_insert_with(|| {
                                mapped_file::open(*pid, mapping.from, mapping.until, file)
                            });
                        }
                        places.count(place);
                    }
                    None => places.elsewhere += 1,
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "sampling_tests.rs"]
mod tests;
