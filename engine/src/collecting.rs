//! The work that is done beside the load, in small steps: adding tallies up, having samples taken and writing lines of
//! progress. The thread that finishes the trial does it, at normal priority, so that the record waits for no other
//! thread. What takes long is read by others (`watches.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::clock::now_ns;
use crate::collector::Collector;
use crate::ledger::INTERVAL_NS;
use crate::output::Progress;
use crate::phase::Course;
use crate::plan::Plan;
use crate::sampling::{Sampling, after};
use crate::tally::Tally;
use crate::watches::Watches;

/// The collector's ends of the channels through which tallies come and go back.
pub struct Channels {
    pub inbox: Receiver<Box<Tally>>,
    /// A channel for each worker, which lives as long as this end.
    pub returns: Vec<Sender<Box<Tally>>>,
}

/// What ends the load before its time.
pub struct Ending<'a> {
    /// Receives a message when a worker has ended.
    pub worker: &'a Receiver<()>,
    /// Whether the trial is to end early.
    pub enough: &'a AtomicBool,
}

/// Everything that is collected in a trial, and what is to be done next.
pub struct Collecting {
    course: Arc<Course>,
    channels: Channels,
    collector: Collector,
    sampling: Sampling,
    progress_every_ns: u64,
    next_progress_ns: u64,
    /// Whether it is to be told that the measured phase has begun: nobody else knows when a number of requests has ended
    /// the warm-up.
    tells: bool,
    threads: usize,
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
            sampling: Sampling::new(Arc::clone(&course), watches),
            progress_every_ns: plan.progress_every_ns,
            next_progress_ns: 0,
            tells: plan.is_told && plan.warm_up.is_some_and(|warm_up| warm_up.stop.requests.is_some()),
            threads: plan.threads,
            working: 0,
            turn: 0,
            course,
        }
    }

    /// Begins to collect. The course, or its next turn, must have begun.
    pub fn begin(&mut self) {
        self.sampling.begin();
        self.next_progress_ns = self.course.began_ns() + self.progress_every_ns;
        self.working = self.threads;
    }

    /// Collects until the time is over, a worker has ended, or the trial is to end early.
    pub fn run(&mut self, progress: &Progress, ending: &Ending<'_>) {
        loop {
            if ending.enough.load(Relaxed) {
                self.course.stop(now_ns());
            }
            if now_ns() >= self.course.ends_at_ns() {
                return;
            }
            if self.tells && now_ns() >= self.course.measured_from_ns() {
                self.tells = false;
                progress.tell(MEASURES);
            }
            let wait_ns = match self.step() {
                Step::Done => 0,
                Step::Say(line) => {
                    progress.say(line);
                    0
                }
                Step::Nothing { for_ns } => for_ns,
            };
            let wait_ns = wait_ns.min(self.course.ends_at_ns().saturating_sub(now_ns()));
            let ended = ending.worker.recv_timeout(Duration::from_nanos(wait_ns));
            if ended != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// Does one piece of work that is due now.
    fn step(&mut self) -> Step {
        let now_ns = now_ns();
        // First what must be read in time.
        if self.sampling.sample(now_ns) {
            return Step::Done;
        }
        if let Ok(tally) = self.channels.inbox.try_recv() {
            self.add(&tally);
            self.give_back(tally);
            return Step::Done;
        }
        if now_ns >= self.next_progress_ns {
            self.next_progress_ns = after(now_ns, self.next_progress_ns, self.progress_every_ns);
            return Step::Say(self.collector.progress(&self.course, now_ns));
        }
        let wake_ns = self.sampling.gather(now_ns).min(self.next_progress_ns);
        Step::Nothing { for_ns: wake_ns.saturating_sub(now_ns).min(TALLIES_WAIT_NS) }
    }

    fn add(&mut self, tally: &Tally) {
        self.collector.add(tally);
        self.working -= usize::from(tally.is_last);
    }

    fn give_back(&mut self, tally: Box<Tally>) {
        self.turn = (self.turn + 1) % self.channels.returns.len();
        let _ = self.channels.returns[self.turn].send(tally); // The worker may have ended.
    }

    /// Takes the last samples of the course, or of its present turn, and waits for the last tally of every worker.
    pub fn end(&mut self) {
        self.sampling.end();
        while self.working > 0
            && let Ok(tally) = self.channels.inbox.recv()
        {
            self.add(&tally);
            self.give_back(tally);
        }
        self.collector.end_turn(&self.course);
    }

    pub fn finish(self) -> (Collector, Watches) {
        (self.collector, self.sampling.watches)
    }
}

/// Says that a number of requests has ended the warm-up.
const MEASURES: &str = "{\"measures\":1}";

/// The longest time that a tally waits for the collector. It is shorter than an interval, after which the workers
/// need tallies that have come back.
const TALLIES_WAIT_NS: u64 = INTERVAL_NS / 2;
