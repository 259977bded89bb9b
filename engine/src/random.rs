//! Random numbers that depend on the trial's seed alone.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Returns a generator of random numbers for one `purpose` of a trial. The same seed gives the same numbers.
pub fn seeded(seed: u64, purpose: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Returns the seed of one of several that share `seed`. No two of them have the same, as `mix` has an inverse.
pub fn apart(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// What SplitMix64 does to its counter (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
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
