//! Results that are kept as they may be asked for again.

/// The latest `most` results, each with what it is the result of; the latest is last.
pub struct Kept<K, V> {
    most: usize,
    entries: Vec<(K, V)>,
}

impl<K: PartialEq, V: Clone> Kept<K, V> {
    pub fn new(most: usize) -> Self {
        Self { most, entries: Vec::new() }
    }

    pub fn get(&mut self, key: &K) -> Option<V> {
        let place = self.entries.iter().position(|(kept, _)| kept == key)?;
        let entry = self.entries.remove(place);
        let found = entry.1.clone();
        self.entries.push(entry);
        Some(found)
    }

    pub fn insert(&mut self, key: K, value: V) {
        self.entries.push((key, value));
        if self.entries.len() > self.most {
            self.entries.remove(0);
        }
    }

    /// Takes out the entry that is best by `rank`. Entries without a rank are left.
    pub fn take_best(&mut self, rank: impl Fn(&K) -> Option<usize>) -> Option<(K, V)> {
        let ranked =
            self.entries.iter().enumerate().filter_map(|(place, (key, _))| Some((rank(key)?, place)));
        let (_, place) = ranked.max()?;
        Some(self.entries.remove(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept() {
        let mut kept = Kept::new(2);
        kept.insert(1, "one");
        kept.insert(2, "two");
        assert_eq!(kept.get(&1), Some("one"));
        kept.insert(3, "three");
        assert_eq!((kept.get(&1), kept.get(&2), kept.get(&3)), (Some("one"), None, Some("three")));
    }

    #[test]
    fn the_best_is_taken_out() {
        let mut kept = Kept::new(4);
        for number in [1, 5, 3, 8] {
            kept.insert(number, ());
        }
        let below_6 = |number: &usize| (*number < 6).then_some(*number);
        assert_eq!(kept.take_best(below_6), Some((5, ())));
        assert_eq!(kept.take_best(below_6), Some((3, ())));
        assert_eq!(kept.take_best(|_| None), None);
    }
}
