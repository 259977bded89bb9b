//! The choice of the answers whose bodies are hashed.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random::uniform;

/// Draws one request at random from each group of `one_in` successive requests. If it drew the first of every group,
/// it might draw the same few lines again and again of a file whose lines requests take in turn (`{line:FILE}`).
#[derive(Default)]
pub struct HashSample {
    /// The number of requests of the present group that are still to come.
    left: u32,
    /// The number of requests that come before the one that is drawn; `u32::MAX` after that one.
    until: u32,
}

impl HashSample {
    /// Returns whether the next request is drawn. `one_in` is more than 0, and the same in each call.
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
