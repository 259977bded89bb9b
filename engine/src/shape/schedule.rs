//! The schedule of an open shape. Its rate is a chain of stretches, on each of which it is constant or changes
//! evenly. Arrivals are even or Poisson. Pure.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::part::Part;
use crate::random::{self, exponential, uniform};
use crate::spec::Arrivals;

/// Requests due by a schedule, over at most `connections` connections.
#[derive(Clone, Debug)]
pub struct Open {
    pub connections: usize,
    pub arrivals: Arrivals,
    /// Not empty. The final rate of the last stretch goes on for ever.
    pub stretches: Vec<Stretch>,
    /// Which of the arrivals these are, if they are even. Of Poisson arrivals the stretches have the part's rates.
    pub part: Part,
}

impl Open {
    /// Returns this part of it: every `of`-th of even arrivals. Poisson arrivals at parts of a rate, each drawn with a seed
    /// of its own, are together Poisson arrivals at that rate.
    pub fn part(self, part: Part) -> Self {
        let connections = part.share(self.connections);
        match self.arrivals {
            Arrivals::Even => Self { connections, part, ..self },
            Arrivals::Poisson => {
                let stretches = self.stretches.iter().map(|stretch| stretch.over(part.of() as f64));
                Self { connections, stretches: stretches.collect(), ..self }
            }
        }
    }

    /// Returns the highest rate, per nanosecond.
    pub fn peak_per_ns(&self) -> f64 {
        let rates = self.stretches.iter().map(|stretch| stretch.from_per_ns.max(stretch.to_per_ns));
        rates.fold(0.0, f64::max) / self.part.of() as f64
    }

    /// Returns the schedule. It begins with `lead_ns` at the first rate, for a warm-up.
    pub fn schedule(&self, lead_ns: u64, seed: u64) -> Schedule {
        Schedule::new(self, lead_ns, seed)
    }
}

/// A stretch of time over which the rate changes evenly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    pub from_per_ns: f64,
    pub to_per_ns: f64,
    pub length_ns: f64,
}

impl Stretch {
    /// Returns it with these parts of its rates.
    fn over(&self, parts: f64) -> Self {
        Self { from_per_ns: self.from_per_ns / parts, to_per_ns: self.to_per_ns / parts, ..*self }
    }

    /// Returns the number of requests due from its beginning to its end.
    fn requests(&self) -> f64 {
        if self.length_ns.is_infinite() {
            return f64::INFINITY;
        }
        (self.from_per_ns + self.to_per_ns) / 2.0 * self.length_ns
    }

    /// Returns the number of requests due in its first `ns`.
    fn requests_within(&self, ns: f64) -> f64 {
        (self.from_per_ns + self.slope() * ns / 2.0) * ns
    }

    fn slope(&self) -> f64 {
        if self.length_ns.is_infinite() {
            return 0.0;
        }
        (self.to_per_ns - self.from_per_ns) / self.length_ns
    }

    /// Returns when this many requests are due, from its beginning. This is the inverse of the rate's integral, in
    /// the form without cancellation.
    fn after_ns(&self, requests: f64) -> f64 {
        if requests <= 0.0 {
            return 0.0;
        }
        let rate = self.from_per_ns;
        2.0 * requests / (rate + (rate * rate + 2.0 * self.slope() * requests).max(0.0).sqrt())
    }
}

/// A stretch and its position in the schedule.
struct Placed {
    stretch: Stretch,
    begins_ns: f64,
    /// The number of requests due before it.
    before: f64,
}

impl Placed {
    fn chain(stretches: impl Iterator<Item = Stretch>) -> Vec<Self> {
        let (mut begins_ns, mut before) = (0.0, 0.0);
        stretches
            .map(|stretch| {
                let placed = Self { stretch, begins_ns, before };
                begins_ns += stretch.length_ns;
                before += stretch.requests();
                placed
            })
            .collect()
    }

    /// Returns when the request at `count` is due, to the nearest nanosecond: cut off, a request that is due with the end of
    /// a window would be due before it wherever the quotient is not exact.
    fn due_ns(&self, count: f64) -> u64 {
        (self.begins_ns + self.stretch.after_ns(count - self.before)).round() as u64
    }
}

/// The due times in order, in nanoseconds from the first instant. They never decrease and never end.
pub struct Schedule {
    /// The last of them has no end.
    placed: Vec<Placed>,
    at: usize,
    /// A position on the integral of the rate: of the next arrival if arrivals are even, of the last if they are
    /// Poisson.
    count: f64,
    /// How far apart even arrivals are on it: 1, unless others are of other parts.
    apart: f64,
    last_ns: u64,
    arrivals: Arrivals,
    random: Xoshiro256PlusPlus,
}

/// Up to this many Poisson arrivals are counted one by one. The number of more is drawn from the normal distribution;
/// the Poisson distribution then differs from it by at most a hundredth of its standard deviation.
const COUNTED_ONE_BY_ONE: f64 = 100_000.0;

impl Schedule {
    /// The schedule of `shape`, after `lead_ns` at its first rate. The last rate goes on for ever.
    fn new(shape: &Open, lead_ns: u64, seed: u64) -> Self {
        let stretches = &shape.stretches;
        let constant = |per_ns, length_ns| Stretch { from_per_ns: per_ns, to_per_ns: per_ns, length_ns };
        let lead = (lead_ns > 0).then(|| constant(stretches[0].from_per_ns, lead_ns as f64));
        let last = constant(stretches[stretches.len() - 1].to_per_ns, f64::INFINITY);
        let chain = lead.into_iter().chain(stretches.iter().copied()).chain([last]);
        Self {
            placed: Placed::chain(chain),
            at: 0,
            count: shape.part.number(0) as f64,
            apart: shape.part.of() as f64,
            last_ns: 0,
            arrivals: shape.arrivals,
            random: random::seeded(seed, 0x5c4e_d01e),
        }
    }

    /// Goes on to `end_ns`. Returns how many requests are due before it. This takes no longer for millions a second
    /// over a day than for a few requests.
    pub fn skip_to(&mut self, end_ns: u64) -> u64 {
        let end = self.requests_by(end_ns as f64);
        let skipped = match self.arrivals {
            Arrivals::Even => {
                let skipped = self.even_before(end_ns, (end - self.count).max(0.0) / self.apart);
                self.count += skipped as f64 * self.apart;
                skipped
            }
            Arrivals::Poisson if end <= self.count => 0,
            Arrivals::Poisson => {
                let skipped = self.poisson_before(end_ns, end - self.count);
                // Poisson arrivals have no memory, so those after the end can be drawn anew.
                self.count = end;
                skipped
            }
        };
        self.at = self.placed.partition_point(|placed| placed.before < self.count).saturating_sub(1);
        self.last_ns = self.last_ns.min(end_ns);
        skipped
    }

    /// Returns how many of the next even arrivals are due before `end_ns`: about `owed`.
    fn even_before(&self, end_ns: u64, owed: f64) -> u64 {
        let (mut before, mut not_before) = (0, owed as u64 + 2);
        while before < not_before {
            let middle = u64::midpoint(before, not_before);
            if self.due_ns(self.count + middle as f64 * self.apart) < end_ns {
                before = middle + 1;
            } else {
                not_before = middle;
            }
        }
        before
    }

    /// Returns how many Poisson arrivals are due before `end_ns`: `owed` on average.
    fn poisson_before(&mut self, end_ns: u64, owed: f64) -> u64 {
        if owed <= COUNTED_ONE_BY_ONE {
            return self.take_while(|&due_ns| due_ns < end_ns).count() as u64;
        }
        // The Box-Muller transform.
        let distance = (2.0 * exponential(&mut self.random)).sqrt();
        let normal = distance * (std::f64::consts::TAU * uniform(&mut self.random)).cos();
        (owed + owed.sqrt() * normal).round() as u64
    }

    /// Returns the number of requests due from the first instant to `ns`.
    fn requests_by(&self, ns: f64) -> f64 {
        let placed = &self.placed[self.placed.partition_point(|placed| placed.begins_ns <= ns) - 1];
        placed.before + placed.stretch.requests_within(ns - placed.begins_ns)
    }

    /// Returns when the request at `count` is due.
    fn due_ns(&self, count: f64) -> u64 {
        let after = self.placed[self.at..].partition_point(|placed| placed.before < count);
        self.placed[self.at + after.saturating_sub(1)].due_ns(count)
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.arrivals == Arrivals::Poisson {
            self.count += exponential(&mut self.random);
        }
        while self.placed.get(self.at + 1).is_some_and(|next| next.before < self.count) {
            self.at += 1;
        }
        // If a rate falls to nearly zero, the square root of what is left of it is not exact.
        self.last_ns = self.last_ns.max(self.placed[self.at].due_ns(self.count));
        if self.arrivals == Arrivals::Even {
            self.count += self.apart;
        }
        Some(self.last_ns)
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
