//! The schedule of an open shape. Its rate is a chain of stretches on each of which it is constant or changes
//! evenly; arrivals are even or Poisson. Pure.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{exponential, random};
use crate::spec::Arrivals;

/// A stretch of time over which the rate runs evenly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    pub from_per_ns: f64,
    pub to_per_ns: f64,
    pub length_ns: f64,
}

impl Stretch {
    /// Requests due from its beginning to its end.
    fn requests(&self) -> f64 {
        if self.length_ns.is_infinite() {
            return f64::INFINITY;
        }
        (self.from_per_ns + self.to_per_ns) / 2.0 * self.length_ns
    }

    /// When so many requests are due, from its beginning: the inverse of the rate's integral, in the
    /// form that does not cancel.
    fn after_ns(&self, requests: f64) -> f64 {
        if requests <= 0.0 {
            return 0.0;
        }
        let slope = if self.length_ns.is_infinite() {
            0.0
        } else {
            (self.to_per_ns - self.from_per_ns) / self.length_ns
        };
        let rate = self.from_per_ns;
        2.0 * requests / (rate + (rate * rate + 2.0 * slope * requests).max(0.0).sqrt())
    }
}

/// Due times one after the other, in nanoseconds from the first instant; they never fall and never end.
pub struct Schedule {
    stretches: Vec<Stretch>,
    at: usize,
    /// When the present stretch began, and how many requests were due before it.
    began_ns: f64,
    began_count: f64,
    /// The next request's place on the integral of the rate.
    count: f64,
    arrivals: Arrivals,
    random: Xoshiro256PlusPlus,
}

impl Schedule {
    /// That of `stretches`, after `lead_ns` at the first of their rates; the last one's final rate goes on for ever.
    pub fn new(stretches: &[Stretch], arrivals: Arrivals, lead_ns: u64, seed: u64) -> Self {
        let constant = |per_ns, length_ns| Stretch { from_per_ns: per_ns, to_per_ns: per_ns, length_ns };
        let first_per_ns = stretches[0].from_per_ns;
        let last_per_ns = stretches[stretches.len() - 1].to_per_ns;
        let mut chain: Vec<Stretch> = Vec::with_capacity(stretches.len() + 2);
        chain.extend((lead_ns > 0).then(|| constant(first_per_ns, lead_ns as f64)));
        chain.extend(stretches);
        chain.push(constant(last_per_ns, f64::INFINITY));
        Self {
            stretches: chain,
            at: 0,
            began_ns: 0.0,
            began_count: 0.0,
            count: 0.0,
            arrivals,
            random: random(seed, 0x5c4e_d01e),
        }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.arrivals == Arrivals::Poisson {
            self.count += exponential(&mut self.random);
        }
        while self.count - self.began_count > self.stretches[self.at].requests() {
            self.began_count += self.stretches[self.at].requests();
            self.began_ns += self.stretches[self.at].length_ns;
            self.at += 1;
        }
        let due_ns = self.began_ns + self.stretches[self.at].after_ns(self.count - self.began_count);
        if self.arrivals == Arrivals::Even {
            self.count += 1.0;
        }
        Some(due_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::open::Open;

    fn constant(per_s: f64, arrivals: Arrivals) -> Open {
        open(&[(per_s, per_s, 1.0)], arrivals)
    }

    fn open(stretches: &[(f64, f64, f64)], arrivals: Arrivals) -> Open {
        let stretches = stretches
            .iter()
            .map(|&(from, to, seconds)| Stretch {
                from_per_ns: from / 1e9,
                to_per_ns: to / 1e9,
                length_ns: seconds * 1e9,
            })
            .collect();
        Open { connections: 1, arrivals, stretches }
    }

    fn due_before(shape: &Open, seconds: f64, seed: u64) -> Vec<u64> {
        shape.schedule(0, seed).take_while(|&due_ns| (due_ns as f64) < seconds * 1e9).collect()
    }

    fn gaps(due_ns: &[u64]) -> Vec<f64> {
        due_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
    }

    /// Standard deviation of the gaps over their mean.
    fn variation(gaps: &[f64]) -> f64 {
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        variance.sqrt() / mean
    }

    #[test]
    fn even_gaps_are_equal_however_long_it_goes() {
        for per_s in [0.5, 3.0, 1_000.0, 20_000.0, 333_333.0] {
            let due_ns: Vec<u64> = constant(per_s, Arrivals::Even).schedule(0, 1).take(100_000).collect();
            assert_eq!(due_ns[0], 0);
            let gap_ns = 1e9 / per_s;
            assert!(gaps(&due_ns).iter().all(|gap| (gap - gap_ns).abs() <= 1.5), "{per_s} per second");
            let last = due_ns[99_999] as f64;
            assert!((last - 99_999.0 * gap_ns).abs() < gap_ns.max(1e3) * 1e-6 + 2.0, "no drift: {last}");
        }
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        for seed in 0..5 {
            let due_ns: Vec<u64> =
                constant(20_000.0, Arrivals::Poisson).schedule(0, seed).take(100_001).collect();
            let mut gaps = gaps(&due_ns);
            assert!((variation(&gaps) - 1.0).abs() < 0.02, "{}", variation(&gaps));
            // Kolmogorov-Smirnov against 1 - exp(-x); 1.95 / sqrt(n) is passed once in a thousand.
            gaps.sort_by(f64::total_cmp);
            let count = gaps.len() as f64;
            let distance = gaps
                .iter()
                .enumerate()
                .map(|(place, gap)| ((1.0 - (-gap / 50_000.0).exp()) - (place as f64 + 0.5) / count).abs())
                .fold(0.0, f64::max);
            assert!(distance < 1.95 / count.sqrt(), "{distance}");
        }
    }

    #[test]
    fn poisson_counts_have_the_variance_of_their_mean() {
        let due_ns = due_before(&constant(10_000.0, Arrivals::Poisson), 20.0, 9);
        let mut counts = vec![0.0; 2_000];
        for due in &due_ns {
            counts[(due / 10_000_000) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 2_000.0;
        let variance = counts.iter().map(|count: &f64| (count - mean).powi(2)).sum::<f64>() / 2_000.0;
        assert!((mean - 100.0).abs() < 1.2, "{mean}");
        // Standard error of a variance over 2,000 counts is 3.2 %.
        assert!((variance / mean - 1.0).abs() < 0.16, "{variance}");
    }

    #[test]
    fn the_seed_decides() {
        let shape = constant(1_000.0, Arrivals::Poisson);
        assert_eq!(due_before(&shape, 1.0, 4), due_before(&shape, 1.0, 4));
        assert_ne!(due_before(&shape, 1.0, 4), due_before(&shape, 1.0, 5));
    }

    #[test]
    fn steps_have_their_counts() {
        let shape = open(&[(100.0, 100.0, 1.0), (1_000.0, 1_000.0, 2.0), (50.0, 50.0, 1.0)], Arrivals::Even);
        let due_ns = due_before(&shape, 10.0, 1);
        let between = |from: f64, to: f64| {
            due_ns.iter().filter(|&&due| (from * 1e9..to * 1e9).contains(&(due as f64))).count()
        };
        assert_eq!(between(0.0, 1.0), 100);
        assert_eq!(between(1.0, 3.0), 2_000);
        assert_eq!(between(3.0, 4.0), 50);
        // The last rate goes on.
        assert_eq!(between(4.0, 10.0), 300);
    }

    #[test]
    fn a_ramp_rises_by_the_integral_of_its_rate() {
        let shape = open(&[(0.0, 1_000.0, 10.0)], Arrivals::Even);
        let due_ns = due_before(&shape, 10.0, 1);
        assert!((4_999..=5_001).contains(&due_ns.len()), "{}", due_ns.len());
        for tenth in 1..=10 {
            let seconds = f64::from(tenth);
            let due = due_ns.iter().filter(|&&due| (due as f64) < seconds * 1e9).count() as f64;
            assert!((due - 50.0 * seconds * seconds).abs() <= 1.0, "{due} in {seconds} s");
        }
    }

    #[test]
    fn a_falling_rate_ends_where_it_should() {
        let shape = open(&[(1_000.0, 100.0, 10.0)], Arrivals::Even);
        let due_ns = due_before(&shape, 10.0, 1);
        assert!((5_499..=5_501).contains(&due_ns.len()), "{}", due_ns.len());
        assert!(due_ns.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn a_lead_goes_before_all_the_rest() {
        let shape = open(&[(10.0, 10.0, 1.0), (1_000.0, 1_000.0, 1.0)], Arrivals::Even);
        let due_ns: Vec<u64> = shape.schedule(5_000_000_000, 1).take(60 + 1_000).collect();
        assert_eq!(due_ns.iter().filter(|&&due| due < 6_000_000_000).count(), 60);
        assert_eq!(due_ns.iter().filter(|&&due| due >= 6_000_000_000).count(), 1_000);
    }
}
