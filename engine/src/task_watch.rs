//! The server's threads on the trial's clock: when to look at some of them, when to read all of them, and what that comes
//! to. They have a thread of their own, as the stages have.

use std::sync::mpsc::Receiver;

use crate::clock::now_ns;
use crate::limits;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::gaps::Gaps;
use crate::probe::tasks::{Reading, Tasks};
use crate::probe::{Pace, own_cpu_ns};
use crate::process_tree::Pid;
use crate::profile::{self, Sampling};
use crate::random;
use crate::record::TaskRecord;
use crate::spool::Spool;
use crate::wakes::{Wakes, Woken};

/// After looking at some threads, at least this many times the cost goes by on average: a quarter of a percent of a core.
/// With the search for new threads it is half a percent (`Pace`).
const REST: f64 = 400.0;
/// How long the search for new threads goes on after a reading. Meanwhile it may stop a thread of the load.
const SEARCH_NS: u64 = 200_000;

/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const WHEN_PURPOSE: u64 = 0x100c_0002;
const WHOM_PURPOSE: u64 = 0x100c_0003;
const SAMPLED_PURPOSE: u64 = 0x100c_0004;

/// The server's threads in one trial.
pub struct TaskWatch {
    /// Or why nothing of them can be read.
    tasks: Result<Tasks, String>,
    gaps: Gaps,
    pace: Pace,
    /// What their CPU time is spent on, in the warm-up: sampled threads are slower to switch, so none is while measured.
    sampling: Sampling,
    rows: Spool<Row>,
    wakes: Wakes,
    ends_cost_ns: u64,
}

/// A reading: when it began since the first instant, how much later than due, what it cost, and what it found.
type Row = (u64, u64, u64, Reading);

impl TaskWatch {
    /// Reads all threads of the tree of `root` once, before there is load.
    pub fn open(plan: &Plan, root: Pid) -> Self {
        let needed = limits::needed(plan.shape.connections(), plan.threads);
        let room = limits::room(needed, profile::descriptors());
        Self {
            tasks: Tasks::open(root, random::seeded(plan.seed, WHOM_PURPOSE)),
            gaps: Gaps::new(random::seeded(plan.seed, WHEN_PURPOSE), REST),
            pace: Pace::default(),
            sampling: Sampling::new(random::seeded(plan.seed, SAMPLED_PURPOSE), room),
            rows: Spool::open(),
            wakes: Wakes::default(),
            ends_cost_ns: 0,
        }
    }

    /// Reads until the trial, or its present turn, is over or `ended` is closed. `course` must have begun.
    pub fn run(mut self, course: &Course, ended: &Receiver<()>) -> Self {
        self.wakes = Wakes::default();
        let mut due_ns = course.began_ns();
        while self.tasks.is_ok() {
            // Counted from when the last reading was due: its lateness depends on the load, and this must not.
            let since_ns = due_ns.saturating_sub(course.began_ns());
            due_ns = now_ns().max(due_ns + self.gaps.next_ns(since_ns));
            if !self.wait(due_ns, course, ended) {
                break;
            }
            self.take(due_ns, course);
        }
        self.sampling.end(now_ns());
        if self.wakes.is_measuring() {
            self.at_an_end(Tasks::close);
        }
        self
    }

    /// Waits until `due_ns`, and reads all threads when the measured phase begins. Returns false when the trial is over.
    fn wait(&mut self, due_ns: u64, course: &Course, ended: &Receiver<()>) -> bool {
        loop {
            match self.wakes.wait(due_ns, course, ended) {
                Woken::Measuring => {
                    self.sampling.end(now_ns());
                    self.at_an_end(Tasks::begin);
                }
                Woken::Due => return true,
                Woken::Over => return false,
            }
        }
    }

    /// Reads all threads at one end of the measured phase.
    fn at_an_end(&mut self, read: fn(&mut Tasks)) {
        let (at_ns, began_cpu_ns) = (now_ns(), own_cpu_ns());
        if let Ok(tasks) = &mut self.tasks {
            read(tasks);
        }
        let cost_ns = own_cpu_ns() - began_cpu_ns;
        self.ends_cost_ns += cost_ns;
        self.pace.spent(at_ns, cost_ns);
    }

    fn take(&mut self, due_ns: u64, course: &Course) {
        let Ok(tasks) = &mut self.tasks else {
            return;
        };
        let (at_ns, began_cpu_ns) = (now_ns(), own_cpu_ns());
        let reading = tasks.read(self.gaps.draws());
        let looks_ns = own_cpu_ns() - began_cpu_ns;
        self.gaps.spent(looks_ns, reading.looked);
        if self.pace.allows_more(at_ns) {
            tasks.go_on(SEARCH_NS);
        }
        let cost_ns = own_cpu_ns() - began_cpu_ns;
        self.pace.spent(at_ns, cost_ns);
        if !self.wakes.is_measuring() {
            self.sampling.go_on(|| tasks.threads(), now_ns());
        }
        if course.counts(at_ns) {
            self.rows.push(&(course.at_ns(at_ns), at_ns.saturating_sub(due_ns), cost_ns, reading));
        }
    }

    pub fn record(self) -> TaskRecord {
        let tasks = match &self.tasks {
            Ok(tasks) => tasks,
            Err(why) => return TaskRecord::unread(why.clone()),
        };
        let mut record = TaskRecord {
            ends_cost_ns: self.ends_cost_ns,
            profile: Some(self.sampling.record()),
            ..tasks.record()
        };
        Gaps::evenly(self.rows.rows(), |row| row.0).iter().for_each(|row| record.push(row));
        record
    }
}

impl TaskRecord {
    /// Nothing was read; `why` not.
    pub fn unread(why: String) -> Self {
        Self { why: Some(why), ..Self::default() }
    }

    fn push(&mut self, (at_ns, late_ns, cost_ns, reading): &Row) {
        self.at_ns.push(*at_ns);
        self.late_ns.push(*late_ns);
        self.cost_ns.push(*cost_ns);
        self.threads.push(reading.threads);
        self.looked.push(reading.looked);
        self.running.push(reading.running);
        self.disk.push(reading.disk);
        self.stopped.push(reading.stopped);
    }
}
