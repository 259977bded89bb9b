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
