//! The intervals of a trial, over all threads. The series has a row for each interval; the log has a histogram for
//! several intervals together.

use std::collections::BTreeMap;

use hdrhistogram::Histogram as HdrHistogram;
use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, hdr};
use crate::ledger::INTERVAL_NS;
use crate::phase::{Course, Phase};
use crate::plan::Plan;
use crate::record::{Log, Series, encoded};
use crate::spool::Spool;
use crate::tally::{Tally, Time};

/// The number of intervals that one entry of the log covers, unless the shape is a ramp.
const INTERVALS_LOGGED_AS_ONE: u64 = 10;
/// The figures of a ramp are read along its course. So an entry of its log covers fewer intervals if the ramp is
/// short: as few as there can be if the log is to have at most this many entries.
const PIECES_OF_A_RAMP: u64 = 30;
/// The most intervals that a line of progress covers.
const INTERVALS_SHOWN: usize = 10;
/// The most entries of the log that are kept for threads that are behind. If there are more, the first is written.
const ENTRIES_OPEN: usize = 3;

/// One interval of the series, over all threads.
#[derive(Default)]
struct Interval {
    ends_at_ns: u64,
    ok: u64,
    failed: u64,
    scheduled: u64,
    connections: u64,
    response_time: Histogram,
    engine_lateness: Histogram,
    /// The number of tallies that have come: one comes from each thread.
    heard: usize,
}

/// A closed interval, as it is stored.
#[derive(Serialize, Deserialize)]
struct Row {
    ends_at_ns: u64,
    ok: u64,
    failed: u64,
    scheduled: u64,
    connections: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    engine_late_p99_ns: Option<u64>,
}

/// Whether the interval is of the measured phase, and its number in its phase. By this key the warm-up comes before
/// the measured phase.
type Key = (bool, u64);

pub struct Intervals {
    threads: usize,
    logged_as_one: u64,
    /// Intervals for which tallies are still to come.
    open: BTreeMap<Key, Interval>,
    /// The last closed intervals, at most `INTERVALS_SHOWN`. The earlier ones are in `rows`.
    recent: BTreeMap<Key, Row>,
    rows: Spool<(Key, Row)>,
    /// The last entries of the log, by number. The earlier ones are in `log`.
    entries: BTreeMap<u64, HdrHistogram<u64>>,
    log: Spool<(u64, String)>,
}

/// The figures of the last closed intervals.
#[derive(Default)]
pub struct Recent {
    /// Over all of these intervals.
    pub throughput_per_s: f64,
    /// Of the last interval.
    pub p50_ns: Option<u64>,
    /// The highest of these intervals' 99th percentiles.
    pub p99_ns: Option<u64>,
    /// The longest time of all of these intervals.
    pub max_ns: Option<u64>,
    /// At the end of the last interval.
    pub connections: u64,
}

impl Intervals {
    pub fn new(plan: &Plan) -> Self {
        Self {
            threads: plan.threads,
            logged_as_one: logged_as_one(plan),
            open: BTreeMap::new(),
            recent: BTreeMap::new(),
            rows: Spool::open(),
            entries: BTreeMap::new(),
            log: Spool::open(),
        }
    }

    pub fn add(&mut self, tally: &Tally) {
        let key = (tally.phase == Phase::Measured, tally.index);
        let interval = self.open.entry(key).or_default();
        interval.add(tally);
        if interval.heard >= self.threads {
            self.close(key);
        }
    }

    pub fn recent(&self) -> Recent {
        let Some(last) = self.recent.values().next_back() else {
            return Recent::default();
        };
        let rows = self.recent.values();
        let seconds = self.recent.len() as f64 * INTERVAL_NS as f64 / 1e9;
        Recent {
            throughput_per_s: rows.clone().map(|row| row.ok).sum::<u64>() as f64 / seconds,
            p50_ns: last.p50_ns,
            p99_ns: rows.clone().filter_map(|row| row.p99_ns).max(),
            max_ns: rows.filter_map(|row| row.max_ns).max(),
            connections: last.connections,
        }
    }

    fn close(&mut self, key: Key) {
        let Some(interval) = self.open.remove(&key) else {
            return;
        };
        if let (true, index) = key {
            let entry = self.entries.entry(index / self.logged_as_one).or_insert_with(hdr);
            interval.response_time.add_to(entry);
            if self.entries.len() > ENTRIES_OPEN
                && let Some((entry, times)) = self.entries.pop_first()
            {
                self.write_entry(entry, &times);
            }
        }
        self.recent.insert(key, interval.row());
        if self.recent.len() > INTERVALS_SHOWN
            && let Some(first) = self.recent.pop_first()
        {
            self.rows.push(&first);
        }
    }

    fn write_entry(&mut self, entry: u64, times: &HdrHistogram<u64>) {
        if !times.is_empty() {
            self.log.push(&(entry, encoded(times)));
        }
    }

    /// Returns the series and the log. Every thread must have handed in its last tally.
    pub fn finish(&mut self, course: &Course) -> (Series, Log) {
        // An interval is still open if a thread did not run in it, as that thread has no tally for it.
        while let Some((&key, _)) = self.open.first_key_value() {
            self.close(key);
        }
        for (entry, times) in std::mem::take(&mut self.entries) {
            self.write_entry(entry, &times);
        }
        let mut series = Series { interval_ms: INTERVAL_NS / 1_000_000, ..Series::default() };
        let rows: BTreeMap<Key, Row> =
            self.rows.rows().into_iter().chain(std::mem::take(&mut self.recent)).collect();
        for ((measured, index), row) in rows {
            let phase = if measured { Phase::Measured } else { Phase::WarmUp };
            let begins_ns = course.began_at_ns(phase) + index * INTERVAL_NS;
            let ends_ns = row.ends_at_ns.clamp(begins_ns, begins_ns + INTERVAL_NS);
            series.at_ns.push(begins_ns - course.began_ns());
            series.duration_ns.push(ends_ns - begins_ns);
            series.phase.push(phase);
            series.ok.push(row.ok);
            series.failed.push(row.failed);
            series.p50_ns.push(row.p50_ns);
            series.p99_ns.push(row.p99_ns);
            series.max_ns.push(row.max_ns);
            series.scheduled.push(row.scheduled);
            series.engine_late_p99_ns.push(row.engine_late_p99_ns);
            series.connections.push(row.connections);
        }
        (series, logged(self.log.rows(), self.logged_as_one, course))
    }
}

/// Returns the number of intervals that one entry of the log covers.
fn logged_as_one(plan: &Plan) -> u64 {
    if plan.shape.is_ramp() {
        (plan.stop.within_ns / INTERVAL_NS).div_ceil(PIECES_OF_A_RAMP).clamp(1, INTERVALS_LOGGED_AS_ONE)
    } else {
        INTERVALS_LOGGED_AS_ONE
    }
}

/// Returns the log, in order. `entries` are the numbers of entries and their histograms. If a thread was far behind,
/// an entry was written in several parts, which are merged.
fn logged(mut entries: Vec<(u64, String)>, intervals: u64, course: &Course) -> Log {
    entries.sort_by_key(|&(entry, _)| entry);
    let each_ns = INTERVAL_NS * intervals;
    let measured_ns = course.ends_at_ns() - course.measured_from_ns();
    let mut log = Log { interval_ms: each_ns / 1_000_000, ..Log::default() };
    for parts in entries.chunk_by(|(one, _), (next, _)| one == next) {
        let at_ns = parts[0].0 * each_ns;
        log.at_ns.push(at_ns);
        log.duration_ns.push(each_ns.min(measured_ns.saturating_sub(at_ns)));
        log.response_time.push(merged(parts));
    }
    log
}

fn merged(parts: &[(u64, String)]) -> String {
    if let [(_, only)] = parts {
        return only.clone();
    }
    let mut sum = hdr();
    for (_, part) in parts {
        sum.add(crate::record::decoded(part)).expect("both have the same bounds");
    }
    encoded(&sum)
}

impl Interval {
    fn add(&mut self, tally: &Tally) {
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

    fn row(&self) -> Row {
        Row {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::TrialSpec;

    const MS: u64 = 1_000_000;

    fn plan() -> Plan {
        let text = include_str!("../../../contract/golden/spec.json");
        let mut spec: TrialSpec = serde_json::from_str(text).unwrap();
        spec.threads = 2;
        spec.plan().map_err(|failure| failure.error).unwrap()
    }

    /// Returns what one thread counted in one measured interval: `ok` answers of a millisecond each.
    fn tally(index: u64, ok: u64) -> Tally {
        let mut tally = Tally::new(Phase::Measured, 1);
        tally.index = index;
        tally.ends_at_ns = (index + 1) * INTERVAL_NS;
        (0..ok).for_each(|_| tally.succeed(0, MS, false));
        tally
    }

    fn finished(tallies: impl IntoIterator<Item = Tally>) -> (Series, Log) {
        let plan = plan();
        let course = Course::new(None, plan.stop);
        course.begin(0);
        course.stop(60_000 * MS);
        let mut intervals = Intervals::new(&plan);
        tallies.into_iter().for_each(|tally| intervals.add(&tally));
        intervals.finish(&course)
    }

    fn counts(log: &Log) -> Vec<u64> {
        log.response_time.iter().map(|text| crate::record::decoded(text).len()).collect()
    }

    #[test]
    fn both_threads_make_one_row() {
        let (series, log) = finished((0..20).flat_map(|index| [tally(index, 1), tally(index, 2)]));
        assert_eq!(series.ok, [3; 20]);
        assert_eq!((&log.at_ns[..], counts(&log)), (&[0, 1_000 * MS][..], vec![30, 30]));
    }

    /// One of two threads does not run for ten seconds, and hands in no tallies for these intervals.
    #[test]
    fn a_thread_that_skips_intervals_leaves_the_log_in_order() {
        let busy = (0..120).map(|index| tally(index, 1));
        let held_up = (0..120).filter(|index| !(5..105).contains(index)).map(|index| tally(index, 1));
        let (series, log) = finished(busy.chain(held_up));
        assert_eq!(series.ok.iter().sum::<u64>(), 140);
        assert!(series.at_ns.is_sorted_by(|one, next| one < next), "{:?}", series.at_ns);
        let seconds: Vec<u64> = log.at_ns.iter().map(|ns| ns / (1_000 * MS)).collect();
        assert_eq!(seconds, (0..12).collect::<Vec<_>>(), "each second once, in order");
        assert_eq!(counts(&log), [15, 10, 10, 10, 10, 10, 10, 10, 10, 10, 15, 20]);
    }
}
