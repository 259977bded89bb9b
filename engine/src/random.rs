//! Random numbers that depend on the trial's seed alone.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Returns a generator of random numbers for one `purpose` of a trial. The same seed gives the same numbers.
pub fn seeded(seed: u64, purpose: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Returns a random number, evenly distributed from 0 to below 1.
#[inline]
pub fn uniform(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Returns a random number, exponentially distributed with mean 1, by inversion.
#[inline]
pub fn exponential(random: &mut impl Rng) -> f64 {
    -(1.0 - uniform(random)).ln()
}

/// What a seed gives is part of what a result rests on: whoever repeats a load with its seed sends the same requests at
/// the same times. These numbers may change only with a reason that the changelog names.
#[cfg(test)]
mod golden {
    use super::*;
    use crate::http::deck::Deck;
    use crate::http::values::Values;
    use crate::shape::pause::Pause;
    use crate::shape::schedule::{Open, Stretch};
    use crate::spec::Arrivals;

    const SEED: u64 = 42;

    #[test]
    fn a_seed_gives_these_arrivals() {
        let rising = Stretch { from_per_ns: 1e-6, to_per_ns: 3e-6, length_ns: 1e9 };
        let open = Open { connections: 10, arrivals: Arrivals::Poisson, stretches: vec![rising] };
        let due_ns: Vec<u64> = open.schedule(1_000_000, SEED).take(8).collect();
        assert_eq!(
            due_ns,
            [693_701, 2_256_244, 3_431_637, 4_226_222, 6_639_363, 7_437_218, 8_419_925, 9_426_625]
        );
    }

    #[test]
    fn a_seed_gives_these_pauses() {
        let mut random = seeded(SEED, 1);
        let pause = Pause::Exponential { mean_ns: 1e6 };
        assert_eq!(
            [0; 8].map(|_: u64| pause.draw_ns(&mut random)),
            [2_763_651, 604_661, 2_287_441, 260_138, 1_111_834, 670_736, 1_851_750, 452_100]
        );
    }

    #[test]
    fn a_seed_gives_this_order_of_requests() {
        let mut deck = Deck::new(&[3, 2, 1], &mut seeded(SEED, 2));
        assert_eq!([0; 12].map(|_: u16| deck.deal()), [1, 0, 0, 1, 1, 2, 1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_seed_gives_these_values() {
        let (mut random, mut last_seq) = (seeded(SEED, 3), 0);
        let mut values = Values::new(0, &mut last_seq, &mut random);
        assert_eq!(
            [0; 8].map(|_: u64| values.random(1, 1_000_000)),
            [842_476, 555_548, 256_511, 6_592, 752_515, 515_389, 62_007, 436_871]
        );
        assert_eq!(
            [0; 4].map(|_: u64| values.random(0, u64::MAX)),
            [
                17_272_971_536_171_266_194,
                14_195_978_936_350_650_826,
                16_971_342_667_088_683_485,
                239_043_270_166_126_277
            ]
        );
    }
}
