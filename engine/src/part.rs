//! Which part of a load this engine puts on, where several engines put it on together, each on a host of its own. All
//! parts together are the load of one engine.

use crate::bounds;
use crate::faults::Faults;
use crate::load::share;
use crate::random;
use crate::spec::PartSpec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    index: usize,
    of: usize,
}

impl Part {
    /// The load of one engine.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// What is written, after checks.
    pub fn meant(written: Option<PartSpec>, faults: &mut Faults) -> Self {
        let Some(PartSpec { index, of }) = written else {
            return Self::WHOLE;
        };
        let of = faults.within(of, bounds::PARTS, "part.of");
        Self { index: faults.within(index, 0..=of - 1, "part.index"), of }
    }

    pub fn is_whole(self) -> bool {
        self == Self::WHOLE
    }

    /// Returns the number of parts.
    pub fn of(self) -> usize {
        self.of
    }

    /// Returns how many of these, which have numbers from 0 on, are of this part.
    pub fn share(self, all: usize) -> usize {
        share(all, self.index, self.of)
    }

    /// Returns which number of the whole the part's own number `own` is, from 0 on.
    pub fn number(self, own: u64) -> u64 {
        own * self.of as u64 + self.index as u64
    }

    /// Returns the seed of this part. Parts of one load have different ones: otherwise they would send the same requests at
    /// the same time.
    pub fn seed(self, seed: u64) -> u64 {
        if self.is_whole() { seed } else { random::apart(seed, self.index as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(of: usize) -> impl Iterator<Item = Part> {
        (0..of).map(move |index| Part { index, of })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn each_number_is_of_one_part(all in 0..500_usize, of in 1..=8_usize) {
            let numbers = parts(of).flat_map(|part| (0..part.share(all)).map(move |own| part.number(own as u64)));
            let mut numbers: Vec<u64> = numbers.collect();
            numbers.sort_unstable();
            prop_assert!(numbers.into_iter().eq(0..all as u64));
        }

        #[test]
        fn no_two_parts_have_one_seed(seed in any::<u64>(), of in 2..=8_usize) {
            let seeds: std::collections::BTreeSet<u64> = parts(of).map(|part| part.seed(seed)).collect();
            prop_assert_eq!(seeds.len(), of);
            prop_assert!(!seeds.contains(&seed));
        }
    }

    #[test]
    fn the_only_part_is_the_whole() {
        let meant = |written| {
            let mut faults = Faults::default();
            let part = Part::meant(written, &mut faults);
            faults.none().map(|()| part).map_err(|failure| failure.error)
        };
        assert_eq!(meant(Some(PartSpec { index: 0, of: 1 })), meant(None));
        assert_eq!((Part::WHOLE.seed(42), Part::WHOLE.number(7), Part::WHOLE.share(9)), (42, 7, 9));
        assert_eq!(meant(Some(PartSpec { index: 7, of: 8 })).unwrap().number(2), 23);
        assert!(meant(Some(PartSpec { index: 8, of: 8 })).unwrap_err().contains("part.index is 8"));
        for of in [0, bounds::PARTS.end() + 1] {
            assert!(meant(Some(PartSpec { index: 0, of })).unwrap_err().contains("part.of is"));
        }
    }
}
