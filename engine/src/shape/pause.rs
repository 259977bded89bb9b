//! How long a user of a closed shape pauses between an answer and the next request.

use rand_xoshiro::rand_core::Rng;

use crate::random::{exponential, uniform};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pause {
    Fixed {
        ns: u64,
    },
    /// Memoryless, like the pauses of people who act independently.
    Exponential {
        mean_ns: f64,
    },
}

impl Pause {
    /// Returns the next pause, in nanoseconds.
    #[inline]
    pub fn draw_ns(&self, random: &mut impl Rng) -> u64 {
        match *self {
            Self::Fixed { ns } => ns,
            Self::Exponential { mean_ns } => (exponential(random) * mean_ns) as u64,
        }
    }

    /// Returns what is left of a pause at a random instant in it, in nanoseconds.
    pub fn draw_left_ns(&self, random: &mut impl Rng) -> u64 {
        match *self {
            Self::Fixed { ns } => (uniform(random) * ns as f64) as u64,
            Self::Exponential { .. } => self.draw_ns(random),
        }
    }

    pub fn is_none(&self) -> bool {
        matches!(*self, Self::Fixed { ns: 0 })
            || matches!(*self, Self::Exponential { mean_ns } if mean_ns == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn a_fixed_pause_is_always_the_same() {
        let mut random = random::seeded(1, 0);
        assert!((0..10).all(|_| Pause::Fixed { ns: 7 }.draw_ns(&mut random) == 7));
    }

    #[test]
    fn a_fixed_pause_is_met_anywhere_in_it() {
        let mut random = random::seeded(3, 0);
        let pause = Pause::Fixed { ns: 1_000 };
        let mut tenths = [0; 10];
        for _ in 0..100_000 {
            tenths[pause.draw_left_ns(&mut random) as usize / 100] += 1;
        }
        // The bounds are five standard errors away.
        assert!(tenths.iter().all(|&each| (9_525..=10_475).contains(&each)), "{tenths:?}");
    }

    #[test]
    fn none_is_left_of_no_pause() {
        let mut random = random::seeded(4, 0);
        for none in [Pause::Fixed { ns: 0 }, Pause::Exponential { mean_ns: 0.0 }] {
            assert!(none.is_none());
            assert_eq!(none.draw_left_ns(&mut random), 0);
        }
        assert!(!Pause::Fixed { ns: 1 }.is_none());
    }

    #[test]
    fn exponential_pauses_have_their_mean_and_spread() {
        let mut random = random::seeded(2, 0);
        let pause = Pause::Exponential { mean_ns: 1e6 };
        let drawn: Vec<f64> = (0..200_000).map(|_| pause.draw_ns(&mut random) as f64).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        // The bounds are five standard errors away.
        assert!((mean / 1e6 - 1.0).abs() < 0.012, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.025, "{variance}");
    }
}
