//! What one thread counted in one interval. The hot loop writes into it; once per interval it goes,
//! whole, to the collector, and a spent one comes back to be filled again.

use hdrhistogram::Histogram;

use crate::outcome::Outcomes;
use crate::phase::Phase;

/// Times from 1 ns to 5 minutes, in nanoseconds, to three significant digits.
pub const LONGEST_NS: u64 = 300_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants and lawful")
}

/// How long requests took, by how they went: the histograms of one interval or of a whole trial.
pub struct Times {
    pub response_time: Histogram<u64>,
    pub connect_time: Histogram<u64>,
    pub failed: Histogram<u64>,
    pub timed_out: Histogram<u64>,
    pub unfinished_age: Histogram<u64>,
    pub carried_over: Histogram<u64>,
}

impl Times {
    pub fn new() -> Self {
        Self {
            response_time: histogram(),
            connect_time: histogram(),
            failed: histogram(),
            timed_out: histogram(),
            unfinished_age: histogram(),
            carried_over: histogram(),
        }
    }

    pub fn add(&mut self, part: &Self) {
        add(&mut self.response_time, &part.response_time);
        add(&mut self.connect_time, &part.connect_time);
        add(&mut self.failed, &part.failed);
        add(&mut self.timed_out, &part.timed_out);
        add(&mut self.unfinished_age, &part.unfinished_age);
        add(&mut self.carried_over, &part.carried_over);
    }

    fn clear(&mut self) {
        for histogram in [
            &mut self.response_time,
            &mut self.connect_time,
            &mut self.failed,
            &mut self.timed_out,
            &mut self.unfinished_age,
            &mut self.carried_over,
        ] {
            // Clearing touches 240 KB; most of them were never written to.
            if !histogram.is_empty() {
                histogram.reset();
            }
        }
    }
}

pub fn add(total: &mut Histogram<u64>, part: &Histogram<u64>) {
    if !part.is_empty() {
        total.add(part).expect("both have the same bounds");
    }
}

pub struct Tally {
    pub phase: Phase,
    /// Which interval of the phase, counted from its beginning.
    pub index: u64,
    pub ends_at_ns: u64,
    /// Requests of this phase, by how they ended.
    pub outcomes: Outcomes,
    /// Requests of the warm-up that ended after it.
    pub stragglers: Outcomes,
    pub scheduled: u64,
    pub times: Times,
    pub bodies_hashed: u64,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub connections_opened: u64,
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
            scheduled: 0,
            times: Times::new(),
            bodies_hashed: 0,
            received_bytes: 0,
            sent_bytes: 0,
            connections_opened: 0,
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
        self.scheduled = 0;
        self.bodies_hashed = 0;
        self.received_bytes = 0;
        self.sent_bytes = 0;
        self.connections_opened = 0;
        self.connections_open = 0;
    }
}
