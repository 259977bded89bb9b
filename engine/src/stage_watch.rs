//! The stages of requests in flight on the trial's clock: when to read them, how many requests each reading draws, and
//! what the readings come to. They have a thread of their own: a reading must come at its instant, whatever else is
//! being read or added up, and whatever the requests do.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::board::Board;
use crate::clock::now_ns;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::own_cpu_ns;
use crate::probe::stages::{Reading, Stages};
use crate::random;
use crate::record::StageRecord;
use crate::spool::Spool;

/// The mean time from one reading to the next, unless readings are too expensive for it.
const EVERY_NS: f64 = 1e9 / 15.0;
/// After a reading, at least this many times its cost goes by on average: they take half a percent of a core at most.
const REST: f64 = 200.0;
/// The part of the time between two readings that is random, at least. Without it they might keep step with the load.
const RANDOM_PART: f64 = 0.25;
/// How long a reading should take. Meanwhile it may stop a thread of the load, and what it sees is from several
/// instants.
const READING_NS: u64 = 100_000;
const DRAWN_LEAST: u64 = 8;
const DRAWN_MOST: u64 = 64;
const DRAWN_FIRST: u64 = 16;

/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const WHEN_PURPOSE: u64 = 0x100c_0000;
const WHOM_PURPOSE: u64 = 0x100c_0001;

/// The stages of one trial.
pub struct StageWatch {
    /// Or why there is none.
    stages: Result<Stages, String>,
    gaps: Gaps,
    rows: Spool<Row>,
}

/// A reading: when it began since the first instant, how much later than due, what it cost, and what it found.
type Row = (u64, u64, u64, Reading);

impl StageWatch {
    /// `boards`: those of all workers.
    pub fn open(plan: &Plan, boards: Vec<Arc<Board>>) -> Self {
        let random = random::seeded(plan.seed, WHOM_PURPOSE);
        Self {
            stages: Stages::open(&plan.address, &plan.sources, boards, random),
            gaps: Gaps::new(random::seeded(plan.seed, WHEN_PURPOSE)),
            rows: Spool::open(),
        }
    }

    /// Reads until the trial is over or `ended` is closed. `course` must have begun.
    pub fn run(mut self, course: &Course, ended: &Receiver<()>) -> Self {
        let mut due_ns = course.began_ns();
        while self.stages.is_ok() {
            // Counted from when the last reading was due: its lateness depends on the load, and this must not.
            due_ns = now_ns().max(due_ns + self.gaps.next_ns());
            let wait = Duration::from_nanos(due_ns.saturating_sub(now_ns()));
            let at_ns = match ended.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => now_ns(),
                _ => break,
            };
            if at_ns >= course.ends_at_ns() {
                break;
            }
            self.take(due_ns, at_ns, course.began_ns());
        }
        self
    }

    fn take(&mut self, due_ns: u64, at_ns: u64, began_ns: u64) {
        let Ok(stages) = &mut self.stages else {
            return;
        };
        let began_cpu_ns = own_cpu_ns();
        match stages.read(self.gaps.draws()) {
            Ok(reading) => {
                let cost_ns = own_cpu_ns() - began_cpu_ns;
                self.gaps.spent(cost_ns, reading.drawn);
                let since_ns = at_ns.saturating_sub(began_ns);
                self.rows.push(&(since_ns, at_ns.saturating_sub(due_ns), cost_ns, reading));
            }
            Err(error) => self.stages = Err(format!("sock_diag failed during the trial: {error}")),
        }
    }

    pub fn record(self) -> StageRecord {
        let why = match &self.stages {
            Ok(stages) => stages.doubt().filter(|_| self.gaps.drawn > 0),
            Err(why) => Some(why.clone()),
        };
        if let Some(why) = why {
            return StageRecord::unread(why);
        }
        let mut record = StageRecord::default();
        self.rows.rows().iter().for_each(|row| record.push(row));
        record
    }
}

impl StageRecord {
    /// Nothing was read; `why` not.
    pub fn unread(why: String) -> Self {
        Self { why: Some(why), ..Self::default() }
    }

    fn push(&mut self, (at_ns, late_ns, cost_ns, reading): &Row) {
        self.at_ns.push(*at_ns);
        self.late_ns.push(*late_ns);
        self.cost_ns.push(*cost_ns);
        self.in_flight.push(reading.in_flight);
        self.drawn.push(reading.drawn);
        self.not_accepted.push(reading.not_accepted);
        self.unsent.push(reading.unsent);
        self.unread.push(reading.unread);
        self.inside.push(reading.inside);
        self.returning.push(reading.returning);
        self.thrown_away.push(reading.thrown_away);
    }
}

/// The time between readings, and how many requests each draws. Both depend on the mean cost of all readings so far and
/// not on what the last one found: if a reading of requests that cost more were followed by a longer pause, there would
/// be fewer readings of such requests.
struct Gaps {
    random: Xoshiro256PlusPlus,
    readings: u64,
    drawn: u64,
    cost_ns: u64,
}

impl Gaps {
    fn new(random: Xoshiro256PlusPlus) -> Self {
        Self { random, readings: 0, drawn: 0, cost_ns: 0 }
    }

    fn spent(&mut self, cost_ns: u64, drawn: u64) {
        self.readings += 1;
        self.drawn += drawn;
        self.cost_ns += cost_ns;
    }

    fn next_ns(&mut self) -> u64 {
        let rest_ns = REST * self.cost_ns as f64 / self.readings.max(1) as f64;
        let random_ns = (EVERY_NS - rest_ns).max(RANDOM_PART * EVERY_NS);
        (rest_ns.max(EVERY_NS - random_ns) + random_ns * random::exponential(&mut self.random)) as u64
    }

    fn draws(&self) -> usize {
        let fitting = (READING_NS * self.drawn).checked_div(self.cost_ns).unwrap_or(DRAWN_FIRST);
        let draws = if self.drawn == 0 { DRAWN_FIRST } else { fitting };
        draws.clamp(DRAWN_LEAST, DRAWN_MOST) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps() -> Gaps {
        Gaps::new(random::seeded(1, WHEN_PURPOSE))
    }

    /// Plays readings for ten minutes. Returns how many there were a second, and the share of the time that they took.
    fn play(cost_ns: impl Fn(usize) -> u64) -> (f64, f64) {
        let (mut gaps, mut now_ns, mut spent_ns, mut readings) = (gaps(), 0, 0, 0);
        while now_ns < 600_000_000_000 {
            now_ns += gaps.next_ns();
            let draws = gaps.draws();
            gaps.spent(cost_ns(draws), draws as u64);
            spent_ns += cost_ns(draws);
            readings += 1;
        }
        (f64::from(readings) / 600.0, spent_ns as f64 / now_ns as f64)
    }

    #[test]
    fn cheap_readings_come_fifteen_times_a_second() {
        let (per_s, share) = play(|draws| 3_000 * draws as u64);
        assert!((14.0..16.0).contains(&per_s), "{per_s}");
        assert!(share < 0.005, "{share}");
    }

    #[test]
    fn expensive_readings_come_less_often() {
        let (per_s, share) = play(|_| 3_000_000);
        assert!(per_s < 2.0 && share < 0.005_01, "{per_s} {share}");
    }

    #[test]
    fn a_reading_draws_as_many_requests_as_take_a_tenth_of_a_millisecond() {
        let after = |cost_ns: u64, drawn| {
            let mut gaps = gaps();
            gaps.spent(cost_ns, drawn);
            gaps.draws()
        };
        assert_eq!(gaps().draws(), 16);
        assert_eq!((after(1_000, 10), after(50_000, 10), after(1_000_000, 10)), (64, 20, 8));
        assert_eq!((after(5_000, 0), after(0, 5)), (16, 16));
    }

    #[test]
    fn the_time_between_readings_is_random() {
        let mut gaps = gaps();
        let times: Vec<f64> = (0..10_000).map(|_| gaps.next_ns() as f64).collect();
        let mean = times.iter().sum::<f64>() / 1e4;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / 1e4;
        assert!((mean / EVERY_NS - 1.0).abs() < 0.05, "{mean}");
        // An exponential distribution has the same standard deviation as mean.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{variance} {mean}");
    }
}
