//! The one schedule of an open trial, ahead of time, from which all threads take the next request that
//! is due. A ring of due times between one filler and many takers; nobody locks and nobody waits.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::shape::open::Open;
use crate::shape::schedule::Schedule;

/// How far ahead due times are laid out: far beyond the longest the filler is ever away.
const AHEAD_NS: f64 = 1e9;
const LEAST_PLACES: usize = 1024;
const MOST_PLACES: usize = 1 << 22;

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

    /// Takes the next due time; `None` where none is laid out at present, or ever again.
    #[inline]
    pub fn take(&self) -> Option<u64> {
        let mut next = self.taken.load(Relaxed);
        loop {
            if next >= self.filled.load(Acquire) {
                return None;
            }
            // Read before it is claimed: a place is filled anew only after it was taken.
            let due_ns = self.place(next).load(Relaxed);
            match self.taken.compare_exchange_weak(next, next + 1, Release, Relaxed) {
                Ok(_) => return Some(due_ns),
                Err(present) => next = present,
            }
        }
    }

    /// Whether nothing will be laid out again.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Acquire)
    }

    #[inline]
    fn place(&self, number: u64) -> &AtomicU64 {
        &self.places[number as usize & (self.places.len() - 1)]
    }
}

/// Lays out a schedule in a timetable, and counts what nobody took.
pub struct Filler {
    schedule: Schedule,
    began_ns: u64,
    measured_from_ns: u64,
    /// Requests of the measured phase still to be laid out, where their number is limited.
    left: Option<u64>,
}

/// Requests that came due and were taken by no thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub warm_up: u64,
    pub measured: u64,
}

impl Filler {
    /// A trial that begins at `began_ns`, warms up for `warm_up_ns`, and measures `limit` requests at most.
    pub fn new(shape: &Open, began_ns: u64, warm_up_ns: u64, limit: Option<u64>, seed: u64) -> Self {
        Self {
            schedule: shape.schedule(warm_up_ns, seed),
            began_ns,
            measured_from_ns: began_ns + warm_up_ns,
            left: limit,
        }
    }

    /// Fills every free place.
    pub fn fill(&mut self, table: &Timetable) {
        let mut filled = table.filled.load(Relaxed);
        let end = table.taken.load(Acquire) + table.places.len() as u64;
        while filled < end && !table.has_ended() {
            match self.next_due_ns() {
                Some(due_ns) => {
                    table.place(filled).store(due_ns, Relaxed);
                    filled += 1;
                }
                None => table.ended.store(true, Release),
            }
        }
        table.filled.store(filled, Release);
    }

    /// What was due before `ends_at_ns`, or to be sent by number, and is still there once every thread has
    /// stopped.
    pub fn count_left(mut self, table: &Timetable, ends_at_ns: u64) -> Left {
        let mut left = Left::default();
        let laid_out = std::iter::from_fn(|| table.take());
        let (measured_from_ns, by_number) = (self.measured_from_ns, self.left.is_some());
        for due_ns in laid_out.chain(std::iter::from_fn(move || self.next_due_ns())) {
            if due_ns >= ends_at_ns && !by_number {
                break;
            } else if due_ns < measured_from_ns {
                left.warm_up += 1;
            } else {
                left.measured += 1;
            }
        }
        left
    }

    fn next_due_ns(&mut self) -> Option<u64> {
        if self.left == Some(0) {
            return None;
        }
        let due_ns = self.began_ns + self.schedule.next()?;
        if let Some(left) = &mut self.left
            && due_ns >= self.measured_from_ns
        {
            *left -= 1;
        }
        Some(due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::schedule::Stretch;
    use crate::spec::Arrivals;

    fn shape(per_s: f64) -> Open {
        let per_ns = per_s / 1e9;
        let stretch = Stretch { from_per_ns: per_ns, to_per_ns: per_ns, length_ns: 1e9 };
        Open { connections: 4, arrivals: Arrivals::Even, stretches: vec![stretch] }
    }

    #[test]
    fn due_times_come_in_order_and_only_once() {
        let shape = shape(1_000_000.0);
        let table = Timetable::new(&shape);
        let mut filler = Filler::new(&shape, 5_000, 0, None, 1);
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
            while !takers.iter().all(|taker| taker.is_finished()) {
                filler.fill(&table);
            }
            takers.into_iter().map(|taker| taker.join().unwrap()).collect()
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
        // 100 of the warm-up and 5,000 of five seconds, most of which were not even laid out.
        let left = filler.count_left(&table, 5_100_000_000);
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
        assert_eq!(filler.count_left(&table, u64::MAX), Left::default());
    }

    #[test]
    fn a_number_of_requests_is_accounted_for_whenever_it_ends() {
        let shape = shape(1_000.0);
        let table = Timetable::new(&shape);
        let mut filler = Filler::new(&shape, 0, 0, Some(100_000), 1);
        filler.fill(&table);
        table.take().unwrap();
        assert_eq!(filler.count_left(&table, 5), Left { warm_up: 0, measured: 99_999 });
    }
}
