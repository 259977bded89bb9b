//! The probes of one trial: which of them read when, and what their readings come to in the record. What they read,
//! and how, is in `probe/`.
//!
//! Rows of samples are read by a thread that stands aside (`watches/row.rs`). What is read at both ends of the measured
//! phase must be read in time: by the thread that calls, and what takes longer by another one. Neither is at idle
//! priority.

mod row;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::row::{Asked, AskedTree, Row};
use crate::clock::now_ns;
use crate::jobs::{Job, Jobs};
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::ends::{End, Ends};
use crate::probe::machine::Machine;
use crate::probe::namespace::Namespace;
use crate::probe::processes::Processes;
use crate::probe::rests::Rests;
use crate::probe::sample::{Cumulative, Sample};
use crate::probe::sockets::{SocketFiles, Sockets};
use crate::probe::threads::Threads;
use crate::probe::tree_read::{DEAR, TreeRead};
use crate::probe::{Pace, everybody, own_cpu_ns};
use crate::process_tree::Pid;
use crate::readers::Readers;
use crate::record::{MachineRecord, Probes, ProcessRecord, ProcessWindow, SampleColumns, Unread};
use crate::spool::Spool;
use crate::thinning::{self, FINE};

/// Everything that is sampled in a trial.
pub struct Watches {
    readers: Readers,
    engine: Watch,
    server: Option<Watch>,
    threads: Threads,
    /// Those of this network namespace, and those of the server's, if that is another.
    sockets: Vec<Sockets>,
    machine: Machine,
    ends: Ends,
    /// All processes as they were before there was load, if it is asked what their threads use.
    before: Option<Arc<End>>,
    pace: Pace,
    interval_ns: u64,
    reads_memory: bool,
    /// The row that is being read.
    row: Option<Job<Row>>,
    /// Whether the beginning of the measured phase was sampled, that of the present turn.
    is_open: bool,
    /// What is still being read of it.
    opening: Option<Job<Opened>>,
    beginning: Option<Job<End>>,
}

/// The trees at the beginning of the measured phase, and the CPU time of what was read last.
struct Opened {
    trees: Vec<TreeRead>,
    cost_ns: u64,
}

impl Watches {
    /// `threads` are those of the engine's threads that send. `server` is the root of the server's process tree, if it is
    /// known. The engine's proportional memory is not read: meanwhile no thread that sends could map memory. Neither is that
    /// of a server which is loaded in turns: others that are held then share pages with it.
    /// `before`: all processes as they were before there was load, if it is asked what their threads use.
    pub fn new(
        threads: &[Pid],
        server: Option<Pid>,
        before: Option<End>,
        readers: Readers,
        plan: &Plan,
    ) -> Self {
        let memory = plan.turns.is_empty().then(|| readers.reader.clone());
        let interval_ns = plan.probe_interval_ns;
        Self {
            reads_memory: memory.is_some(),
            engine: Watch::new(std::process::id() as Pid, None),
            server: server.map(|root| Watch::new(root, memory.clone())),
            readers,
            threads: Threads::new(threads),
            sockets: namespaces(server).map(Sockets::new).collect(),
            machine: Machine::new(),
            ends: Ends::default(),
            before: before.map(Arc::new),
            pace: Pace::default(),
            interval_ns,
            row: None,
            is_open: false,
            opening: None,
            beginning: None,
        }
    }

    /// Reads all processes of the machine and their threads, if it is asked what these use. Call it before there is load.
    pub fn before(plan: &Plan) -> Option<End> {
        plan.dependencies.map(|server| {
            let (apart, mut rests) = ([server, std::process::id() as Pid].into(), Rests::none());
            End::read(&mut rests).with_threads(&End::default(), &apart, &mut rests)
        })
    }

    /// Returns the time from one row to the next, `since_ns` after the first instant.
    pub fn every_ns(&self, since_ns: u64) -> u64 {
        self.interval_ns * thinning::apart(since_ns / self.interval_ns, FINE)
    }

    /// Returns whether the measured phase has begun by `now_ns`, and its beginning was not sampled yet.
    pub fn are_to_open(&self, course: &Course, now_ns: u64) -> bool {
        !self.is_open && now_ns >= course.measured_from_ns() && course.measures()
    }

    /// Takes the samples that were due at `due_ns`. The first call in the measured phase reads what does not take long, and
    /// has the rest read. Any other call has a row read, if the last one was read and the pace allows it.
    pub fn sample(&mut self, course: &Arc<Course>, due_ns: u64, now_ns: u64) {
        self.gather(course);
        if !course.counts(now_ns) {
            return;
        }
        if self.are_to_open(course, now_ns) {
            self.open(course, now_ns);
        } else if self.opening.is_none() && self.row.is_none() && self.pace.allows_row(now_ns) {
            let asked = self.asked(due_ns, now_ns);
            self.row = Some(self.readers.aside.give(move || asked.read()));
        }
    }

    /// Takes what the other threads have read.
    pub fn gather(&mut self, course: &Course) {
        if let Some(opened) = self.opening.as_ref().and_then(Job::taken) {
            self.keep_opening(opened, course);
        }
        if let Some(end) = self.beginning.as_ref().and_then(Job::taken) {
            self.keep_beginning(end);
        }
        if let Some(row) = self.row.as_ref().and_then(Job::taken) {
            self.keep_row(row, course);
        }
    }

    fn open(&mut self, course: &Arc<Course>, now_ns: u64) {
        self.is_open = true;
        self.row = None; // It is of the time before, or of both.
        self.machine.open();
        let mut trees = self.trees();
        self.threads.open();
        self.read_sockets(now_ns, course);
        let (mut rests, reads_memory) = (self.rests(course), self.reads_memory);
        self.opening = Some(self.readers.reader.give(move || {
            let began_cpu_ns = own_cpu_ns();
            rest(&mut trees, &mut rests, reads_memory);
            Opened { trees, cost_ns: own_cpu_ns() - began_cpu_ns }
        }));
        let (mut rests, before, apart) = (self.rests(course), self.before.clone(), self.apart());
        self.beginning =
            Some(self.readers.reader.give(move || read_all(before.as_deref(), &apart, &mut rests)));
    }

    /// Reads everything at the end of the measured phase, that of the present turn. No row is waited for.
    pub fn close(&mut self, course: &Course) {
        self.row = None;
        if course.measures() {
            self.close_measured(course);
        }
        self.is_open = false;
        self.watches().for_each(|watch| watch.cumulative.resume());
        self.threads.resume();
        self.sockets.iter_mut().for_each(Sockets::resume);
    }

    fn close_measured(&mut self, course: &Course) {
        self.machine.close();
        let mut trees = self.trees();
        self.threads.close();
        let ends_at_ns = course.ends_at_ns();
        self.read_sockets(ends_at_ns, course);
        if let Some(opened) = self.opening.as_ref().and_then(Job::wait) {
            self.keep_opening(opened, course);
        }
        rest(&mut trees, &mut Rests::none(), self.reads_memory);
        self.watches().zip(trees).for_each(|(watch, read)| watch.close(read, course));
        if let Some(end) = self.beginning.as_ref().and_then(Job::wait) {
            self.keep_beginning(end);
        }
        let before = self.ends.begun().filter(|_| self.before.is_some());
        self.ends.close(read_all(before, &self.apart(), &mut Rests::none()));
    }

    /// The roots of the trees of engine and server.
    fn apart(&self) -> BTreeSet<Pid> {
        let server = self.server.as_ref().map(|server| server.probe.root());
        server.into_iter().chain([self.engine.probe.root()]).collect()
    }

    /// All processes of the machine at both ends of the measured phase.
    pub fn ends(&self) -> &Ends {
        &self.ends
    }

    /// Reads a row of each tree: that of the engine, and that of the server.
    fn trees(&mut self) -> Vec<TreeRead> {
        self.watches().map(|watch| TreeRead::row(&watch.probe.known())).collect()
    }

    fn read_sockets(&mut self, now_ns: u64, course: &Course) {
        for sockets in &mut self.sockets {
            let read = sockets.files.read();
            sockets.keep(read, now_ns, course.at_ns(now_ns));
        }
    }

    fn socket_files(&self) -> Vec<Arc<SocketFiles>> {
        self.sockets.iter().map(|sockets| Arc::clone(&sockets.files)).collect()
    }

    fn asked(&mut self, due_ns: u64, now_ns: u64) -> Asked {
        Asked {
            due_ns,
            trees: self.watches().map(|watch| watch.asked()).collect(),
            threads: Arc::clone(&self.threads.files),
            sockets: self.sockets[0].are_due(now_ns).then(|| self.socket_files()),
            pace: self.pace,
        }
    }

    fn keep_row(&mut self, row: Row, course: &Course) {
        self.row = None;
        self.pace = row.pace;
        for (watch, (read, read_ns)) in self.watches().zip(row.trees) {
            watch.read_ns = read_ns;
            let sample = watch.probe.row(read, row.due_ns);
            watch.keep(sample, course);
        }
        self.threads.keep(row.threads, course.at_ns(row.at_ns));
        if let Some(sockets) = row.sockets {
            for (kept, read) in self.sockets.iter_mut().zip(sockets) {
                kept.keep(read, row.at_ns, course.at_ns(row.at_ns));
            }
        }
    }

    fn keep_opening(&mut self, opened: Opened, course: &Course) {
        self.opening = None;
        self.watches().zip(opened.trees).for_each(|(watch, read)| watch.open(read, course));
        self.pace.spent(now_ns(), opened.cost_ns);
    }

    fn keep_beginning(&mut self, end: End) {
        self.beginning = None;
        self.ends.begin(end);
    }

    fn rests(&self, course: &Arc<Course>) -> Rests {
        if !self.readers.must_rest {
            return Rests::none();
        }
        let course = Arc::clone(course);
        Rests::while_there_is(move || now_ns() < course.ends_at_ns())
    }

    pub fn record(self) -> Probes {
        let all_processes =
            everybody::used(&self.ends, self.server.as_ref().map(|server| server.probe.root()));
        let mut sockets = self.sockets.into_iter().map(Sockets::record);
        Probes {
            engine: self.engine.record(self.interval_ns),
            server: self.server.map(|server| server.record(self.interval_ns)),
            threads: self.threads.records(self.interval_ns),
            sockets: sockets.next().unwrap_or_default(),
            machine: MachineRecord { all_processes, ..self.machine.record() },
            server_sockets: sockets.next(),
            server_machine: None,
            watch: None,
            stages: None,
            tasks: None,
            dependencies: None,
            speed: None,
        }
    }

    fn watches(&mut self) -> impl Iterator<Item = &mut Watch> {
        std::iter::once(&mut self.engine).chain(self.server.as_mut())
    }
}

/// The network namespace of this process, and that of the server, if that is another.
fn namespaces(server: Option<Pid>) -> impl Iterator<Item = Namespace> {
    let there = Some(Namespace::of(server)).filter(|there| !there.is_own());
    [Namespace::OWN].into_iter().chain(there)
}

/// Reads all processes of the machine. `before`: the reading before, if it is asked what their threads use. `apart`: the
/// roots of trees that are read otherwise.
fn read_all(before: Option<&End>, apart: &BTreeSet<Pid>, rests: &mut Rests) -> End {
    let end = End::read(rests);
    match before {
        Some(before) => end.with_threads(before, apart, rests),
        None => end,
    }
}

/// Reads what is left at one end of the measured phase. Memory is read of the server alone, the second tree, if it is.
fn rest(trees: &mut [TreeRead], rests: &mut Rests, reads_memory: bool) {
    for (number, tree) in trees.iter_mut().enumerate() {
        tree.rest(rests, number > 0 && reads_memory);
    }
}

/// Samples one process tree, and both ends of the measured phase.
struct Watch {
    probe: Processes,
    memory: Option<Jobs>,
    /// When each of `DEAR` was read last in a row; 0 = never.
    read_ns: [u64; DEAR.len()],
    samples: Spool<Sample>,
    cumulative: Cumulative,
    /// The number of samples taken.
    taken: usize,
    /// The position of the sample at the beginning of the measured phase, until that is over.
    opened: Option<usize>,
    /// The positions of the samples at both ends of the measured phase, of that of each turn.
    measured: Vec<Option<(usize, usize)>>,
}

impl Watch {
    /// `memory`: the thread that reads its proportional memory, which is not read without it.
    fn new(root: Pid, memory: Option<Jobs>) -> Self {
        Self {
            probe: Processes::new(root),
            memory,
            read_ns: [0; DEAR.len()],
            samples: Spool::open(),
            cumulative: Cumulative::default(),
            taken: 0,
            opened: None,
            measured: Vec::new(),
        }
    }

    fn asked(&self) -> AskedTree {
        AskedTree { known: self.probe.known(), memory: self.memory.clone(), read_ns: self.read_ns }
    }

    fn open(&mut self, read: TreeRead, course: &Course) {
        self.opened = Some(self.taken);
        let sample = self.probe.open(read, course.measured_from_ns());
        self.keep(sample, course);
    }

    fn close(&mut self, read: TreeRead, course: &Course) {
        let closed = self.taken;
        self.measured.push(self.opened.take().map(|opened| (opened, closed)));
        let sample = self.probe.close(read, course.ends_at_ns());
        self.keep(sample, course);
    }

    fn keep(&mut self, mut sample: Sample, course: &Course) {
        sample.row_ns = course.at_ns(sample.at_ns);
        self.cumulative.take(&mut sample);
        self.samples.push(&sample);
        self.taken += 1;
    }

    fn record(self, interval_ns: u64) -> ProcessRecord {
        let taken = self.samples.rows();
        let windows = self.measured.into_iter().map(|ends| {
            let (opened, closed) = ends?;
            ProcessWindow::over(&taken[opened..=closed])
        });
        let windows: Option<Vec<ProcessWindow>> = windows.collect();
        let window = windows.and_then(|all| all.into_iter().reduce(ProcessWindow::and));
        let mut samples = SampleColumns::default();
        for sample in &thinning::evenly(taken, FINE, |sample| sample.row_ns / interval_ns) {
            samples.push(sample);
        }
        let unread = self.probe.unread().into_iter();
        let unread = unread.map(|(field, why)| Unread { field: field.into(), why }).collect();
        ProcessRecord { samples, window, unread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores;
    use crate::phase::Stop;
    use crate::spec::TrialSpec;

    fn watches(settle: impl FnOnce() + Send + 'static) -> Watches {
        let aside = Jobs::begin("aside", settle).unwrap();
        let reader = Jobs::begin("reader", || {}).unwrap();
        let readers = Readers { aside, reader, must_rest: true };
        Watches::new(&[], Some(std::process::id() as Pid), None, readers, &plan())
    }

    fn plan() -> Plan {
        let spec = include_str!("../../contract/golden/spec.json");
        serde_json::from_str::<TrialSpec>(spec).unwrap().plan().unwrap()
    }

    fn begun() -> Arc<Course> {
        let course = Course::new(None, Stop { requests: None, within_ns: u64::MAX / 2 });
        course.begin(now_ns());
        Arc::new(course)
    }

    #[test]
    fn the_memory_of_the_server_is_read_and_that_of_the_engine_is_not() {
        let course = begun();
        let mut watches = watches(|| {});
        watches.sample(&course, now_ns(), now_ns());
        course.stop(now_ns());
        watches.close(&course);
        let probes = watches.record();
        let read =
            |record: &ProcessRecord| record.samples.pss_bytes.iter().filter(|pss| pss.is_some()).count();
        assert_eq!((read(&probes.engine), read(&probes.server.unwrap())), (0, 2));
    }

    #[test]
    fn a_thread_that_never_gets_a_core_costs_rows_and_neither_end() {
        let course = begun();
        // The thread that reads rows stands still.
        let mut watches = watches(|| std::thread::sleep(std::time::Duration::from_secs(3_600)));
        watches.sample(&course, now_ns(), now_ns());
        while watches.opening.is_some() {
            watches.sample(&course, now_ns(), now_ns());
        }
        for _ in 0..3 {
            watches.sample(&course, now_ns(), now_ns());
        }
        assert!(watches.row.is_some());
        course.stop(now_ns());
        watches.close(&course);
        let probes = watches.record();
        assert_eq!(probes.engine.samples.at_ns.len(), 2);
        let span_ns = probes.engine.window.unwrap().span_ns;
        assert!(span_ns.abs_diff(course.ends_at_ns() - course.began_ns()) < 1_000_000_000, "{span_ns}");
        assert!(probes.server.unwrap().window.is_some() && probes.machine.window.is_some());
        assert!(probes.machine.all_processes.is_some());
    }

    #[test]
    fn rows_that_a_thread_at_idle_priority_reads_have_memory_that_another_one_reads() {
        // SAFETY: the call takes a number and returns one.
        let policy = |thread| unsafe { libc::sched_getscheduler(thread) };
        let course = begun();
        let mut watches = watches(move || {
            cores::step_aside();
            assert_eq!(policy(0), libc::SCHED_IDLE);
        });
        assert_eq!(watches.readers.reader.give(move || policy(0)).wait(), Some(libc::SCHED_OTHER));
        let due_ns = now_ns();
        watches.is_open = true;
        let memory = |watches: &Watches| {
            watches.server.as_ref().unwrap().samples.rows().iter().find_map(|row| row.pss_bytes)
        };
        // A row leaves memory out while reading it costs too much, as on a busy machine.
        while memory(&watches).is_none() && now_ns() < due_ns + 60_000_000_000 {
            watches.sample(&course, now_ns(), now_ns());
        }
        assert!(memory(&watches).unwrap() > 0);
    }
}
