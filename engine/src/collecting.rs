//! What is done beside the load, in small steps: tallies are added up, probes read, lines of progress written. A
//! thread of its own does so while the load runs, and may have to wait for a core all the while; the thread that
//! finishes the trial takes over where that one stands. Neither sends a request.

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

/// The collector's ends of the channels by which tallies come and go back.
pub struct Channels {
    pub inbox: Receiver<Box<Tally>>,
    /// One for each worker, which lives as long as this.
    pub returns: Vec<Sender<Box<Tally>>>,
}

/// All that is collected in a trial, and what is to be done next.
pub struct Collecting {
    course: Arc<Course>,
    channels: Channels,
    collector: Collector,
    watches: Watches,
    probe_interval_ns: u64,
    progress_every_ns: u64,
    next_sample_ns: u64,
    next_progress_ns: u64,
    /// Workers whose last tally has not come.
    working: usize,
    turn: usize,
}

/// What a step came to.
enum Step {
    /// There may be more to do at once.
    Done,
    /// A line for whoever watches.
    Say(String),
    /// There is nothing to do for so long.
    Nothing { for_ns: u64 },
}

impl Collecting {
    /// The course has begun.
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

    /// Does one thing that is to be done by now.
    fn step(&mut self) -> Step {
        if let Ok(tally) = self.channels.inbox.try_recv() {
            self.add(&tally);
            self.turn = (self.turn + 1) % self.channels.returns.len();
            let _ = self.channels.returns[self.turn].send(tally); // Its worker may have ended.
            return Step::Done;
        }
        let now_ns = now_ns();
        if now_ns >= self.course.ends_at_ns() {
            return Step::Nothing { for_ns: INTERVAL_NS }; // What is left is for whoever finishes.
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
            wake_ns = wake_ns.min(self.course.measured_from_ns());
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

/// How long tallies may lie there: less than until their workers want others.
const TALLIES_WAIT_NS: u64 = INTERVAL_NS / 2;

/// The first instant after `now_ns` of those that follow `next_ns` each `every_ns`; `next_ns` where that is to come.
fn after(now_ns: u64, next_ns: u64, every_ns: u64) -> u64 {
    if now_ns < next_ns { next_ns } else { next_ns + every_ns * (1 + (now_ns - next_ns) / every_ns) }
}

/// A trial's collecting as two threads hold it: the one that does it while the load runs, and the one that finishes.
pub struct Shared {
    collecting: Arc<Mutex<Option<Collecting>>>,
    is_over: Arc<AtomicBool>,
}

impl Shared {
    /// Starts the thread that collects, where `settle` lets it run. Nobody waits for its end: where it is given no
    /// core it ends with the process.
    ///
    /// # Errors
    /// Where no thread is to be had.
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
            .map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
        Ok(shared)
    }

    /// The lock is given back after each step, so that who takes over waits for one at most.
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

    /// Ends the thread's work after its present step; what it has collected, for the calling thread to go on with.
    pub fn take_over(self) -> Collecting {
        self.is_over.store(true, Relaxed);
        let mut collecting = self.collecting.lock().unwrap_or_else(PoisonError::into_inner);
        collecting.take().expect("whoever takes it over gives up the means to")
    }
}
