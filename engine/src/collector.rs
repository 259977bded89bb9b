//! Puts the threads' tallies together: totals, the series, and the lines of progress. It runs beside
//! the hot loops and never inside one.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde_json::json;

use crate::outcome::Outcomes;
use crate::phase::{Course, Phase};
use crate::record::{HistogramRecord, Histograms, Series, WarmUpRecord};
use crate::tally::{Tally, Times, add, histogram};
use crate::worker::INTERVAL_NS;

/// One interval of the series, over all threads.
struct Interval {
    ends_at_ns: u64,
    ok: u64,
    failed: u64,
    connections: u64,
    response_time: Histogram<u64>,
    /// Threads whose tally has come.
    heard: usize,
}

/// An interval whose threads have all been heard.
struct Row {
    ends_at_ns: u64,
    ok: u64,
    failed: u64,
    connections: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// Sorts the warm-up before the measured phase, and intervals by number.
type Key = (bool, u64);

pub struct Collector {
    threads: usize,
    pub outcomes: Outcomes,
    pub scheduled: u64,
    pub warm_up: WarmUpRecord,
    pub bodies_hashed: u64,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub connections_opened: u64,
    times: Times,
    open_intervals: BTreeMap<Key, Interval>,
    rows: BTreeMap<Key, Row>,
}

impl Collector {
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            outcomes: Outcomes::default(),
            scheduled: 0,
            warm_up: WarmUpRecord { scheduled: 0, outcomes: Outcomes::default() },
            bodies_hashed: 0,
            received_bytes: 0,
            sent_bytes: 0,
            connections_opened: 0,
            times: Times::new(),
            open_intervals: BTreeMap::new(),
            rows: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, tally: &Tally) {
        self.add_to_totals(tally);
        self.add_to_series(tally);
    }

    fn add_to_totals(&mut self, tally: &Tally) {
        self.connections_opened += tally.connections_opened;
        self.warm_up.outcomes += tally.stragglers;
        if tally.phase == Phase::WarmUp {
            self.warm_up.scheduled += tally.scheduled;
            self.warm_up.outcomes += tally.outcomes;
            add(&mut self.times.connect_time, &tally.times.connect_time);
            return;
        }
        self.scheduled += tally.scheduled;
        self.outcomes += tally.outcomes;
        self.bodies_hashed += tally.bodies_hashed;
        self.received_bytes += tally.received_bytes;
        self.sent_bytes += tally.sent_bytes;
        self.times.add(&tally.times);
    }

    fn add_to_series(&mut self, tally: &Tally) {
        let key = (tally.phase == Phase::Measured, tally.index);
        let interval = self.open_intervals.entry(key).or_insert_with(|| Interval {
            ends_at_ns: 0,
            ok: 0,
            failed: 0,
            connections: 0,
            response_time: histogram(),
            heard: 0,
        });
        interval.ends_at_ns = interval.ends_at_ns.max(tally.ends_at_ns);
        interval.ok += tally.outcomes.ok;
        interval.failed += tally.outcomes.failed();
        interval.connections += tally.connections_open;
        interval.heard += 1;
        add(&mut interval.response_time, &tally.times.response_time);
        if interval.heard >= self.threads {
            self.close_interval(key);
        }
    }

    fn close_interval(&mut self, key: Key) {
        if let Some(interval) = self.open_intervals.remove(&key) {
            self.rows.insert(key, interval.row());
        }
    }

    /// Counts the requests that either phase was to send by number and never did.
    pub fn count_not_sent(&mut self, course: &Course) {
        let warm_up = course.never_issued(Phase::WarmUp);
        self.warm_up.scheduled += warm_up;
        self.warm_up.outcomes.not_sent += warm_up;
        let measured = course.never_issued(Phase::Measured);
        self.scheduled += measured;
        self.outcomes.not_sent += measured;
    }

    /// One line for whoever watches: the last full second.
    pub fn progress(&self, course: &Course, now_ns: u64) -> String {
        let phase = course.phase(now_ns).unwrap_or(Phase::Measured);
        let last: Vec<&Row> = self.rows.values().rev().take(10).collect();
        let seconds = last.len() as f64 * INTERVAL_NS as f64 / 1e9;
        let sum = |of: fn(&Row) -> u64| last.iter().map(|row| of(row)).sum::<u64>();
        let worst = |of: fn(&Row) -> Option<u64>| last.iter().filter_map(|row| of(row)).max();
        let total = |of: fn(&Outcomes) -> u64| of(&self.warm_up.outcomes) + of(&self.outcomes);
        let line = json!({
            "at_s": (now_ns - course.began_ns) as f64 / 1e9,
            "phase": phase,
            "ok": total(|outcomes| outcomes.ok),
            "failed": total(Outcomes::failed),
            "throughput_per_s": if seconds > 0.0 { sum(|row| row.ok) as f64 / seconds } else { 0.0 },
            "p50_ns": last.first().and_then(|row| row.p50_ns),
            "p99_ns": worst(|row| row.p99_ns),
            "connections": last.first().map_or(0, |row| row.connections),
            "left_s": course.ends_at_ns().saturating_sub(now_ns) as f64 / 1e9,
        });
        line.to_string()
    }

    pub fn histograms(&self) -> Histograms {
        Histograms {
            response_time: HistogramRecord::of(&self.times.response_time),
            connect_time: HistogramRecord::of(&self.times.connect_time),
            failed: HistogramRecord::of(&self.times.failed),
            timed_out: HistogramRecord::of(&self.times.timed_out),
            unfinished_age: HistogramRecord::of(&self.times.unfinished_age),
            carried_over: HistogramRecord::of(&self.times.carried_over),
        }
    }

    pub fn series(&mut self, course: &Course) -> Series {
        // A thread that was held up through a whole interval has no tally for it.
        let unheard: Vec<Key> = self.open_intervals.keys().copied().collect();
        for key in unheard {
            self.close_interval(key);
        }
        let mut series = Series { interval_ms: INTERVAL_NS / 1_000_000, ..Series::default() };
        for (&(measured, index), row) in &self.rows {
            let phase = if measured { Phase::Measured } else { Phase::WarmUp };
            let begins_ns = course.began_at_ns(phase) + index * INTERVAL_NS;
            let ends_ns = row.ends_at_ns.clamp(begins_ns, begins_ns + INTERVAL_NS);
            series.at_ns.push(begins_ns - course.began_ns);
            series.duration_ns.push(ends_ns - begins_ns);
            series.phase.push(phase);
            series.ok.push(row.ok);
            series.failed.push(row.failed);
            series.p50_ns.push(row.p50_ns);
            series.p99_ns.push(row.p99_ns);
            series.max_ns.push(row.max_ns);
            series.connections.push(row.connections);
        }
        series
    }
}

impl Interval {
    fn row(&self) -> Row {
        let times = &self.response_time;
        let any = |value: u64| (!times.is_empty()).then_some(value);
        Row {
            ends_at_ns: self.ends_at_ns,
            ok: self.ok,
            failed: self.failed,
            connections: self.connections,
            p50_ns: any(times.value_at_quantile(0.5)),
            p99_ns: any(times.value_at_quantile(0.99)),
            max_ns: any(times.max()),
        }
    }
}
