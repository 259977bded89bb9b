//! The histogram of the hot loop: HdrHistogram's buckets for three significant digits, in an array that records which
//! part of it was written. Adding and clearing touch only that part. Outside the engine it is a HdrHistogram.

use hdrhistogram::Histogram as HdrHistogram;

/// The longest time that a histogram holds, a day: the longest timeout. Longer times count as this one; the shortest is
/// 1 ns.
pub const LONGEST_NS: u64 = 86_400_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// `HALF` is half of the 2,048 values that are told apart exactly. Each doubling above has `HALF` buckets.
const HALF_BITS: u32 = 10;
const HALF: usize = 1 << HALF_BITS;
const BUCKETS: usize = index(LONGEST_NS) + 1;

/// The number of a bucket.
pub type Bucket = u16;

const _: () = assert!(BUCKETS <= 1 << Bucket::BITS);

pub fn hdr() -> HdrHistogram<u64> {
    HdrHistogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants and lawful")
}

/// Counts of times, in nanoseconds.
pub struct Histogram {
    counts: Box<[u32]>,
    count: u64,
    /// The written buckets lie in `lowest..=highest`.
    lowest: usize,
    highest: usize,
}

impl Histogram {
    pub fn new() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice(), count: 0, lowest: BUCKETS, highest: 0 }
    }

    /// Counts a time. Returns its bucket.
    #[inline]
    pub fn record(&mut self, ns: u64) -> Bucket {
        let bucket = index(ns.min(LONGEST_NS));
        self.counts[bucket] += 1;
        self.count += 1;
        self.lowest = self.lowest.min(bucket);
        self.highest = self.highest.max(bucket);
        bucket as Bucket
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn add(&mut self, part: &Self) {
        for (total, count) in
            self.counts.iter_mut().zip(&part.counts).take(part.highest + 1).skip(part.lowest)
        {
            *total += count;
        }
        self.count += part.count;
        self.lowest = self.lowest.min(part.lowest);
        self.highest = self.highest.max(part.highest);
    }

    /// Adds all counts to `total`.
    pub fn add_to(&self, total: &mut HdrHistogram<u64>) {
        for (ns, count) in self.recorded() {
            total.record_n(ns, u64::from(count)).expect("both have the same bounds");
        }
    }

    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.counts[self.lowest..=self.highest].fill(0);
            *self = Self { counts: std::mem::take(&mut self.counts), count: 0, lowest: BUCKETS, highest: 0 };
        }
    }

    /// Returns the largest time of the bucket that holds quantile `q`, as HdrHistogram does; `None` if it is empty.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        self.recorded().find_map(|(ns, count)| {
            seen += u64::from(count);
            (seen >= rank).then(|| ns + width(index(ns)) - 1)
        })
    }

    /// Returns the least time and the count of each bucket that is not empty.
    fn recorded(&self) -> impl Iterator<Item = (u64, u32)> {
        let written = if self.is_empty() { 0..0 } else { self.lowest..self.highest + 1 };
        written.map(|bucket| (least(bucket), self.counts[bucket])).filter(|&(_, count)| count > 0)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the bucket of a time: its eleven leading bits, and how far they were shifted.
#[inline]
const fn index(ns: u64) -> usize {
    let shift = (u64::BITS - 1 - (ns | (HALF as u64)).leading_zeros()).saturating_sub(HALF_BITS);
    ((shift as usize) << HALF_BITS) + (ns >> shift) as usize
}

/// Returns the least time in a bucket.
pub fn least(bucket: usize) -> u64 {
    let shift = (bucket >> HALF_BITS).saturating_sub(1);
    ((bucket - (shift << HALF_BITS)) as u64) << shift
}

fn width(bucket: usize) -> u64 {
    1 << (bucket >> HALF_BITS).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn its_buckets_are_those_of_hdr_histogram(ns in 0..=LONGEST_NS) {
            let hdr = hdr();
            prop_assert_eq!(least(index(ns)), hdr.lowest_equivalent(ns));
            prop_assert_eq!(width(index(ns)), hdr.equivalent_range(ns));
        }

        #[test]
        fn it_reports_what_hdr_histogram_reports(
            times in proptest::collection::vec(0_u64..=2 * LONGEST_NS, 1..200),
            split in 0_usize..200,
            q in 0.0..=1.0,
        ) {
            let (mut whole, mut first, mut expected) = (Histogram::new(), Histogram::new(), hdr());
            for (place, &ns) in times.iter().enumerate() {
                if place < split { first.record(ns) } else { whole.record(ns) };
                expected.saturating_record(ns.min(LONGEST_NS));
            }
            whole.add(&first);
            let mut written = hdr();
            whole.add_to(&mut written);
            prop_assert_eq!(&written, &expected);
            prop_assert_eq!(whole.quantile_ns(q), Some(expected.value_at_quantile(q)));
        }
    }

    #[test]
    fn cleared_it_is_as_new() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantile_ns(0.5), None);
        histogram.record(5);
        histogram.record(70_000_000);
        histogram.clear();
        assert!(histogram.is_empty() && histogram.counts.iter().all(|&count| count == 0));
        histogram.record(9_000);
        assert_eq!(histogram.quantile_ns(0.5), Some(9_007));
    }
}
