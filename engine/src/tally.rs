//! What one thread counted in one interval. The hot loop writes into it; once per interval it goes,
//! whole, to the collector, and a spent one comes back to be filled again.

use crate::histogram::Histogram;
use crate::outcome::{Outcome, Outcomes};
use crate::phase::Phase;
use crate::record::NotSent;

/// What is timed. The record says what each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    Response,
    Service,
    FirstByte,
    Lateness,
    EngineLateness,
    Connect,
    Failed,
    TimedOut,
    UnfinishedAge,
    CarriedOver,
    TakenOver,
}

pub const TIMES: usize = Time::TakenOver as usize + 1;

/// A histogram for each time.
pub struct Times([Histogram; TIMES]);

impl Times {
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| Histogram::new()))
    }

    #[inline]
    pub fn record(&mut self, time: Time, ns: u64) {
        self.0[time as usize].record(ns);
    }

    pub fn of(&self, time: Time) -> &Histogram {
        &self.0[time as usize]
    }

    pub fn each(&self) -> &[Histogram; TIMES] {
        &self.0
    }

    fn clear(&mut self) {
        self.0.iter_mut().for_each(Histogram::clear);
    }
}

impl Default for Times {
    fn default() -> Self {
        Self::new()
    }
}

/// What is counted, beside the outcomes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub scheduled: u64,
    pub not_sent: NotSent,
    pub retried: u64,
    pub bodies_hashed: u64,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub connections_opened: u64,
    /// Answers whose arrival the kernel was to stamp and did not.
    pub unstamped: u64,
    /// How long answers lay there before they were taken up.
    pub held_ns: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.scheduled += other.scheduled;
        self.not_sent += other.not_sent;
        self.retried += other.retried;
        self.bodies_hashed += other.bodies_hashed;
        self.received_bytes += other.received_bytes;
        self.sent_bytes += other.sent_bytes;
        self.connections_opened += other.connections_opened;
        self.unstamped += other.unstamped;
        self.held_ns += other.held_ns;
    }
}

pub struct Tally {
    pub phase: Phase,
    /// Which interval of the phase, counted from its beginning.
    pub index: u64,
    pub ends_at_ns: u64,
    /// Requests of this phase, by how they ended.
    pub outcomes: Outcomes,
    /// Requests of the warm-up that ended, or came to be sent, after it.
    pub stragglers: Outcomes,
    pub stragglers_scheduled: u64,
    /// Requests of the warm-up that this phase counts as its own.
    pub taken_over: u64,
    pub counts: Counts,
    pub times: Times,
    /// Why TLS failed, the first time it did.
    pub tls_fault: Option<String>,
    /// Connections open when the interval ended.
    pub connections_open: u64,
    /// The thread's last.
    pub is_last: bool,
}

impl Tally {
    pub fn new(phase: Phase) -> Self {
        Self {
            phase,
            index: 0,
            ends_at_ns: 0,
            outcomes: Outcomes::default(),
            stragglers: Outcomes::default(),
            stragglers_scheduled: 0,
            taken_over: 0,
            counts: Counts::default(),
            times: Times::new(),
            tls_fault: None,
            connections_open: 0,
            is_last: false,
        }
    }

    /// Makes a spent tally ready for interval `index` of `phase`.
    pub fn clear(&mut self, phase: Phase, index: u64) {
        self.times.clear();
        self.phase = phase;
        self.index = index;
        self.outcomes = Outcomes::default();
        self.stragglers = Outcomes::default();
        self.stragglers_scheduled = 0;
        self.taken_over = 0;
        self.counts = Counts::default();
        self.tls_fault = None;
        self.connections_open = 0;
    }

    /// A request of `phase` has come due.
    #[inline]
    pub fn schedule(&mut self, phase: Phase) {
        if phase == self.phase {
            self.counts.scheduled += 1;
        } else {
            self.stragglers_scheduled += 1;
        }
    }

    /// A request that was due `before_ns` before this phase is counted as its own.
    #[inline]
    pub fn take_over(&mut self, before_ns: u64) {
        self.taken_over += 1;
        self.counts.scheduled += 1;
        self.times.record(Time::TakenOver, before_ns);
    }

    /// A request of this tally's phase has ended, `took_ns` after it was due.
    #[inline]
    pub fn count(&mut self, outcome: Outcome, took_ns: u64) {
        self.outcomes.count(outcome);
        match outcome {
            Outcome::Ok => self.times.record(Time::Response, took_ns),
            Outcome::Timeout | Outcome::ConnectTimeout => self.times.record(Time::TimedOut, took_ns),
            Outcome::NotSent => {}
            _ => self.times.record(Time::Failed, took_ns),
        }
    }
}
