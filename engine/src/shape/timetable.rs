//! The one schedule of an open trial, laid out ahead of time. All threads take the next due request from it. It is a
//! ring of due times between one filler, on a thread of its own, and many takers. No thread locks, and no taker
//! waits.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::schedule::{Open, Schedule};

/// How far ahead due times are laid out. The filler is never away for nearly as long.
const AHEAD_NS: f64 = 1e9;
const LEAST_PLACES: usize = 1024;
const MOST_PLACES: usize = 1 << 22;
/// The number of due times that are laid out before takers see them, and before the first instant of a trial.
const PLACES_AT_ONCE: usize = 4096;
/// The filler sleeps until about this many requests have been taken. It may keep a taker from its core only for as
/// long as laying these out takes, which is a few microseconds.
const REQUESTS_PER_TURN: f64 = 256.0;
const SHORTEST_TURN_NS: f64 = 1e6;
const LONGEST_TURN_NS: f64 = 50e6;

/// Due times on the monotonic clock, in the order in which they are due.
pub struct Timetable {
    places: Box<[AtomicU64]>,
    filled: AtomicU64,
    taken: AtomicU64,
    ended: AtomicBool,
}

impl Timetable {
    pub fn new(shape: &Open) -> Self {
        let places = (shape.peak_per_ns() * AHEAD_NS) as usize;
        let places = places.clamp(LEAST_PLACES, MOST_PLACES).next_power_of_two();
        Self {
            places: (0..places).map(|_| AtomicU64::new(0)).collect(),
            filled: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }
    }

    /// Takes the next due time. Returns `None` if none is laid out now, or if the schedule has ended.
    #[inline]
    pub fn take(&self) -> Option<u64> {
        let mut next = self.taken.load(Relaxed);
        loop {
            if next >= self.filled.load(Acquire) {
                return None;
            }
            // Read the place before claiming it: it is filled again only after it was taken.
            let due_ns = self.place(next).load(Relaxed);
            match self.taken.compare_exchange_weak(next, next + 1, Release, Relaxed) {
                Ok(_) => return Some(due_ns),
                Err(present) => next = present,
            }
        }
    }

    /// Returns whether no more due times will be laid out.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Acquire)
    }

    #[inline]
    fn place(&self, number: u64) -> &AtomicU64 {
        &self.places[number as usize & (self.places.len() - 1)]
    }
}

/// Lays out a schedule in a timetable, and counts the requests that no thread took.
pub struct Filler {
    schedule: Schedule,
    began_ns: u64,
    warm_up_ends_ns: u64,
    /// The most requests of the measured phase.
    limit: Option<u64>,
    /// The number of requests of the measured phase that were laid out.
    measured: u64,
    turn: Duration,
}

/// The number of requests that came due and that no thread took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub warm_up: u64,
    pub measured: u64,
}

impl Filler {
    /// The filler of a trial that begins at `began_ns`, warms up for `warm_up_ns`, and measures `limit` requests at
    /// most.
    pub fn new(shape: &Open, began_ns: u64, warm_up_ns: u64, limit: Option<u64>, seed: u64) -> Self {
        let turn_ns = REQUESTS_PER_TURN / shape.peak_per_ns();
        Self {
            schedule: shape.schedule(warm_up_ns, seed),
            began_ns,
            warm_up_ends_ns: began_ns + warm_up_ns,
            limit,
            measured: 0,
            turn: Duration::from_nanos(turn_ns.clamp(SHORTEST_TURN_NS, LONGEST_TURN_NS) as u64),
        }
    }

    /// Keeps `table` full until the schedule ends or `over` is closed.
    pub fn run(mut self, table: &Timetable, over: Receiver<()>) -> Self {
        while !table.has_ended() {
            // If the ring is full, it will have room again by the next turn.
            let turn = if self.fill(table) { self.turn } else { Duration::ZERO };
            if over.recv_timeout(turn) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        self
    }

    /// Fills some of the free places. Returns whether there is nothing more to do now.
    pub fn fill(&mut self, table: &Timetable) -> bool {
        let filled = table.filled.load(Relaxed);
        let free = table.taken.load(Acquire) + table.places.len() as u64 - filled;
        let end = filled + free.min(PLACES_AT_ONCE as u64);
        for next in filled..end {
            let Some(due_ns) = self.next_due_ns() else {
                table.filled.store(next, Release);
                table.ended.store(true, Release);
                return true;
            };
            table.place(next).store(due_ns, Relaxed);
        }
        table.filled.store(end, Release);
        free <= PLACES_AT_ONCE as u64
    }

    /// Counts the requests that no thread has taken, once all threads have stopped: those due before `ends_at_ns`. If
    /// a number of requests was to be sent, counts that number less `scheduled`, those sent or given up. Measuring
    /// began at `measured_from_ns`.
    pub fn count_left(
        mut self,
        table: &Timetable,
        measured_from_ns: u64,
        ends_at_ns: u64,
        scheduled: u64,
    ) -> Left {
        let mut left = Left::default();
        for due_ns in std::iter::from_fn(|| table.take()).filter(|&due_ns| due_ns < ends_at_ns) {
            if due_ns < measured_from_ns {
                left.warm_up += 1;
            } else {
                left.measured += 1;
            }
        }
        left.warm_up += self.skip_to(measured_from_ns.min(ends_at_ns));
        left.measured += self.skip_to(ends_at_ns);
        if let Some(limit) = self.limit {
            // Not from the count above: a thread may have taken one more request, which is due after the end.
            left.measured = limit.saturating_sub(scheduled);
        }
        left
    }

    fn skip_to(&mut self, end_ns: u64) -> u64 {
        self.schedule.skip_to(end_ns.saturating_sub(self.began_ns))
    }

    fn next_due_ns(&mut self) -> Option<u64> {
        if self.limit.is_some_and(|limit| self.measured == limit) {
            return None;
        }
        let due_ns = self.began_ns.saturating_add(self.schedule.next()?);
        self.measured += u64::from(due_ns >= self.warm_up_ends_ns);
        Some(due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::Part;
    use crate::shape::schedule::Stretch;
    use crate::spec::Arrivals;
    use std::sync::mpsc;

    fn shape(per_s: f64) -> Open {
        let per_ns = per_s / 1e9;
        let stretch = Stretch { from_per_ns: per_ns, to_per_ns: per_ns, length_ns: 1e9 };
        Open { connections: 4, arrivals: Arrivals::Even, stretches: vec![stretch], part: Part::WHOLE }
    }

    #[test]
    fn due_times_come_in_order_and_only_once() {
        let shape = shape(1_000_000.0);
        let table = Timetable::new(&shape);
        let filler = Filler::new(&shape, 5_000, 0, None, 1);
        let (over, is_over) = mpsc::channel();
        let taken: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut mine = Vec::new();
                        while mine.last().is_none_or(|&due_ns| due_ns < 3_000_000_000) {
                            mine.extend(table.take());
                        }
                        mine
                    })
                })
                .collect();
            let filling = scope.spawn(|| filler.run(&table, is_over));
            let taken = takers.into_iter().map(|taker| taker.join().unwrap()).collect();
            drop(over);
            filling.join().unwrap();
            taken
        });
        assert!(taken.iter().all(|mine| mine.is_sorted()));
        let mut all = taken.concat();
        all.sort_unstable();
        assert!(all.len() >= 2_999_995);
        let expected: Vec<u64> = shape.schedule(0, 1).take(all.len()).map(|due_ns| 5_000 + due_ns).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn what_nobody_took_is_counted_by_phase() {
        let shape = shape(1_000.0);
        let table = Timetable::new(&shape);
        let mut filler = Filler::new(&shape, 0, 100_000_000, None, 1);
        filler.fill(&table);
        for _ in 0..30 {
            table.take().unwrap();
        }
        // 100 of the warm-up, and 5,000 of five seconds, most of which were not even laid out.
        let left = filler.count_left(&table, 100_000_000, 5_100_000_000, 0);
        assert_eq!(left, Left { warm_up: 70, measured: 5_000 });
    }

    #[test]
    fn a_number_of_requests_ends_the_schedule() {
        let shape = shape(1_000.0);
        let table = Timetable::new(&shape);
        let mut filler = Filler::new(&shape, 0, 10_000_000, Some(25), 1);
        filler.fill(&table);
        assert!(table.has_ended());
        assert_eq!(std::iter::from_fn(|| table.take()).count(), 10 + 25);
        assert_eq!(filler.count_left(&table, 10_000_000, u64::MAX, 25), Left::default());
    }

    #[test]
    fn a_number_of_requests_is_accounted_for_whenever_it_ends() {
        let shape = shape(1_000.0);
        let table = Timetable::new(&shape);
        let mut filler = Filler::new(&shape, 0, 0, Some(100_000), 1);
        filler.fill(&table);
        table.take().unwrap();
        let left = |scheduled| {
            let filler = Filler::new(&shape, 0, 0, Some(100_000), 1);
            filler.count_left(&table, 0, 5, scheduled)
        };
        assert_eq!(left(1), Left { warm_up: 0, measured: 99_999 });
        // The request that was taken is due after the end, and was not sent.
        assert_eq!(left(0), Left { warm_up: 0, measured: 100_000 });
    }

    #[test]
    fn what_is_left_of_a_day_of_millions_a_second_is_known_at_once() {
        let shape = shape(10_000_000.0);
        let table = Timetable::new(&shape);
        let filler = Filler::new(&shape, 0, 0, None, 1);
        let left = filler.count_left(&table, 0, 86_400_000_000_000, 0);
        assert!(left.measured.abs_diff(864_000_000_000) <= 1, "{left:?}");
    }

    #[test]
    fn a_trial_that_is_ended_in_its_warm_up_owes_nothing_of_what_was_to_come() {
        let shape = shape(1_000.0);
        let table = Timetable::new(&shape);
        let mut filler = Filler::new(&shape, 0, 10_000_000_000, None, 1);
        filler.fill(&table);
        let ended_ns = 500_000_000;
        assert_eq!(filler.count_left(&table, ended_ns, ended_ns, 0), Left { warm_up: 500, measured: 0 });
    }

    #[test]
    fn the_ring_is_filled_beside_whoever_takes() {
        let shape = shape(5_000_000.0);
        let table = Timetable::new(&shape);
        let mut filler = Filler::new(&shape, 0, 0, None, 1);
        assert!(!filler.fill(&table), "the trial does not wait until all is laid out");
        let (over, is_over) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| filler.run(&table, is_over));
            // This goes round the ring twice.
            for number in 0..2 * table.places.len() as u64 {
                let due_ns = std::iter::from_fn(|| Some(table.take())).flatten().next();
                assert_eq!(due_ns, Some(number * 200));
            }
            drop(over);
        });
    }
}
