//! What one thread counted in one interval. The hot loop writes to it. After each interval the whole tally goes to
//! the collector, and one that has been read comes back to be filled again.

mod kinds;

use crate::histogram::{Bucket, Histogram};
use crate::outcome::{Outcome, Outcomes, Reasons};
use crate::phase::Phase;
use crate::record::{Example, NotSent};

pub use kinds::KindTallies;

/// What is timed. `Histograms` in record.rs says what each means.
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

/// The number of variants of `Time`, of which `TakenOver` is the last.
pub const TIMES: usize = Time::TakenOver as usize + 1;

/// A histogram for each variant of `Time`.
pub struct Times([Histogram; TIMES]);

impl Times {
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| Histogram::new()))
    }

    /// Counts a time. Returns its bucket.
    #[inline]
    pub fn record(&mut self, time: Time, ns: u64) -> Bucket {
        self.0[time as usize].record(ns)
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

/// What is counted for all kinds of requests together, besides the outcomes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub scheduled: u64,
    pub not_sent: NotSent,
    pub retried: u64,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub connections_opened: u64,
    pub connections_closed_by_server: u64,
    /// Answers with the outcome `ok` without a usable timestamp of the kernel, although it was asked for one.
    pub unstamped: u64,
    /// How long whole answers had been there when the engine counted them, in total.
    pub held_ns: u64,
    /// How long users had nothing in flight because the engine had not got to them, in total.
    pub users_waited_ns: u64,
    /// How long requests had been due when they were begun, in total.
    pub requests_waited_ns: u64,
    /// Users who had a request in flight in the measured phase. Only a thread's last tally has this number.
    pub users: u64,
    /// Those of them who got no whole answer in the measured phase. Only a thread's last tally has this number.
    pub users_unanswered: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.scheduled += other.scheduled;
        self.not_sent += other.not_sent;
        self.retried += other.retried;
        self.received_bytes += other.received_bytes;
        self.sent_bytes += other.sent_bytes;
        self.connections_opened += other.connections_opened;
        self.connections_closed_by_server += other.connections_closed_by_server;
        self.unstamped += other.unstamped;
        self.held_ns += other.held_ns;
        self.users_waited_ns += other.users_waited_ns;
        self.requests_waited_ns += other.requests_waited_ns;
        self.users += other.users;
        self.users_unanswered += other.users_unanswered;
    }
}

pub struct Tally {
    pub phase: Phase,
    /// The number of the interval in its phase.
    pub index: u64,
    /// When the interval is to end; once the tally is handed over, when that was.
    pub ends_at_ns: u64,
    /// The results of the requests of this phase that were sent, or that the engine tried to send, by kind.
    pub kinds: KindTallies,
    /// Requests of this phase that found no connection in time, and therefore have no kind.
    pub too_late: u64,
    /// Requests of the warm-up that ended or were given up after it, and that the measured phase does not count as
    /// its own.
    pub stragglers: Outcomes,
    /// Requests of the warm-up that were sent or given up after it.
    pub stragglers_scheduled: u64,
    /// Requests of the warm-up that ended after it, and that the measured phase counts as its own.
    pub taken_over: u64,
    pub counts: Counts,
    /// Why requests of this phase failed.
    pub reasons: Reasons,
    pub times: Times,
    /// Why TLS failed the first time on this thread.
    pub tls_fault: Option<String>,
    /// The examples of this interval, each with its kind of request.
    pub examples: Vec<(u16, Example)>,
    /// Connections open when the interval ended.
    pub connections_open: u64,
    /// For each of the plan's `slower_than_ns`: the number of requests in flight for longer at the end of the
    /// interval, minus that number at the end of the interval before. It is empty unless the interval is a whole one
    /// of the measured phase.
    pub waiting: Vec<i64>,
    /// Whether this is the thread's last tally.
    pub is_last: bool,
}

impl Tally {
    pub const BYTES_PER_KIND: usize = KindTallies::BYTES_PER_KIND;

    pub fn new(phase: Phase, kinds: usize) -> Self {
        Self {
            phase,
            index: 0,
            ends_at_ns: 0,
            kinds: KindTallies::new(kinds),
            too_late: 0,
            stragglers: Outcomes::default(),
            stragglers_scheduled: 0,
            taken_over: 0,
            counts: Counts::default(),
            reasons: Reasons::default(),
            times: Times::new(),
            tls_fault: None,
            examples: Vec::new(),
            connections_open: 0,
            waiting: Vec::new(),
            is_last: false,
        }
    }

    /// Clears a tally that has been read, for interval `index` of `phase`.
    pub fn clear(&mut self, phase: Phase, index: u64) {
        self.times.clear();
        self.kinds.clear();
        self.phase = phase;
        self.index = index;
        self.too_late = 0;
        self.stragglers = Outcomes::default();
        self.stragglers_scheduled = 0;
        self.taken_over = 0;
        self.counts = Counts::default();
        self.tls_fault = None;
        self.reasons.clear();
        self.examples.clear();
        self.connections_open = 0;
        self.waiting.clear();
        self.is_last = false;
    }

    /// Returns the outcomes of the requests of this phase.
    pub fn outcomes(&self) -> Outcomes {
        let mut sum = Outcomes { not_sent: self.too_late, ..Outcomes::default() };
        self.kinds.counted().for_each(|(_, kind)| sum += kind.outcomes);
        sum
    }

    /// Counts a request of `phase` and of this kind that is about to be sent.
    #[inline]
    pub fn schedule(&mut self, phase: Phase, kind: u16) {
        if phase == self.phase {
            self.counts.scheduled += 1;
            self.kinds.of(kind).scheduled += 1;
        } else {
            self.stragglers_scheduled += 1;
        }
    }

    /// Counts a request of `phase` that found no connection in time.
    pub fn give_up(&mut self, phase: Phase) {
        if phase == self.phase {
            self.counts.scheduled += 1;
            self.counts.not_sent.too_late += 1;
            self.too_late += 1;
        } else {
            self.stragglers_scheduled += 1;
            self.stragglers.count(Outcome::NotSent);
        }
    }

    /// Counts a request of this kind, which was due `before_ns` before this phase, as one of this phase.
    #[inline]
    pub fn take_over(&mut self, kind: u16, before_ns: u64) {
        self.taken_over += 1;
        self.counts.scheduled += 1;
        self.kinds.of(kind).scheduled += 1;
        self.times.record(Time::TakenOver, before_ns);
    }

    /// Counts a request of this tally's phase and of this kind that ended as `ok`, `took_ns` after it was due.
    #[inline]
    pub fn succeed(&mut self, kind: u16, took_ns: u64, is_hashed: bool) {
        let of_kind = self.kinds.of(kind);
        of_kind.outcomes.ok += 1;
        of_kind.bodies_hashed += u64::from(is_hashed);
        let bucket = self.times.record(Time::Response, took_ns);
        self.kinds.time(kind, bucket);
    }

    /// Counts a request of this tally's phase that ended otherwise than `ok`, `took_ns` after it was due.
    #[cold]
    pub fn fail(&mut self, kind: u16, outcome: Outcome, took_ns: u64) {
        self.kinds.of(kind).outcomes.count(outcome);
        match outcome {
            Outcome::Timeout | Outcome::ConnectTimeout => self.times.record(Time::TimedOut, took_ns),
            Outcome::NotSent => return,
            Outcome::Unfinished => self.times.record(Time::UnfinishedAge, took_ns),
            _ => self.times.record(Time::Failed, took_ns),
        };
    }
}
