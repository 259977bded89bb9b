//! When readings at random times are due, and how much each of them draws. Pure: what they cost is passed in.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random;
use crate::thinning::{self, FINE};

/// The mean time from one reading to the next, unless readings are too expensive for it.
const EVERY_NS: f64 = 1e9 / 15.0;
/// The part of the time between two readings that is random, at least. Without it they might keep step with the load.
const RANDOM_PART: f64 = 0.25;
/// How long a reading should take. Meanwhile it may stop a thread of the load, and what it sees is from several
/// instants.
const READING_NS: u64 = 100_000;
const DRAWN_LEAST: u64 = 8;
const DRAWN_MOST: u64 = 64;
const DRAWN_FIRST: u64 = 16;

/// The time between readings, and how many of a kind each draws. Both depend on the mean cost of all readings so far and
/// not on what the last one found: if a reading of things that cost more were followed by a longer pause, there would
/// be fewer readings of such things.
pub struct Gaps {
    random: Xoshiro256PlusPlus,
    rest: f64,
    readings: u64,
    drawn: u64,
    cost_ns: u64,
}

impl Gaps {
    /// `rest`: at least this many times its cost goes by after a reading, on average.
    pub fn new(random: Xoshiro256PlusPlus, rest: f64) -> Self {
        Self { random, rest, readings: 0, drawn: 0, cost_ns: 0 }
    }

    /// Accounts for a reading.
    pub fn spent(&mut self, cost_ns: u64, drawn: u64) {
        self.readings += 1;
        self.drawn += drawn;
        self.cost_ns += cost_ns;
    }

    /// Returns whether anything was drawn so far.
    pub fn have_drawn(&self) -> bool {
        self.drawn > 0
    }

    /// Returns the time from when the last reading was due to when the next one is, `since_ns` after the first instant.
    pub fn next_ns(&mut self, since_ns: u64) -> u64 {
        let apart = thinning::apart(number(since_ns), FINE);
        let rest_ns = self.rest * self.cost_ns as f64 / self.readings.max(1) as f64;
        let random_ns = (EVERY_NS - rest_ns).max(RANDOM_PART * EVERY_NS);
        let next_ns = rest_ns.max(EVERY_NS - random_ns) + random_ns * random::exponential(&mut self.random);
        next_ns as u64 * apart
    }

    /// Leaves out readings of a long trial, so that none stands for a longer time than others. `since_ns`: when a reading
    /// was taken, since the first instant.
    pub fn evenly<T>(rows: Vec<T>, since_ns: impl Fn(&T) -> u64) -> Vec<T> {
        thinning::evenly(rows, FINE, |row| number(since_ns(row)))
    }

    /// Returns how much the next reading should draw.
    pub fn draws(&self) -> usize {
        let fitting = (READING_NS * self.drawn).checked_div(self.cost_ns).unwrap_or(DRAWN_FIRST);
        let draws = if self.drawn == 0 { DRAWN_FIRST } else { fitting };
        draws.clamp(DRAWN_LEAST, DRAWN_MOST) as usize
    }
}

/// Returns how many readings are due by then if they come as often as at first.
fn number(since_ns: u64) -> u64 {
    (since_ns as f64 / EVERY_NS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps() -> Gaps {
        Gaps::new(random::seeded(1, 1), 200.0)
    }

    /// Plays readings for ten minutes. Returns how many there were a second, and the share of the time that they took.
    fn play(cost_ns: impl Fn(usize) -> u64) -> (f64, f64) {
        let (mut gaps, mut now_ns, mut spent_ns, mut readings) = (gaps(), 0, 0, 0);
        while now_ns < 600_000_000_000 {
            now_ns += gaps.next_ns(0);
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
    fn a_reading_draws_as_many_as_take_a_tenth_of_a_millisecond() {
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
        let times: Vec<f64> = (0..10_000).map(|_| gaps.next_ns(0) as f64).collect();
        let mean = times.iter().sum::<f64>() / 1e4;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / 1e4;
        assert!((mean / EVERY_NS - 1.0).abs() < 0.05, "{mean}");
        // An exponential distribution has the same standard deviation as mean.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{variance} {mean}");
    }
    #[test]
    fn readings_of_a_day_are_some_ten_thousands_and_none_stands_for_a_longer_time_than_others() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let (mut gaps, mut now_ns, mut rows) = (gaps(), 0, Vec::new());
        while now_ns < 24 * HOUR_NS {
            now_ns += gaps.next_ns(now_ns);
            rows.push(now_ns);
        }
        assert!((90_000..130_000).contains(&rows.len()), "{}", rows.len());
        let kept = Gaps::evenly(rows, |&at_ns| at_ns);
        assert!((15_000..30_000).contains(&kept.len()), "{}", kept.len());
        let in_hour = |hour: u64| {
            let hours = hour * HOUR_NS..(hour + 1) * HOUR_NS;
            kept.iter().filter(|&at_ns| hours.contains(at_ns)).count() as f64
        };
        for hour in 1..23 {
            assert!((in_hour(hour) / in_hour(0) - 1.0).abs() < 0.15, "{} {}", in_hour(hour), in_hour(0));
        }
    }
}
