//! Puts the threads' tallies together: totals, the series, the log, and the lines of progress. It runs
//! beside the hot loops and never inside one.

use std::collections::BTreeMap;

use hdrhistogram::Histogram as HdrHistogram;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::histogram::{Histogram, hdr};
use crate::ledger::INTERVAL_NS;
use crate::outcome::{Outcome, Outcomes};
use crate::phase::{Course, Phase};
use crate::plan::Plan;
use crate::record::{HistogramRecord, Histograms, Log, Series, WarmUpRecord, encoded};
use crate::shape::Shape;
use crate::shape::closed::Closed;
use crate::spool::Spool;
use crate::tally::{Counts, TIMES, Tally, Time};
use crate::timetable::Left;

/// Intervals of the series to one of the log, where its shape has no course.
const INTERVALS_LOGGED_AS_ONE: u64 = 10;
/// What a ramp does is read along its course, in so many pieces as long as those are no longer than that.
const PIECES_OF_A_RAMP: u64 = 30;
/// Intervals that a line of progress looks back on.
const INTERVALS_SHOWN: usize = 10;

/// One interval of the series, over all threads.
struct Interval {
    ends_at_ns: u64,
    ok: u64,
    failed: u64,
    scheduled: u64,
    connections: u64,
    response_time: Histogram,
    engine_lateness: Histogram,
    /// Threads whose tally has come.
    heard: usize,
}

/// An interval whose threads have all been heard.
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

/// Sorts the warm-up before the measured phase, and intervals by number.
type Key = (bool, u64);

pub struct Collector {
    threads: usize,
    is_open: bool,
    logged_as_one: u64,
    pub outcomes: Outcomes,
    pub counts: Counts,
    pub warm_up: WarmUpRecord,
    pub tls_fault: Option<String>,
    times: [HdrHistogram<u64>; TIMES],
    open_intervals: BTreeMap<Key, Interval>,
    /// The last ones; those before are in the spool.
    recent: BTreeMap<Key, Row>,
    rows: Spool<(Key, Row)>,
    /// What goes into the log's present interval, and which that is.
    logged: (u64, HdrHistogram<u64>),
    log: Spool<(u64, String)>,
}

impl Collector {
    pub fn new(plan: &Plan) -> Self {
        Self {
            threads: plan.threads,
            is_open: plan.shape.is_open(),
            logged_as_one: logged_as_one(plan),
            outcomes: Outcomes::default(),
            counts: Counts::default(),
            warm_up: WarmUpRecord { scheduled: 0, outcomes: Outcomes::default() },
            tls_fault: None,
            times: std::array::from_fn(|_| hdr()),
            open_intervals: BTreeMap::new(),
            recent: BTreeMap::new(),
            rows: Spool::open(),
            logged: (0, hdr()),
            log: Spool::open(),
        }
    }

    pub fn add(&mut self, tally: &Tally) {
        if self.tls_fault.is_none() {
            self.tls_fault.clone_from(&tally.tls_fault);
        }
        self.add_to_totals(tally);
        self.add_to_series(tally);
    }

    fn add_to_totals(&mut self, tally: &Tally) {
        self.warm_up.scheduled += tally.stragglers_scheduled;
        // They were scheduled in a tally that the same thread has handed over before.
        self.warm_up.scheduled -= tally.taken_over;
        self.warm_up.outcomes += tally.stragglers;
        if tally.phase == Phase::WarmUp {
            self.warm_up.scheduled += tally.counts.scheduled;
            self.warm_up.outcomes += tally.outcomes;
            // Connections of the warm-up serve on in the measured phase.
            self.counts.connections_opened += tally.counts.connections_opened;
            tally.times.of(Time::Connect).add_to(&mut self.times[Time::Connect as usize]);
            return;
        }
        self.outcomes += tally.outcomes;
        self.counts += tally.counts;
        for (total, part) in self.times.iter_mut().zip(tally.times.each()) {
            part.add_to(total);
        }
    }

    fn add_to_series(&mut self, tally: &Tally) {
        let key = (tally.phase == Phase::Measured, tally.index);
        let interval = self.open_intervals.entry(key).or_insert_with(Interval::new);
        interval.add(tally);
        if interval.heard >= self.threads {
            self.close_interval(key);
        }
    }

    fn close_interval(&mut self, key: Key) {
        let Some(interval) = self.open_intervals.remove(&key) else {
            return;
        };
        if let (true, index) = key {
            let entry = index / self.logged_as_one;
            if entry != self.logged.0 {
                self.close_log_entry();
                self.logged.0 = entry;
            }
            interval.response_time.add_to(&mut self.logged.1);
        }
        self.recent.insert(key, interval.row());
        if self.recent.len() > INTERVALS_SHOWN
            && let Some(first) = self.recent.pop_first()
        {
            self.rows.push(&first);
        }
    }

    fn close_log_entry(&mut self) {
        let (entry, times) = &mut self.logged;
        if !times.is_empty() {
            self.log.push(&(*entry, encoded(times)));
            times.reset();
        }
    }

    /// Counts the requests of a closed shape that either phase was to send by number and never did.
    pub fn count_never_issued(&mut self, course: &Course) {
        self.count_left(Left {
            warm_up: course.never_issued(Phase::WarmUp),
            measured: course.never_issued(Phase::Measured),
        });
    }

    /// Counts requests that were due, or to be sent by number, and that no thread took up.
    pub fn count_left(&mut self, left: Left) {
        self.warm_up.scheduled += left.warm_up;
        *self.warm_up.outcomes.of(Outcome::NotSent) += left.warm_up;
        self.counts.scheduled += left.measured;
        self.counts.not_sent.too_late += left.measured;
        *self.outcomes.of(Outcome::NotSent) += left.measured;
    }

    /// One line for whoever watches: the last full second.
    pub fn progress(&self, course: &Course, now_ns: u64) -> String {
        let phase = course.phase(now_ns).unwrap_or(Phase::Measured);
        let last: Vec<&Row> = self.recent.values().rev().collect();
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
            "max_ns": worst(|row| row.max_ns),
            "connections": last.first().map_or(0, |row| row.connections),
            "left_s": course.ends_at_ns().saturating_sub(now_ns) as f64 / 1e9,
        });
        line.to_string()
    }

    pub fn histograms(&self) -> Histograms {
        let of = |time| HistogramRecord::of(&self.times[time as usize]);
        let of_open = |time| self.is_open.then(|| of(time));
        Histograms {
            response_time: of(Time::Response),
            service_time: of_open(Time::Service),
            time_to_first_byte: of(Time::FirstByte),
            lateness: of_open(Time::Lateness),
            engine_lateness: of(Time::EngineLateness),
            connect_time: of(Time::Connect),
            failed: of(Time::Failed),
            timed_out: of(Time::TimedOut),
            unfinished_age: of(Time::UnfinishedAge),
            carried_over: of(Time::CarriedOver),
            taken_over: of(Time::TakenOver),
        }
    }

    /// The series and the log, once every thread has handed in its last tally.
    pub fn series(&mut self, course: &Course) -> (Series, Log) {
        // A thread that was held up through a whole interval has no tally for it.
        let unheard: Vec<Key> = self.open_intervals.keys().copied().collect();
        for key in unheard {
            self.close_interval(key);
        }
        self.close_log_entry();
        let mut series = Series { interval_ms: INTERVAL_NS / 1_000_000, ..Series::default() };
        let rows: BTreeMap<Key, Row> =
            self.rows.rows().into_iter().chain(std::mem::take(&mut self.recent)).collect();
        for ((measured, index), row) in rows {
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
            series.scheduled.push(row.scheduled);
            series.engine_late_p99_ns.push(row.engine_late_p99_ns);
            series.connections.push(row.connections);
        }
        (series, logged(self.log.rows(), self.logged_as_one, course))
    }
}

/// Intervals of the series to one of the log.
fn logged_as_one(plan: &Plan) -> u64 {
    match &plan.shape {
        Shape::Closed(Closed { ramp: Some(_), .. }) => {
            (plan.stop.within_ns / INTERVAL_NS).div_ceil(PIECES_OF_A_RAMP).clamp(1, INTERVALS_LOGGED_AS_ONE)
        }
        _ => INTERVALS_LOGGED_AS_ONE,
    }
}

fn logged(entries: Vec<(u64, String)>, intervals: u64, course: &Course) -> Log {
    let each_ns = INTERVAL_NS * intervals;
    let measured_ns = course.ends_at_ns() - course.measured_from_ns();
    let mut log = Log { interval_ms: each_ns / 1_000_000, ..Log::default() };
    for (entry, encoded) in entries {
        let at_ns = entry * each_ns;
        log.at_ns.push(at_ns);
        log.duration_ns.push(each_ns.min(measured_ns.saturating_sub(at_ns)));
        log.response_time.push(encoded);
    }
    log
}

impl Interval {
    fn new() -> Self {
        Self {
            ends_at_ns: 0,
            ok: 0,
            failed: 0,
            scheduled: 0,
            connections: 0,
            response_time: Histogram::new(),
            engine_lateness: Histogram::new(),
            heard: 0,
        }
    }

    fn add(&mut self, tally: &Tally) {
        self.ends_at_ns = self.ends_at_ns.max(tally.ends_at_ns);
        self.ok += tally.outcomes.ok;
        self.failed += tally.outcomes.failed();
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
