//! What the threads of the server's tree are doing at random times, where those that sleep do so, and what each uses over
//! the measured phase.

use std::collections::BTreeSet;
use std::{fs, io};

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::census::Census;
use super::disk_waits::DiskWaits;
use super::has_ended;
use super::schedstat::Used;
use super::stat::ns_per_tick;
use super::task_files::{self, State, ThreadStat};
use super::task_members::{Spent, Sums};
use super::tree_threads::{ONE_IN, begun_on_this_machine};
use crate::clock::now_ns;
use crate::process_tree::Pid;
use crate::record::{PlaceRecord, TaskRecord, TaskThread, Unread};

/// How many places are told apart in the record.
const PLACES: usize = 32;

/// What the threads that were drawn at one time were doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// All threads that were known.
    pub threads: u64,
    /// Those that were drawn and were there.
    pub looked: u64,
    pub running: u64,
    pub disk: u64,
    pub stopped: u64,
}

/// The threads of one tree.
pub struct Tasks {
    census: Census,
    root: Pid,
    random: Xoshiro256PlusPlus,
    places: Places,
    /// Processes of which the kernel does not say where they sleep.
    refused: BTreeSet<Pid>,
    disk_waits: DiskWaits,
    /// Why a thread could not be looked at.
    fault: Option<String>,
    /// What the beginning of the measured phase came to, until that is over.
    opened: Option<End>,
    /// What both ends of it came to, of each turn.
    measured: Vec<(End, End)>,
    /// Whether readings count. They do not in the warm-up of a turn that follows a measured one.
    counts: bool,
}

/// One end of the measured phase.
struct End {
    at_ns: u64,
    /// Or what could not be read.
    whole: Result<(), String>,
    /// Threads and processes that had begun on this machine, if the kernel counts them.
    machine: Option<u64>,
}

impl Tasks {
    /// # Errors
    /// Why nothing of the tree of `root` can be read.
    pub fn open(root: Pid, random: Xoshiro256PlusPlus) -> Result<Self, String> {
        Ok(Self {
            census: Census::open(root)?,
            root,
            random,
            places: Places::default(),
            refused: BTreeSet::new(),
            disk_waits: DiskWaits::default(),
            fault: None,
            opened: None,
            measured: Vec::new(),
            counts: true,
        })
    }

    /// Draws up to `most` of the known threads, each at most once, and looks at them.
    pub fn read(&mut self, most: usize) -> Reading {
        let mut tids: Vec<Pid> = self.census.members().tids().collect();
        let mut reading = Reading { threads: tids.len() as u64, ..Reading::default() };
        for next in 0..most.min(tids.len()) {
            let drawn = self.random.random_range(next..tids.len());
            tids.swap(next, drawn);
            self.look(tids[next], &mut reading);
        }
        if reading.disk > 0 && self.counts {
            self.disk_waits.look();
        }
        reading
    }

    /// Looks for threads that have begun or ended, for about this much CPU time.
    pub fn go_on(&mut self, for_ns: u64) {
        self.census.go_on(for_ns);
        self.note_fault();
    }

    /// Returns the known threads: process, thread, and the CPU time that it has used so far.
    pub fn threads(&self) -> impl Iterator<Item = (Pid, Pid, u64)> {
        let members = self.census.members();
        let known = members.tids().filter_map(|tid| members.get(tid));
        known.map(|thread| (thread.pid, thread.tid, thread.used.cpu_ns))
    }

    /// Reads all threads at the beginning of the measured phase, that of each turn. What was found before the first no
    /// longer counts, except what could not be read.
    pub fn begin(&mut self) {
        let opened_ticks = ticks_since_the_machine_started();
        self.opened = Some(self.end());
        self.census.members_mut().open(opened_ticks);
        if self.measured.is_empty() {
            self.places = Places::default();
            self.disk_waits = DiskWaits::default();
        }
        self.counts = true;
    }

    /// Reads all threads at the end of the measured phase, that of each turn.
    pub fn close(&mut self) {
        let closed = self.end();
        self.census.members_mut().pause();
        self.measured.extend(self.opened.take().map(|opened| (opened, closed)));
        self.counts = false;
    }

    pub fn record(&self) -> TaskRecord {
        let mut record =
            TaskRecord { places: self.places.rows(), unread: self.not_looked_at(), ..TaskRecord::default() };
        match self.window() {
            Ok(()) => self.add_window(&mut record),
            Err(why) => record.unread.push(unread("cpu_ns", why)),
        }
        record
    }

    fn end(&mut self) -> End {
        let at_ns = now_ns();
        let whole = self.census.read_all();
        self.note_fault();
        End { at_ns, whole, machine: begun_on_this_machine() }
    }

    fn note_fault(&mut self) {
        if self.fault.is_none() {
            self.fault = self.census.fault().cloned();
        }
    }

    fn look(&mut self, tid: Pid, reading: &mut Reading) {
        let Some((pid, started)) = self.census.members().get(tid).map(|thread| (thread.pid, thread.started))
        else {
            return;
        };
        let stat = match ThreadStat::read(pid, tid) {
            Ok(stat) if stat.started == started => stat,
            Ok(_) => return, // The number is another thread's by now.
            Err(error) => {
                if !has_ended(&error) {
                    self.fail(pid, &error);
                }
                return;
            }
        };
        match stat.state {
            State::Ended => return,
            State::Running => reading.running += 1,
            State::Stopped => reading.stopped += 1,
            State::Disk => reading.disk += 1,
            State::Sleeping => {}
        }
        reading.looked += 1;
        if matches!(stat.state, State::Disk | State::Sleeping) && !self.refused.contains(&pid) {
            self.find_place(pid, tid);
        }
    }

    fn find_place(&mut self, pid: Pid, tid: Pid) {
        match task_files::place(pid, tid) {
            Ok(Some(place)) => self.sleeps_at(tid, &place),
            Ok(None) if task_files::is_refused(pid, tid) => {
                self.refused.insert(pid);
            }
            // Of a thread that runs the kernel does not say it either, and this one may have woken up for a moment.
            Ok(None) if is_asleep(pid, tid) && matches!(task_files::place(pid, tid), Ok(None)) => {
                if is_asleep(pid, tid) {
                    self.sleeps_at(tid, "");
                }
            }
            Ok(None) => {}
            Err(error) if has_ended(&error) => {}
            Err(error) => self.fail(pid, &error),
        }
    }

    fn sleeps_at(&mut self, tid: Pid, place: &str) {
        if !self.counts {
            return;
        }
        let number = self.places.count(place);
        self.census.members_mut().sleeps(tid, number);
    }

    fn fail(&mut self, pid: Pid, error: &io::Error) {
        self.fault.get_or_insert_with(|| format!("process {pid}: {error}"));
    }

    /// Returns why it is not known what lies between both ends of the measured phase, if so.
    fn window(&self) -> Result<(), String> {
        if self.measured.is_empty() {
            return Err("the measured phase did not begin".into());
        }
        for (opened, closed) in &self.measured {
            opened.whole.clone().and_then(|()| closed.whole.clone())?;
        }
        if self.census.members().tids().len() == 0 {
            return Err(format!("process {} is gone", self.root));
        }
        Ok(())
    }

    fn add_window(&self, record: &mut TaskRecord) {
        let Some((sums, spent)) = self.census.members().close() else {
            return;
        };
        let ends = || self.measured.iter();
        let span_ns = |(opened, closed): &(End, End)| closed.at_ns.saturating_sub(opened.at_ns);
        record.window_ns = Some(ends().map(span_ns).sum());
        (record.born, record.ended) = (Some(sums.born), Some(sums.ended));
        if self.census.counts() {
            let Used { cpu_ns, run_queue_ns } = sums.used;
            (record.cpu_ns, record.run_queue_ns) = (Some(cpu_ns), Some(run_queue_ns));
            let Used { cpu_ns, run_queue_ns } = sums.ended_used;
            (record.ended_cpu_ns, record.ended_run_queue_ns) = (Some(cpu_ns), Some(run_queue_ns));
            record.by_name = self.census.members().by_name().rows();
            record.threads_seen = spent.into_iter().map(|one| self.told(one)).collect();
        } else {
            record.unread.push(unread("cpu_ns", "this kernel does not count it by thread (schedstat)"));
        }
        let begun =
            ends().map(|(opened, closed)| Some(closed.machine?.saturating_sub(opened.machine?))).sum();
        record.unread.extend(not_seen(&sums, begun));
    }

    fn told(&self, spent: Spent) -> TaskThread {
        let Used { cpu_ns, run_queue_ns } = spent.used;
        let place = spent.place.map(|number| self.places.looks[number].0.clone());
        let Spent { pid, tid, name, has_ended, .. } = spent;
        TaskThread { pid, tid, name, cpu_ns, run_queue_ns, place, ended: has_ended }
    }

    /// Returns what could not be read of threads that are there.
    fn not_looked_at(&self) -> Vec<Unread> {
        let mut all: Vec<Unread> =
            self.disk_waits.doubt().map(|why| unread("disk", why)).into_iter().collect();
        if let Some(fault) = &self.fault {
            all.push(unread("threads", fault));
        }
        if let Some(first) = self.refused.first() {
            let processes = self.refused.len();
            all.push(unread(
                "places",
                format!(
                    "process {first} belongs to another user, or has changed its own ({processes} in all): the \
                     kernel does not say where their threads sleep"
                ),
            ));
        }
        if !fs::exists("/proc/thread-self/wchan").unwrap_or(false) {
            all.push(unread("places", "this kernel does not say where threads sleep"));
        }
        all
    }
}

/// The places where threads were found asleep, and how often.
#[derive(Default)]
struct Places {
    looks: Vec<(String, u64)>,
}

impl Places {
    /// Counts a look. Returns the number of the place.
    fn count(&mut self, place: &str) -> usize {
        let number = self.looks.iter().position(|(name, _)| name == place).unwrap_or_else(|| {
            self.looks.push((place.into(), 0));
            self.looks.len() - 1
        });
        self.looks[number].1 += 1;
        number
    }

    /// Returns the places by how often threads were found there.
    fn rows(&self) -> Vec<PlaceRecord> {
        let mut looks: Vec<_> = self.looks.iter().collect();
        looks.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let row = |(place, looked): &(String, u64)| PlaceRecord { place: place.clone(), looked: *looked };
        looks.into_iter().take(PLACES).map(row).collect()
    }
}

fn is_asleep(pid: Pid, tid: Pid) -> bool {
    ThreadStat::read(pid, tid).is_ok_and(|stat| matches!(stat.state, State::Disk | State::Sleeping))
}

/// Returns what is not known of the threads that came and went. `begun`: threads and processes that began on this machine
/// meanwhile.
fn not_seen(sums: &Sums, begun: Option<u64>) -> Vec<Unread> {
    let mut all = Vec::new();
    let seen = sums.at_first + sums.seen_late + sums.born;
    if sums.seen_late > 0 {
        let why = format!(
            "{} of {seen} threads had begun before the measured phase and were seen only later: what they used before \
             that is missing",
            sums.seen_late
        );
        all.push(unread("cpu_ns", why));
    }
    if sums.ended > 0 {
        let why = format!(
            "{} of {seen} threads ended: what they used after their last reading is missing",
            sums.ended
        );
        all.push(unread("ended_cpu_ns", why));
    }
    let unseen = begun.map_or(0, |begun| begun.saturating_sub(sums.born));
    if unseen * ONE_IN > seen {
        let why = format!(
            "{unseen} threads or processes began on this machine meanwhile that were not seen in the tree: those that \
             were of it and ended between two readings are missing"
        );
        all.push(unread("born", why));
    }
    all
}

fn unread(field: &str, why: impl Into<String>) -> Unread {
    Unread { field: field.into(), why: why.into() }
}

/// Returns the present time as `stat` says when a thread began.
fn ticks_since_the_machine_started() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64) / ns_per_tick()
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
