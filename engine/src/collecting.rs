//! The work that is done beside the load, in small steps: adding tallies up, taking samples and writing lines of
//! progress. A thread of its own does it while the load runs; this thread may have to wait for a core all the
//! time. The thread that finishes the trial continues where the first one stopped. Neither thread sends requests.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::clock::now_ns;
use crate::collector::Collector;
use crate::failure::Failure;
use crate::ledger::INTERVAL_NS;
use crate::output::Progress;
use crate::phase::Course;
use crate::plan::Plan;
use crate::tally::Tally;
use crate::watch::Watches;

/// The collector's ends of the channels through which tallies come and go back.
pub struct Channels {
    pub inbox: Receiver<Box<Tally>>,
    /// A channel for each worker, which lives as long as this end.
    pub returns: Vec<Sender<Box<Tally>>>,
}

/// Everything that is collected in a trial, and what is to be done next.
pub struct Collecting {
    course: Arc<Course>,
    channels: Channels,
    collector: Collector,
    watches: Watches,
    probe_interval_ns: u64,
    progress_every_ns: u64,
    next_sample_ns: u64,
    next_progress_ns: u64,
    /// The number of workers whose last tally has not come.
    working: usize,
    turn: usize,
}

/// The result of a step.
enum Step {
    /// There may be more to do at once.
    Done,
    /// A line of progress is to be written.
    Say(String),
    /// There is nothing to do for this long.
    Nothing { for_ns: u64 },
}

impl Collecting {
    /// `course` must have begun.
    pub fn new(
        plan: &Plan,
        course: Arc<Course>,
        channels: Channels,
        collector: Collector,
        watches: Watches,
    ) -> Self {
        Self {
            channels,
            collector,
            watches,
            probe_interval_ns: plan.probe_interval_ns,
            progress_every_ns: plan.progress_every_ns,
            next_sample_ns: course.began_ns(),
            next_progress_ns: course.began_ns() + plan.progress_every_ns,
            working: plan.threads,
            turn: 0,
            course,
        }
    }

    /// Does one piece of work that is due now.
    fn step(&mut self) -> Step {
        if let Ok(tally) = self.channels.inbox.try_recv() {
            self.add(&tally);
            self.turn = (self.turn + 1) % self.channels.returns.len();
            let _ = self.channels.returns[self.turn].send(tally); // The worker may have ended.
            return Step::Done;
        }
        let now_ns = now_ns();
        if now_ns >= self.course.ends_at_ns() {
            return Step::Nothing { for_ns: INTERVAL_NS }; // The thread that finishes the trial does the rest.
        }
        if now_ns >= self.next_sample_ns || self.watches.are_to_open(&self.course, now_ns) {
            self.watches.sample(&self.course, self.next_sample_ns, now_ns);
            self.next_sample_ns = after(now_ns, self.next_sample_ns, self.probe_interval_ns);
            return Step::Done;
        }
        if now_ns >= self.next_progress_ns {
            self.next_progress_ns = after(now_ns, self.next_progress_ns, self.progress_every_ns);
            return Step::Say(self.collector.progress(&self.course, now_ns));
        }
        let mut wake_ns = self.next_sample_ns.min(self.next_progress_ns);
        if self.course.measured_from_ns() > now_ns {
            wake_ns = wake_ns.min(self.course.look_again_ns(now_ns));
        }
        Step::Nothing { for_ns: wake_ns.saturating_sub(now_ns).min(TALLIES_WAIT_NS) }
    }

    fn add(&mut self, tally: &Tally) {
        self.collector.add(tally);
        self.working -= usize::from(tally.is_last);
    }

    /// Takes the last samples, and waits for the last tally of every worker.
    pub fn finish(mut self) -> (Collector, Watches) {
        self.watches.close(&self.course);
        while self.working > 0
            && let Ok(tally) = self.channels.inbox.recv()
        {
            self.add(&tally);
        }
        (self.collector, self.watches)
    }
}

/// The longest time that a tally waits for the collector. It is shorter than an interval, after which the workers
/// need tallies that have come back.
const TALLIES_WAIT_NS: u64 = INTERVAL_NS / 2;

/// Returns the first of the instants `next_ns`, `next_ns + every_ns`, … that is later than `now_ns`.
fn after(now_ns: u64, next_ns: u64, every_ns: u64) -> u64 {
    if now_ns < next_ns { next_ns } else { next_ns + every_ns * (1 + (now_ns - next_ns) / every_ns) }
}

/// The collecting of a trial, shared by two threads: one collects while the load runs, the other finishes.
pub struct Shared {
    collecting: Arc<Mutex<Option<Collecting>>>,
    is_over: Arc<AtomicBool>,
}

impl Shared {
    /// Starts the thread that collects. The thread first calls `settle`, which chooses its cores and its priority.
    /// No thread waits for its end: if it gets no core, it ends with the process.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn begin(collecting: Collecting, settle: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        let shared = Self {
            collecting: Arc::new(Mutex::new(Some(collecting))),
            is_over: Arc::new(AtomicBool::new(false)),
        };
        let collects =
            Self { collecting: Arc::clone(&shared.collecting), is_over: Arc::clone(&shared.is_over) };
        thread::Builder::new()
            .name("collector".into())
            .spawn(move || {
                settle();
                collects.run(&Progress::begin());
            })
            .map_err(Failure::thread)?;
        Ok(shared)
    }

    /// Collects until another thread takes over. It releases the lock after each step, so that the other thread waits
    /// for one step at most.
    fn run(&self, progress: &Progress) {
        while !self.is_over.load(Relaxed) {
            let step = match self.collecting.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                Some(collecting) => collecting.step(),
                None => return,
            };
            match step {
                Step::Done => {}
                Step::Say(line) => progress.say(line),
                Step::Nothing { for_ns } => thread::sleep(Duration::from_nanos(for_ns)),
            }
        }
    }

    /// Stops the thread after its present step. Returns what it has collected, so that the calling thread can go on.
    pub fn take_over(self) -> Collecting {
        self.is_over.store(true, Relaxed);
        let mut collecting = self.collecting.lock().unwrap_or_else(PoisonError::into_inner);
        collecting.take().expect("whoever takes it over gives up the means to")
    }
}
