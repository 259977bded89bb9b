//! Which answers are hashed.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random::uniform;

/// Draws one of every `one_in` requests, at a random place among them. At a fixed place it would meet the same
/// requests in every pass of a deck.
#[derive(Default)]
pub struct HashSample {
    /// The number of requests left of the present lot, and the number of them before the one that is drawn.
    left: u32,
    until: u32,
}

impl HashSample {
    #[inline]
    pub fn draws(&mut self, one_in: u32, random: &mut Xoshiro256PlusPlus) -> bool {
        if self.left == 0 {
            self.left = one_in;
            self.until = (uniform(random) * f64::from(one_in)) as u32;
        }
        self.left -= 1;
        if self.until == 0 {
            self.until = u32::MAX;
            return true;
        }
        self.until -= 1;
        false
    }
}
