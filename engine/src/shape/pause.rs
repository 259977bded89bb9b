//! How long a user of a closed shape pauses between an answer and the next request.

use rand_xoshiro::rand_core::RngCore;

use super::exponential;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pause {
    Fixed {
        ns: u64,
    },
    /// Memoryless, as of people who do not know of one another.
    Exponential {
        mean_ns: f64,
    },
}

impl Pause {
    /// The next pause, in nanoseconds.
    #[inline]
    pub fn draw_ns(&self, random: &mut impl RngCore) -> u64 {
        match *self {
            Self::Fixed { ns } => ns,
            Self::Exponential { mean_ns } => (exponential(random) * mean_ns) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::random;

    #[test]
    fn a_fixed_pause_is_always_the_same() {
        let mut random = random(1, 0);
        assert!((0..10).all(|_| Pause::Fixed { ns: 7 }.draw_ns(&mut random) == 7));
    }

    #[test]
    fn exponential_pauses_have_their_mean_and_spread() {
        let mut random = random(2, 0);
        let pause = Pause::Exponential { mean_ns: 1e6 };
        let drawn: Vec<f64> = (0..200_000).map(|_| pause.draw_ns(&mut random) as f64).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        // Five standard errors of either.
        assert!((mean / 1e6 - 1.0).abs() < 0.012, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.025, "{variance}");
    }
}
