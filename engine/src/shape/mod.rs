//! Load shapes: when requests are due. Pure values; no socket, no clock.

pub mod closed;
pub mod open;
pub mod pause;
pub mod ramp;

/// The shape of a trial, as meant.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Users who wait for each answer; with a ramp where they do not all come at once.
    Closed(closed::Closed),
    /// A schedule that waits for none.
    Open(open::Open),
}

impl Shape {
    /// The most connections it may hold.
    pub fn connections(&self) -> usize {
        match self {
            Self::Closed(closed) => closed.connections,
            Self::Open(open) => open.connections,
        }
    }

    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

/// A generator of random numbers for one `purpose` of a trial: the same seed gives the same numbers.
pub fn random(seed: u64, purpose: u64) -> rand_xoshiro::Xoshiro256PlusPlus {
    use rand_xoshiro::rand_core::SeedableRng;
    rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Evenly distributed from 0 to below 1.
#[inline]
pub fn uniform(random: &mut impl rand_xoshiro::rand_core::RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Exponentially distributed with mean 1, by inversion.
#[inline]
pub fn exponential(random: &mut impl rand_xoshiro::rand_core::RngCore) -> f64 {
    -(1.0 - uniform(random)).ln()
}
