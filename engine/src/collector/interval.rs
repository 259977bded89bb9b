//! What all threads counted in one interval or in several, and the row that it comes to.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::tally::{Tally, Time};

/// One interval of the series, over all threads.
#[derive(Default)]
pub struct Interval {
    pub ends_at_ns: u64,
    pub ok: u64,
    pub failed: u64,
    pub scheduled: u64,
    pub connections: u64,
    pub response_time: Histogram,
    pub engine_lateness: Histogram,
    /// The number of tallies that have come: one comes from each thread.
    pub heard: usize,
}

/// A closed interval, or several, as they are stored.
#[derive(Clone, Serialize, Deserialize)]
pub struct Row {
    /// How many intervals it covers.
    pub length: u64,
    pub ends_at_ns: u64,
    pub ok: u64,
    pub failed: u64,
    pub scheduled: u64,
    pub connections: u64,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub max_ns: Option<u64>,
    pub engine_late_p99_ns: Option<u64>,
}

impl Interval {
    pub fn add(&mut self, tally: &Tally) {
        let outcomes = tally.outcomes();
        self.ends_at_ns = self.ends_at_ns.max(tally.ends_at_ns);
        self.ok += outcomes.ok;
        self.failed += outcomes.failed();
        self.scheduled += tally.counts.scheduled;
        self.connections += tally.connections_open;
        self.heard += 1;
        self.response_time.add(tally.times.of(Time::Response));
        self.engine_lateness.add(tally.times.of(Time::EngineLateness));
    }

    /// Adds a later interval.
    pub fn merge(&mut self, other: &Self) {
        self.ends_at_ns = self.ends_at_ns.max(other.ends_at_ns);
        self.ok += other.ok;
        self.failed += other.failed;
        self.scheduled += other.scheduled;
        // Those that were open at its end.
        self.connections = other.connections;
        self.response_time.add(&other.response_time);
        self.engine_lateness.add(&other.engine_lateness);
    }

    pub fn row(&self, length: u64) -> Row {
        Row {
            length,
            ends_at_ns: self.ends_at_ns,
            ok: self.ok,
            failed: self.failed,
            scheduled: self.scheduled,
            connections: self.connections,
            p50_ns: self.response_time.quantile_ns(0.5),
            p99_ns: self.response_time.quantile_ns(0.99),
            max_ns: self.response_time.quantile_ns(1.0),
            engine_late_p99_ns: self.engine_lateness.quantile_ns(0.99),
        }
    }
}

impl Row {
    pub fn merge(&mut self, other: Self) {
        let (mut more, less) = if other.ok > self.ok { (other, self.clone()) } else { (self.clone(), other) };
        more.ends_at_ns = more.ends_at_ns.max(less.ends_at_ns);
        more.ok += less.ok;
        more.failed += less.failed;
        more.scheduled += less.scheduled;
        more.max_ns = more.max_ns.max(less.max_ns);
        *self = more;
    }
}
