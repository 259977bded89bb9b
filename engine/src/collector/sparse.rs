//! The times of one kind of request among many. Most buckets of such a histogram are empty, so it holds those that are
//! not: eight bytes each, in order.

use hdrhistogram::Histogram as HdrHistogram;

use crate::histogram::{Bucket, least};

/// The bits of an entry that are its count. Those above are its bucket.
const COUNT_BITS: u32 = u64::BITS - Bucket::BITS;
/// More requests than a trial may have (`bounds::REQUESTS`).
const COUNTS: u64 = (1 << COUNT_BITS) - 1;

/// Counts of times by bucket.
#[derive(Default)]
pub struct Sparse(Vec<u64>);

impl Sparse {
    /// Counts a time in `bucket`.
    pub fn record(&mut self, bucket: Bucket) {
        let entry = u64::from(bucket) << COUNT_BITS;
        let place = self.0.partition_point(|&other| other < entry);
        match self.0.get_mut(place) {
            Some(other) if *other >> COUNT_BITS == u64::from(bucket) => *other += 1,
            _ => self.0.insert(place, entry + 1),
        }
    }

    /// Adds all counts to `total`.
    pub fn add_to(&self, total: &mut HdrHistogram<u64>) {
        for entry in &self.0 {
            let ns = least((entry >> COUNT_BITS) as usize);
            total.record_n(ns, entry & COUNTS).expect("both have the same bounds");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::{Histogram, LONGEST_NS, hdr};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_what_the_dense_histogram_holds(
            times in proptest::collection::vec(prop_oneof![0..=20_000_u64, 0..=2 * LONGEST_NS], 0..300),
        ) {
            let (mut dense, mut sparse) = (Histogram::new(), Sparse::default());
            times.iter().for_each(|&ns| sparse.record(dense.record(ns)));
            let (mut expected, mut written) = (hdr(), hdr());
            dense.add_to(&mut expected);
            sparse.add_to(&mut written);
            prop_assert_eq!(written, expected);
            prop_assert!(sparse.0.len() <= times.len(), "a bucket has one entry");
        }
    }
}
