//! The intervals of a trial, over all threads. The series has a row for each interval; the log has a histogram for
//! several intervals together. In a long trial a later row is of several intervals, too, and a histogram of more: they are
//! merged before quantiles are taken, so each row says what is true of all of it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use hdrhistogram::Histogram as HdrHistogram;

use super::interval::{Interval, Row};
use crate::histogram::hdr;
use crate::ledger::INTERVAL_NS;
use crate::phase::{Course, Phase};
use crate::plan::Plan;
use crate::record::{Log, Series, encoded};
use crate::spool::Spool;
use crate::tally::Tally;
use crate::thinning;

/// The number of intervals that one entry of the log covers, unless the shape is a ramp.
const INTERVALS_LOGGED_AS_ONE: u64 = 10;
/// The figures of a ramp are read along its course. So an entry of its log covers fewer intervals if the ramp is
/// short: as few as there can be if the log is to have at most this many entries.
const PIECES_OF_A_RAMP: u64 = 30;
/// The most intervals that a line of progress covers.
const INTERVALS_SHOWN: usize = 10;
/// The most entries of the log, and rows of several intervals, that are kept for threads that are behind. If there are
/// more, the first is written.
const ENTRIES_OPEN: usize = 3;
/// The most intervals that are kept for threads that are behind. What comes later counts in the first that is kept.
const INTERVALS_OPEN: usize = 128;
/// The first 32,768 intervals have a row of the series each, and the first 2,048 entries of the log are as short as entries
/// are.
const FINE: u64 = thinning::FINE;
const FINE_ENTRIES: u64 = FINE / 16;

/// Whether the interval is of the measured phase, and its number in its phase. By this key the warm-up comes before
/// the measured phase.
type Key = (bool, u64);

pub struct Intervals {
    threads: usize,
    logged_as_one: u64,
    fine: u64,
    fine_entries: u64,
    /// Intervals for which tallies are still to come.
    open: BTreeMap<Key, Interval>,
    /// The last interval that was closed before all its tallies had come.
    given_up: Option<Key>,
    /// The last closed intervals, at most `INTERVALS_SHOWN`.
    recent: BTreeMap<Key, Row>,
    /// The last rows that are of several intervals, by their first. The earlier ones are in `rows`.
    merging: BTreeMap<Key, Interval>,
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
        // The figures of several parts are taken from the sums of their histograms. So there is one for each row.
        if plan.part.is_whole() {
            Self::of(plan.threads, logged_as_one(plan), FINE_ENTRIES)
        } else {
            Self::of(plan.threads, 1, FINE)
        }
    }

    /// Returns those of the next turn, of which nothing has come.
    pub fn next(&self) -> Self {
        Self::of(self.threads, self.logged_as_one, self.fine_entries)
    }

    fn of(threads: usize, logged_as_one: u64, fine_entries: u64) -> Self {
        Self {
            threads,
            logged_as_one,
            fine: FINE,
            fine_entries,
            open: BTreeMap::new(),
            given_up: None,
            recent: BTreeMap::new(),
            merging: BTreeMap::new(),
            rows: Spool::open(),
            entries: BTreeMap::new(),
            log: Spool::open(),
        }
    }

    pub fn add(&mut self, tally: &Tally) {
        let mut key = (tally.phase == Phase::Measured, tally.index);
        if self.given_up.is_some_and(|given_up| key <= given_up)
            && let Some((&first, _)) = self.open.first_key_value()
        {
            key = first;
        }
        let interval = self.open.entry(key).or_default();
        interval.add(tally);
        if interval.heard >= self.threads {
            self.close(key);
        } else if self.open.len() > INTERVALS_OPEN
            && let Some((&first, _)) = self.open.first_key_value()
        {
            self.given_up = Some(first);
            self.close(first);
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
        let (is_measured, index) = key;
        if is_measured {
            let number = thinning::first(index / self.logged_as_one, self.fine_entries);
            interval.response_time.add_to(self.entries.entry(number).or_insert_with(hdr));
            if self.entries.len() > ENTRIES_OPEN
                && let Some((entry, times)) = self.entries.pop_first()
            {
                self.write_entry(entry, &times);
            }
        }
        let row = interval.row(1);
        let length = thinning::apart(index, self.fine);
        if length == 1 {
            self.rows.push(&(key, row.clone()));
        } else {
            let first = (is_measured, thinning::first(index, self.fine));
            self.merging.entry(first).or_default().merge(&interval);
            if self.merging.len() > ENTRIES_OPEN {
                self.write_first();
            }
        }
        self.recent.insert(key, row);
        if self.recent.len() > INTERVALS_SHOWN {
            self.recent.pop_first();
        }
    }

    /// Writes the first of the rows that are of several intervals.
    fn write_first(&mut self) {
        if let Some((key, interval)) = self.merging.pop_first() {
            self.rows.push(&(key, interval.row(thinning::apart(key.1, self.fine))));
        }
    }

    fn write_entry(&mut self, entry: u64, times: &HdrHistogram<u64>) {
        if !times.is_empty() {
            self.log.push(&(entry, encoded(times)));
        }
    }

    /// Returns the series and the log of the course, or of its present turn. Every thread must have handed in its last tally.
    pub fn finish(mut self, course: &Course) -> (Series, Log) {
        // An interval is still open if a thread did not run in it, as that thread has no tally for it.
        while let Some((&key, _)) = self.open.first_key_value() {
            self.close(key);
        }
        for (entry, times) in std::mem::take(&mut self.entries) {
            self.write_entry(entry, &times);
        }
        while !self.merging.is_empty() {
            self.write_first();
        }
        let mut series = Series { interval_ms: INTERVAL_NS / 1_000_000, ..Series::default() };
        for ((measured, index), row) in one_for_each(self.rows.rows()) {
            let phase = if measured { Phase::Measured } else { Phase::WarmUp };
            let begins_ns = course.began_at_ns(phase) + index * INTERVAL_NS;
            if !course.counts(begins_ns) {
                continue;
            }
            let ends_ns = row.ends_at_ns.clamp(begins_ns, begins_ns + row.length * INTERVAL_NS);
            series.at_ns.push(course.at_ns(begins_ns));
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
        (series, self.logged(course))
    }

    /// Returns the log, in order. If a thread was far behind, an entry was written in several parts, which are merged.
    fn logged(&self, course: &Course) -> Log {
        let mut entries = self.log.rows();
        entries.sort_by_key(|&(entry, _)| entry);
        let each_ns = INTERVAL_NS * self.logged_as_one;
        let measured_ns = course.ends_at_ns() - course.measured_from_ns();
        let mut log = Log { interval_ms: each_ns / 1_000_000, ..Log::default() };
        for parts in entries.chunk_by(|(one, _), (next, _)| one == next) {
            let (at_ns, length) = (parts[0].0 * each_ns, thinning::apart(parts[0].0, self.fine_entries));
            log.at_ns.push(course.measured_before_ns() + at_ns);
            log.duration_ns.push((length * each_ns).min(measured_ns.saturating_sub(at_ns)));
            log.response_time.push(merged(parts));
        }
        log
    }
}

impl Series {
    /// Adds the rows of the next turn.
    pub fn append(&mut self, next: Self) {
        self.interval_ms = next.interval_ms;
        self.at_ns.extend(next.at_ns);
        self.duration_ns.extend(next.duration_ns);
        self.phase.extend(next.phase);
        self.ok.extend(next.ok);
        self.failed.extend(next.failed);
        self.p50_ns.extend(next.p50_ns);
        self.p99_ns.extend(next.p99_ns);
        self.max_ns.extend(next.max_ns);
        self.scheduled.extend(next.scheduled);
        self.engine_late_p99_ns.extend(next.engine_late_p99_ns);
        self.connections.extend(next.connections);
    }
}

impl Log {
    /// Adds the histograms of the next turn.
    pub fn append(&mut self, next: Self) {
        self.interval_ms = next.interval_ms;
        self.at_ns.extend(next.at_ns);
        self.duration_ns.extend(next.duration_ns);
        self.response_time.extend(next.response_time);
    }
}

/// Returns the rows in order. If a thread was far behind, a row was written in several parts: its quantiles are then those of
/// the part with most answers.
fn one_for_each(rows: Vec<(Key, Row)>) -> BTreeMap<Key, Row> {
    let mut all: BTreeMap<Key, Row> = BTreeMap::new();
    for (key, row) in rows {
        match all.entry(key) {
            Entry::Vacant(place) => {
                place.insert(row);
            }
            Entry::Occupied(mut place) => place.get_mut().merge(row),
        }
    }
    all
}

/// Returns the number of intervals that one entry of the log covers.
fn logged_as_one(plan: &Plan) -> u64 {
    if plan.shape.is_ramp() {
        (plan.stop.within_ns / INTERVAL_NS).div_ceil(PIECES_OF_A_RAMP).clamp(1, INTERVALS_LOGGED_AS_ONE)
    } else {
        INTERVALS_LOGGED_AS_ONE
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use crate::spec::{PartSpec, PauseKind, ShapeSpec, StopSpec, TrialSpec};

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

    #[test]
    fn of_a_part_each_row_has_its_histogram() {
        let text = include_str!("../../../contract/golden/spec.json");
        let mut spec: TrialSpec = serde_json::from_str(text).unwrap();
        (spec.warm_up, spec.stop) = (None, StopSpec::Duration { duration_s: 60.0 });
        spec.part = Some(PartSpec { index: 1, of: 2 });
        (spec.threads, spec.shape) = (2, ramp());
        let plan = spec.plan().map_err(|failure| failure.error).unwrap();
        let course = Course::new(None, plan.stop);
        course.begin(0);
        let mut intervals = Intervals { fine: 32, fine_entries: 32, ..Intervals::new(&plan) };
        (0..600).flat_map(varied).for_each(|tally| intervals.add(&tally));
        let (series, log) = intervals.finish(&course);
        assert_eq!((&log.at_ns, &log.duration_ns), (&series.at_ns, &series.duration_ns));
        assert_eq!(counts(&log), series.ok);
        assert_eq!((Intervals::new(&plan).fine, Intervals::new(&plan).next().fine_entries), (FINE, FINE));
    }

    fn ramp() -> ShapeSpec {
        ShapeSpec::Ramp {
            from_connections: 0,
            to_connections: 10,
            over_s: 60.0,
            pause_ms: 0.0,
            pause: PauseKind::Fixed,
        }
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
    /// Each interval has an answer of another time, from either thread.
    fn varied(index: u64) -> [Tally; 2] {
        [0, 1].map(|thread| {
            let mut tally = tally(index, 0);
            tally.succeed(0, took_ns(index, thread), false);
            tally.connections_open = index;
            tally
        })
    }

    fn took_ns(index: u64, thread: u64) -> u64 {
        (1 + (2 * index + thread) * 7_919 % 1_009) * MS
    }

    #[test]
    fn later_rows_of_a_long_trial_are_longer_and_say_what_is_true_of_all_of_it() {
        let (plan, number) = (plan(), 600);
        let course = Course::new(None, plan.stop);
        course.begin(0);
        course.stop(number * INTERVAL_NS);
        let mut intervals = Intervals { fine: 32, fine_entries: 4, ..Intervals::new(&plan) };
        for index in 0..number {
            varied(index).iter().for_each(|tally| intervals.add(tally));
        }
        assert_eq!(intervals.recent.len(), INTERVALS_SHOWN, "what is shown meanwhile is of single intervals");
        let (series, log) = intervals.finish(&course);
        assert_eq!(series.at_ns.len(), 32 + 16 * 4 + 3);
        assert_eq!(series.ok.iter().sum::<u64>(), 2 * number);
        let mut ended_ns = 0;
        for row in 0..series.at_ns.len() {
            assert_eq!(series.at_ns[row], ended_ns, "no time is left out");
            ended_ns += series.duration_ns[row];
            let within = (series.at_ns[row] / INTERVAL_NS)..(ended_ns / INTERVAL_NS);
            let mut times = Histogram::new();
            within
                .clone()
                .for_each(|index| [0, 1].iter().for_each(|&thread| _ = times.record(took_ns(index, thread))));
            assert_eq!(series.ok[row], 2 * (within.end - within.start));
            assert_eq!(series.p50_ns[row], times.quantile_ns(0.5));
            assert_eq!(series.p99_ns[row], times.quantile_ns(0.99));
            assert_eq!(series.max_ns[row], times.quantile_ns(1.0));
            assert_eq!(series.connections[row], 2 * (within.end - 1), "those that were open at its end");
        }
        assert_eq!(ended_ns, number * INTERVAL_NS);
        let mut logged_ns = 0;
        for (&at_ns, &long_ns) in log.at_ns.iter().zip(&log.duration_ns) {
            assert_eq!(at_ns, logged_ns);
            logged_ns += long_ns;
        }
        let answers: Vec<u64> = counts(&log);
        assert_eq!((logged_ns, answers.iter().sum::<u64>()), (number * INTERVAL_NS, 2 * number));
        assert_eq!(answers.len(), 4 + 2 * 3 + 1 + 1);
        assert!(answers.iter().zip(&log.duration_ns).all(|(&each, &ns)| each == 2 * ns / INTERVAL_NS));
    }

    #[test]
    fn of_a_thread_that_hands_in_nothing_no_more_intervals_are_kept_open_than_a_few_and_all_count() {
        let plan = plan();
        let course = Course::new(None, plan.stop);
        course.begin(0);
        course.stop(60_000 * MS);
        let mut intervals = Intervals::new(&plan);
        for index in 0..600 {
            intervals.add(&tally(index, 1));
            assert!(intervals.open.len() <= INTERVALS_OPEN, "{}", intervals.open.len());
        }
        // In the end it hands in what it had begun with.
        (0..5).for_each(|index| intervals.add(&tally(index, 100)));
        let (series, log) = intervals.finish(&course);
        assert_eq!((series.ok.iter().sum::<u64>(), series.at_ns.len()), (1_100, 600));
        assert_eq!(counts(&log).iter().sum::<u64>(), 1_100);
    }
}
