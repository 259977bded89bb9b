//! The probes of one trial on the trial's clock: when to sample, and what the samples come to.

use crate::phase::Course;
use crate::probe::processes::{Processes, Sample};
use crate::probe::sockets::Sockets;
use crate::probe::threads::Threads;
use crate::process_tree::Pid;
use crate::record::{Probes, ProcessRecord, SampleColumns, Unread, Window};
use crate::spool::Spool;

/// Everything that is watched in a trial.
pub struct Watches {
    engine: Watch,
    server: Option<Watch>,
    threads: Threads,
    sockets: Sockets,
    is_open: bool,
    is_closed: bool,
}

impl Watches {
    /// The engine itself, its `threads` that send, and the server's process tree where it is known.
    pub fn new(threads: &[Pid], server: Option<Pid>) -> Self {
        Self {
            engine: Watch::new(std::process::id() as Pid),
            server: server.map(Watch::new),
            threads: Threads::new(threads),
            sockets: Sockets::new(),
            is_open: false,
            is_closed: false,
        }
    }

    /// Whether the measured phase has begun or ended, and that was not sampled yet.
    pub fn at_a_boundary(&self, course: &Course, now_ns: u64) -> bool {
        (!self.is_open && now_ns >= course.measured_from_ns())
            || (!self.is_closed && now_ns >= course.ends_at_ns())
    }

    /// Takes the samples that were due at `due_ns`; full ones at both ends of the measured phase, and
    /// none after it.
    pub fn sample(&mut self, course: &Course, due_ns: u64, now_ns: u64) {
        if !self.is_open && now_ns >= course.measured_from_ns() {
            self.is_open = true;
            self.watches().for_each(|watch| watch.open(course.measured_from_ns()));
            self.threads.open();
            self.sockets.boundary(now_ns, course.began_ns());
        } else if now_ns >= course.ends_at_ns() {
            self.close(course);
        } else {
            self.watches().for_each(|watch| watch.sample(due_ns));
            self.threads.sample(now_ns, course.began_ns());
            self.sockets.sample(now_ns, course.began_ns());
        }
    }

    /// Takes the samples that close the measured phase, unless they were taken.
    pub fn close(&mut self, course: &Course) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.watches().for_each(|watch| watch.close(course.ends_at_ns()));
            self.threads.close();
            self.sockets.boundary(course.ends_at_ns(), course.began_ns());
        }
    }

    pub fn record(self, course: &Course) -> Probes {
        Probes {
            engine: self.engine.record(course),
            server: self.server.map(|server| server.record(course)),
            threads: self.threads.records(),
            sockets: self.sockets.record(),
        }
    }

    fn watches(&mut self) -> impl Iterator<Item = &mut Watch> {
        std::iter::once(&mut self.engine).chain(self.server.as_mut())
    }
}

/// Samples one process tree every interval, and at both ends of the measured phase.
struct Watch {
    probe: Processes,
    samples: Spool<Sample>,
    taken: usize,
    /// The samples that open and close the measured phase, by position.
    opened: Option<usize>,
    closed: Option<usize>,
}

impl Watch {
    fn new(root: Pid) -> Self {
        Self { probe: Processes::new(root), samples: Spool::open(), taken: 0, opened: None, closed: None }
    }

    fn sample(&mut self, due_ns: u64) {
        self.take(due_ns, false);
    }

    fn open(&mut self, due_ns: u64) {
        self.opened = Some(self.taken);
        self.take(due_ns, true);
    }

    fn close(&mut self, due_ns: u64) {
        self.closed = Some(self.taken);
        self.take(due_ns, true);
    }

    fn take(&mut self, due_ns: u64, in_full: bool) {
        self.samples.push(&self.probe.sample(due_ns, in_full));
        self.taken += 1;
    }

    fn record(self, course: &Course) -> ProcessRecord {
        let taken = self.samples.rows();
        let mut samples = SampleColumns::default();
        for sample in &taken {
            samples.push(sample, course.began_ns());
        }
        let window = match (self.opened, self.closed) {
            (Some(opened), Some(closed)) => Window::over(&taken[opened..=closed]),
            _ => None,
        };
        let unread =
            self.probe.unread().map(|(field, why)| Unread { field: field.into(), why: why.into() }).collect();
        ProcessRecord { samples, window, unread }
    }
}
