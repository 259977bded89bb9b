//! The probes of one trial: which of them read when, and what their readings come to in the record. What they read,
//! and how, is in `probe/`.

use crate::clock::now_ns;
use crate::phase::Course;
use crate::probe::machine::Machine;
use crate::probe::processes::{DEAR, Processes};
use crate::probe::sample::Sample;
use crate::probe::sockets::Sockets;
use crate::probe::threads::Threads;
use crate::probe::{Pace, own_cpu_ns};
use crate::process_tree::Pid;
use crate::record::{Probes, ProcessRecord, SampleColumns, Unread, Window};
use crate::spool::Spool;

/// Everything that is sampled in a trial.
pub struct Watches {
    engine: Watch,
    server: Option<Watch>,
    threads: Threads,
    sockets: Sockets,
    machine: Machine,
    pace: Pace,
    /// Whether the beginning of the measured phase was sampled.
    is_open: bool,
}

impl Watches {
    /// `threads` are those of the engine's threads that send. `server` is the server's process tree, if it is known. The
    /// engine's proportional memory is not read: meanwhile no thread that sends could map memory.
    pub fn new(threads: &[Pid], server: Option<Processes>) -> Self {
        Self {
            engine: Watch::new(Processes::new(std::process::id() as Pid, None)),
            server: server.map(Watch::new),
            threads: Threads::new(threads),
            sockets: Sockets::new(),
            machine: Machine::new(),
            pace: Pace::default(),
            is_open: false,
        }
    }

    /// Returns whether the measured phase has begun by `now_ns`, and its beginning was not sampled yet.
    pub fn are_to_open(&self, course: &Course, now_ns: u64) -> bool {
        !self.is_open && now_ns >= course.measured_from_ns()
    }

    /// Takes the samples that were due at `due_ns`. The first call in the measured phase reads everything. Any other
    /// call reads as much as the pace allows.
    pub fn sample(&mut self, course: &Course, due_ns: u64, now_ns: u64) {
        if self.are_to_open(course, now_ns) {
            self.open(course, now_ns);
        } else if self.pace.allows_row(now_ns) {
            self.sample_at_pace(course, due_ns, now_ns);
        }
    }

    fn open(&mut self, course: &Course, now_ns: u64) {
        self.is_open = true;
        let began_cpu_ns = self.cpu_ns();
        self.machine.open();
        self.watches().for_each(|watch| watch.open(course.measured_from_ns()));
        self.threads.open();
        self.sockets.boundary(now_ns, course.began_ns());
        self.machine.open_everybody(self.server_pid());
        let cost_ns = self.cpu_ns() - began_cpu_ns;
        self.pace.spent(now_ns, cost_ns);
    }

    /// Reads everything at the end of the measured phase.
    pub fn close(&mut self, course: &Course) {
        self.machine.close();
        self.watches().for_each(|watch| watch.close(course.ends_at_ns()));
        self.threads.close();
        self.sockets.boundary(course.ends_at_ns(), course.began_ns());
        self.machine.close_everybody(self.server_pid());
    }

    fn sample_at_pace(&mut self, course: &Course, due_ns: u64, now_ns: u64) {
        let began_cpu_ns = self.cpu_ns();
        let mut samples: Vec<Sample> = self.watches().map(|watch| watch.probe.row(due_ns)).collect();
        self.threads.sample(now_ns, course.began_ns());
        self.sockets.sample(now_ns, course.began_ns());
        let row_cost_ns = self.cpu_ns() - began_cpu_ns;
        self.read_more(&mut samples);
        // Account for the row only now: otherwise the pace would allow no other readings while rows are expensive.
        self.pace.spent_on_row(now_ns, row_cost_ns);
        self.watches().zip(&samples).for_each(|(watch, sample)| watch.keep(sample));
    }

    /// Reads the parts of each tree that are expensive (`DEAR`) into its sample, as many as the pace allows. The part
    /// that was read longest ago comes first.
    fn read_more(&mut self, samples: &mut [Sample]) {
        let each = self.watches().enumerate();
        let mut turns: Vec<(u64, usize, usize)> = each
            .flat_map(|(tree, watch)| {
                watch.read_ns.into_iter().zip(0..).map(move |(at, dear)| (at, tree, dear))
            })
            .collect();
        turns.sort_unstable();
        for (_, tree, dear) in turns {
            let read_ns = now_ns();
            if !self.pace.allows_more(read_ns) {
                return;
            }
            let began_cpu_ns = self.cpu_ns();
            if let Some(watch) = self.watches().nth(tree) {
                watch.probe.read(DEAR[dear], &mut samples[tree]);
                watch.read_ns[dear] = read_ns;
            }
            let cost_ns = self.cpu_ns() - began_cpu_ns;
            self.pace.spent(read_ns, cost_ns);
        }
    }

    fn server_pid(&self) -> Option<Pid> {
        self.server.as_ref().map(|server| server.probe.root())
    }

    /// The CPU time of the calling thread, and of what reads for it.
    fn cpu_ns(&self) -> u64 {
        own_cpu_ns() + self.server.as_ref().map_or(0, |server| server.probe.elsewhere_cpu_ns())
    }

    pub fn record(self, course: &Course) -> Probes {
        Probes {
            engine: self.engine.record(course),
            server: self.server.map(|server| server.record(course)),
            threads: self.threads.records(),
            sockets: self.sockets.record(),
            machine: self.machine.record(),
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

/// Samples one process tree, and reads all of it at both ends of the measured phase.
struct Watch {
    probe: Processes,
    /// When each of `DEAR` was read last in a call of `read_more`; 0 = never.
    read_ns: [u64; DEAR.len()],
    samples: Spool<Sample>,
    /// The number of samples taken.
    taken: usize,
    /// The position of the sample at the beginning of the measured phase.
    opened: Option<usize>,
    /// The position of the sample at the end of the measured phase.
    closed: Option<usize>,
}

impl Watch {
    fn new(probe: Processes) -> Self {
        Self { probe, read_ns: [0; DEAR.len()], samples: Spool::open(), taken: 0, opened: None, closed: None }
    }

    fn open(&mut self, due_ns: u64) {
        self.opened = Some(self.taken);
        let sample = self.probe.boundary(due_ns, true);
        self.keep(&sample);
    }

    fn close(&mut self, due_ns: u64) {
        self.closed = Some(self.taken);
        let sample = self.probe.boundary(due_ns, false);
        self.keep(&sample);
    }

    fn keep(&mut self, sample: &Sample) {
        self.samples.push(sample);
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
        let unread = self.probe.unread().into_iter();
        let unread = unread.map(|(field, why)| Unread { field: field.into(), why }).collect();
        ProcessRecord { samples, window, unread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::Stop;
    use crate::probe::pss::PssReader;

    #[test]
    fn the_memory_of_the_server_is_read_and_that_of_the_engine_is_not() {
        let course = Course::new(None, Stop { requests: None, within_ns: 1_000 });
        course.begin(now_ns());
        let ours = std::process::id() as Pid;
        let server = Processes::new(ours, Some(PssReader::begin(|| {}).unwrap()));
        let mut watches = Watches::new(&[], Some(server));
        watches.sample(&course, now_ns(), now_ns());
        watches.close(&course);
        let probes = watches.record(&course);
        let read =
            |record: &ProcessRecord| record.samples.pss_bytes.iter().filter(|pss| pss.is_some()).count();
        assert_eq!((read(&probes.engine), read(&probes.server.unwrap())), (0, 2));
    }
}
