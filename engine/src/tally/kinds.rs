//! What a tally counts for each kind of request. There may be thousands of kinds, of which an interval sends a few
//! hundred: what a tally costs to clear and to add up depends on these, and not on how many there are.

use crate::histogram::Bucket;
use crate::outcome::Outcomes;

/// The most answers in an interval for which a tally has room from the start. It is more than a thread counts in one.
const ANSWERS: usize = 1 << 16;
/// The number of statuses of a kind for which a tally has room from the start.
const STATUSES: usize = 3;

/// The counts of each kind of request.
pub struct KindTallies {
    kinds: Box<[KindTally]>,
    /// The kinds that have counts, each once.
    counted: Vec<u16>,
    /// The response times of the answers that are `ok`, by kind; empty if there is one kind, whose times are the
    /// tally's. A histogram for each kind would take more memory than a processor's cache has.
    times: Vec<(u16, Bucket)>,
    is_one: bool,
}

/// The counts of one kind of request.
#[derive(Clone, Default)]
pub struct KindTally {
    is_counted: bool,
    pub scheduled: u64,
    pub outcomes: Outcomes,
    pub statuses: Statuses,
    pub bodies_hashed: u64,
}

/// The number of whole answers with each status. It is a list, as only a few statuses come, and most often the first
/// of the list.
#[derive(Clone, Debug, Default)]
pub struct Statuses {
    /// A count of 0 is a free place.
    first: [(u16, u64); STATUSES],
    more: Vec<(u16, u64)>,
}

impl KindTallies {
    pub const BYTES_PER_KIND: usize = size_of::<KindTally>() + size_of::<u16>();

    /// Tallies of `kinds` kinds.
    pub fn new(kinds: usize) -> Self {
        let is_one = kinds == 1;
        Self {
            kinds: vec![KindTally::default(); kinds].into_boxed_slice(),
            counted: Vec::with_capacity(kinds),
            times: Vec::with_capacity(if is_one { 0 } else { ANSWERS }),
            is_one,
        }
    }

    /// Returns the tally of `kind`, in which something is to be counted.
    #[inline]
    pub fn of(&mut self, kind: u16) -> &mut KindTally {
        let tally = &mut self.kinds[usize::from(kind)];
        if !tally.is_counted {
            tally.is_counted = true;
            self.counted.push(kind);
        }
        tally
    }

    /// Counts the response time of an answer to a request of `kind`.
    #[inline]
    pub fn time(&mut self, kind: u16, bucket: Bucket) {
        if !self.is_one {
            self.times.push((kind, bucket));
        }
    }

    /// Returns the kinds that have counts, each with its tally.
    pub fn counted(&self) -> impl Iterator<Item = (u16, &KindTally)> {
        self.counted.iter().map(|&kind| (kind, &self.kinds[usize::from(kind)]))
    }

    /// Returns the response times; none if there is one kind, whose times are the tally's.
    pub fn times(&self) -> &[(u16, Bucket)] {
        &self.times
    }

    pub fn clear(&mut self) {
        for kind in self.counted.drain(..) {
            self.kinds[usize::from(kind)].clear();
        }
        self.times.clear();
    }
}

impl KindTally {
    fn clear(&mut self) {
        let mut statuses = std::mem::take(&mut self.statuses);
        statuses.first = Default::default();
        statuses.more.clear();
        *self = Self { statuses, ..Self::default() };
    }
}

impl Statuses {
    #[inline]
    pub fn count(&mut self, status: u16) {
        for (of, count) in &mut self.first {
            if *count == 0 || *of == status {
                *of = status;
                *count += 1;
                return;
            }
        }
        self.count_more(status);
    }

    #[cold]
    fn count_more(&mut self, status: u16) {
        match self.more.iter_mut().find(|(of, _)| *of == status) {
            Some((_, count)) => *count += 1,
            None => self.more.push((status, 1)),
        }
    }

    /// Returns each status that came, and how often.
    pub fn each(&self) -> impl Iterator<Item = (u16, u64)> {
        self.first.iter().chain(&self.more).copied().filter(|&(_, count)| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleared_they_are_as_new_whatever_was_counted() {
        let mut kinds = KindTallies::new(1_000);
        for round in 0..3 {
            for kind in [7, 3, 7, 999] {
                kinds.of(kind).scheduled += 1;
                kinds.of(kind).outcomes.ok += 1;
                (0..6).for_each(|status| kinds.of(kind).statuses.count(200 + status));
                kinds.time(kind, round);
            }
            let counted: Vec<_> = kinds.counted().map(|(kind, tally)| (kind, tally.scheduled)).collect();
            assert_eq!(counted, [(7, 2), (3, 1), (999, 1)]);
            let statuses: Vec<_> = kinds.of(7).statuses.each().collect();
            assert_eq!(statuses, (0..6).map(|status| (200 + status, 2)).collect::<Vec<_>>());
            assert_eq!(kinds.times(), [(7, round), (3, round), (7, round), (999, round)]);
            kinds.clear();
            assert_eq!((kinds.counted().count(), kinds.times().len()), (0, 0));
        }
    }

    #[test]
    fn the_times_of_one_kind_are_not_kept_twice() {
        let mut kinds = KindTallies::new(1);
        kinds.time(0, 5);
        assert!(kinds.times().is_empty());
    }
}
