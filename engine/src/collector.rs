//! Adds up the tallies of all threads: totals, figures of each kind of request, the series, the log and the lines of
//! progress. It runs beside the hot loops and never inside one.

mod interval;
mod kinds;
mod series;
mod sparse;

use std::collections::BTreeMap;

use hdrhistogram::Histogram as HdrHistogram;

use self::kinds::Kinds;
use self::series::Intervals;
use crate::beginning::Beginning;
use crate::histogram::hdr;
use crate::outcome::{Outcome, Outcomes, Reasons};
use crate::phase::{Course, Phase};
use crate::plan::Plan;
use crate::progress_line::{MeasuredSoFar, ProgressLine};
use crate::record::{
    ArrivalClock, ArrivalRecord, HistogramRecord, Histograms, Log, Probes, ReasonRecord, Series, TrialRecord,
    WarmUpRecord,
};
use crate::shape::timetable::Left;
use crate::spec::{CONTRACT_VERSION, TrialSpec};
use crate::tally::{Counts, TIMES, Tally, Time};

pub struct Collector {
    is_open: bool,
    /// Whether the kernel stamps what arrives.
    stamped: bool,
    slower_than_ns: Vec<u64>,
    /// For each of these times, the number of requests that have been waiting for longer.
    waiting: Vec<i64>,
    outcomes: Outcomes,
    counts: Counts,
    warm_up: WarmUpRecord,
    /// The number of whole answers of the warm-up, by status.
    warm_up_statuses: BTreeMap<u16, u64>,
    tls_fault: Option<String>,
    reasons: Reasons,
    times: [HdrHistogram<u64>; TIMES],
    kinds: Kinds,
    /// Those of the present turn; what came before is in `series` and `log`.
    intervals: Intervals,
    series: Series,
    log: Log,
    /// Over the turns so far: the most users, and the fewest that got no answer.
    users: Option<(u64, u64)>,
}

impl Collector {
    pub fn new(plan: &Plan) -> Self {
        Self {
            is_open: plan.shape.is_open(),
            stamped: plan.stamped,
            slower_than_ns: plan.slower_than_ns.clone(),
            waiting: vec![0; plan.slower_than_ns.len()],
            outcomes: Outcomes::default(),
            counts: Counts::default(),
            warm_up: WarmUpRecord { scheduled: 0, outcomes: Outcomes::default() },
            warm_up_statuses: BTreeMap::new(),
            tls_fault: None,
            reasons: Reasons::default(),
            times: std::array::from_fn(|_| hdr()),
            kinds: Kinds::new(&plan.requests),
            intervals: Intervals::new(plan),
            series: Series::default(),
            log: Log::default(),
            users: None,
        }
    }

    pub fn add(&mut self, tally: &Tally) {
        if self.tls_fault.is_none() {
            self.tls_fault.clone_from(&tally.tls_fault);
        }
        self.kinds.add_examples(tally);
        self.add_to_totals(tally);
        self.intervals.add(tally);
    }

    fn add_to_totals(&mut self, tally: &Tally) {
        let is_warm_up = tally.phase == Phase::WarmUp;
        self.warm_up.scheduled += tally.stragglers_scheduled;
        self.warm_up.scheduled += if is_warm_up { tally.counts.scheduled } else { 0 };
        // The same thread counted these as scheduled in an earlier tally, of the warm-up.
        self.warm_up.scheduled -= tally.taken_over;
        self.warm_up.outcomes += tally.stragglers;
        if is_warm_up {
            self.warm_up.outcomes += tally.outcomes();
            for (status, count) in tally.kinds.counted().flat_map(|(_, kind)| kind.statuses.each()) {
                *self.warm_up_statuses.entry(status).or_default() += count;
            }
            // The measured phase uses connections that the warm-up opened.
            self.counts.connections_opened += tally.counts.connections_opened;
            tally.times.of(Time::Connect).add_to(&mut self.times[Time::Connect as usize]);
            return;
        }
        for (total, more) in self.waiting.iter_mut().zip(&tally.waiting) {
            *total += more;
        }
        self.outcomes += tally.outcomes();
        self.counts += tally.counts;
        self.reasons.add(&tally.reasons);
        self.kinds.add(tally);
        for (total, part) in self.times.iter_mut().zip(tally.times.each()) {
            part.add_to(total);
        }
    }

    /// Returns the number of requests of the measured phase that were sent or given up.
    pub fn scheduled(&self) -> u64 {
        self.counts.scheduled
    }

    /// Counts the requests of a closed shape that a phase was to send by number and never sent.
    pub fn count_never_issued(&mut self, course: &Course) {
        self.count_left(Left {
            warm_up: course.never_issued(Phase::WarmUp),
            measured: course.never_issued(Phase::Measured),
        });
    }

    /// Counts the requests that were due, or to be sent by number, and that no thread took.
    pub fn count_left(&mut self, left: Left) {
        self.warm_up.scheduled += left.warm_up;
        *self.warm_up.outcomes.of(Outcome::NotSent) += left.warm_up;
        self.counts.scheduled += left.measured;
        self.counts.not_sent.too_late += left.measured;
        *self.outcomes.of(Outcome::NotSent) += left.measured;
    }

    /// Returns a line of progress as of `now_ns`.
    pub fn progress(&self, course: &Course, now_ns: u64) -> String {
        let phase = course.phase(now_ns).unwrap_or(Phase::Measured);
        let last = self.intervals.recent();
        let total = |of: fn(&Outcomes) -> u64| of(&self.warm_up.outcomes) + of(&self.outcomes);
        let mut statuses = self.kinds.statuses();
        for (&status, &count) in &self.warm_up_statuses {
            *statuses.entry(status).or_default() += count;
        }
        let answers = &self.times[Time::Response as usize];
        let slower = self.slower_than_ns.iter().zip(&self.waiting).map(|(&ns, &waiting)| {
            answers.count_between(ns.saturating_add(1), u64::MAX).saturating_add_signed(waiting)
        });
        let line = ProgressLine {
            at_s: course.at_ns(now_ns) as f64 / 1e9,
            phase,
            ok: total(|outcomes| outcomes.ok),
            failed: total(Outcomes::failed),
            throughput_per_s: last.throughput_per_s,
            p50_ns: last.p50_ns,
            p99_ns: last.p99_ns,
            max_ns: last.max_ns,
            connections: last.connections,
            left_s: course.ends_at_ns().saturating_sub(now_ns) as f64 / 1e9,
            statuses,
            measured: MeasuredSoFar {
                seconds: (course.measured_before_ns() + now_ns.saturating_sub(course.measured_from_ns()))
                    as f64
                    / 1e9,
                scheduled: self.counts.scheduled,
                outcomes: self.outcomes,
                slower: slower.collect(),
            },
        };
        serde_json::to_string(&line).expect("a line of numbers and names is JSON")
    }

    fn histograms(&self) -> Histograms {
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

    /// Ends the course, or its present turn. Every thread must have handed in its last tally.
    pub fn end_turn(&mut self, course: &Course) {
        let next = self.intervals.next();
        let (series, log) = std::mem::replace(&mut self.intervals, next).finish(course);
        self.series.append(series);
        self.log.append(log);
        if course.measures() {
            // A user has a connection in each turn. Who is cut off in one may be answered in the next.
            let (users, unanswered) = self.users.unwrap_or((0, u64::MAX));
            self.users = Some((users.max(self.counts.users), unanswered.min(self.counts.users_unanswered)));
        } else {
            // The measured phase uses none of its connections.
            self.counts.connections_opened = 0;
            self.times[Time::Connect as usize].reset();
        }
        (self.counts.users, self.counts.users_unanswered) = (0, 0);
    }

    /// Returns the record. The course, or the last of its turns, must have ended.
    pub fn record(self, spec: TrialSpec, course: &Course, began: &Beginning, probes: Probes) -> TrialRecord {
        let histograms = self.histograms();
        let counts = self.counts;
        let (users, users_unanswered) = self.users.unwrap_or_default();
        TrialRecord {
            version: CONTRACT_VERSION,
            engine_version: env!("CARGO_PKG_VERSION").into(),
            load_host: None,
            load_hosts: Vec::new(),
            spec,
            began_unix_ns: began.unix_ns,
            began_monotonic_ns: Some(began.at_ns),
            warm_up_ns: course.warm_up_ns(),
            measured_ns: course.measured_ns(),
            scheduled: counts.scheduled,
            outcomes: self.outcomes,
            not_sent: counts.not_sent,
            retried: counts.retried,
            tls_fault: self.tls_fault,
            reasons: ReasonRecord::all(&self.reasons),
            bodies_hashed: self.kinds.bodies_hashed(),
            received_bytes: counts.received_bytes,
            sent_bytes: counts.sent_bytes,
            connections_opened: counts.connections_opened,
            connections_closed_by_server: counts.connections_closed_by_server,
            users,
            users_unanswered,
            users_waited_ns: counts.users_waited_ns,
            requests_waited_ns: counts.requests_waited_ns,
            requests: self.kinds.records(&histograms.response_time),
            arrivals: ArrivalRecord {
                clock: if self.stamped { ArrivalClock::Kernel } else { ArrivalClock::Engine },
                unstamped: counts.unstamped,
                held_ns: counts.held_ns,
            },
            histograms,
            series: self.series,
            log: self.log,
            warm_up: self.warm_up,
            probes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::Stop;

    const MS: u64 = 1_000_000;

    /// Returns the tally of an interval of one thread, with as many answers of each time as `times` says.
    fn tally(phase: Phase, outcomes: Outcomes, statuses: &[(u16, u64)], times: &[(u64, u64)]) -> Tally {
        let mut tally = Tally::new(phase, 1);
        for &(status, count) in statuses {
            (0..count).for_each(|_| tally.kinds.of(0).statuses.count(status));
        }
        for &(ns, count) in times {
            (0..count).for_each(|_| tally.succeed(0, ns, false));
        }
        tally.kinds.of(0).outcomes = outcomes;
        tally
    }

    /// The lab's tests read the same line. Numbers beside one another differ, so that none is taken for another.
    #[test]
    fn a_line_of_progress_is_the_golden_one() {
        let mut spec: TrialSpec =
            serde_json::from_str(include_str!("../../contract/golden/spec.json")).unwrap();
        spec.threads = 1;
        spec.progress.slower_than_ns = vec![5 * MS, 20 * MS];
        let mut collector = Collector::new(&spec.plan().map_err(|failure| failure.error).unwrap());
        let by_time = |ms: u64| Stop { requests: None, within_ns: ms * MS };
        let course = Course::new(Some(by_time(1_000)), by_time(10_000));
        course.begin(5_000 * MS);

        let before = Outcomes { ok: 100, reset: 1, ..Outcomes::default() };
        let mut warm_up = tally(Phase::WarmUp, before, &[(200, 100)], &[(MS, 100)]);
        warm_up.connections_open = 16;
        collector.add(&warm_up);
        let outcomes = Outcomes {
            ok: 200,
            wrong_status: 2,
            wrong_body: 3,
            refused: 4,
            reset: 5,
            closed_early: 6,
            connect_timeout: 7,
            timeout: 8,
            malformed: 9,
            not_sent: 10,
            unfinished: 0,
        };
        let times = [(2 * MS, 150), (8 * MS, 49), (30 * MS, 1)];
        let mut measured = tally(Phase::Measured, outcomes, &[(200, 203), (503, 2)], &times);
        measured.counts.scheduled = 284;
        measured.waiting = vec![12, 6];
        measured.connections_open = 32;
        collector.add(&measured);

        let golden = include_str!("../../contract/golden/progress.json");
        assert_eq!(collector.progress(&course, 6_500 * MS) + "\n", golden);
    }
}
