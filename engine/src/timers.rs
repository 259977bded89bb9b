//! Users who wait for an instant: the end of a pause or of a backoff. Adding a timer and taking the next one cost the
//! same however many there are. The timers are in a wheel of slots: each slot of a level is as long as the whole
//! level below it (Varghese and Lauck, *Hashed and Hierarchical Timing Wheels*, SOSP 1987). Pure; it reads no clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A slot of the lowest level is 2^20 ns long, about a millisecond.
const SLOT_BITS: u32 = 20;
const LEVEL_BITS: u32 = 8;
const SLOTS: usize = 1 << LEVEL_BITS;
/// The levels cover 2^52 ns, which are 52 days. A pause lasts a day at most.
const LEVELS: usize = 4;

type Timer = (u64, u32);

pub struct Timers {
    /// Timers due in the present slot or before it, in order.
    near: BinaryHeap<Reverse<Timer>>,
    levels: [Level; LEVELS],
    /// The present slot, of the lowest level. Its timers are in `near`.
    slot: u64,
    count: usize,
}

struct Level {
    slots: Box<[Vec<Timer>]>,
    /// A bit for each slot that holds timers.
    occupied: [u64; SLOTS / 64],
}

impl Timers {
    /// No timer may be due long before `now_ns`.
    pub fn new(now_ns: u64) -> Self {
        let level = |_| Level { slots: (0..SLOTS).map(|_| Vec::new()).collect(), occupied: [0; SLOTS / 64] };
        Self {
            near: BinaryHeap::new(),
            levels: std::array::from_fn(level),
            slot: now_ns >> SLOT_BITS,
            count: 0,
        }
    }

    /// Moves on to `now_ns` if there are no timers, so that the next ones are placed from there.
    pub fn begin(&mut self, now_ns: u64) {
        if self.count == 0 {
            self.slot = now_ns >> SLOT_BITS;
        }
    }

    pub fn add(&mut self, due_ns: u64, user: u32) {
        self.count += 1;
        self.place((due_ns, user));
    }

    /// Takes the first timer that is due at `now_ns`.
    #[inline]
    pub fn pop(&mut self, now_ns: u64) -> Option<Timer> {
        if self.count == 0 {
            return None;
        }
        self.advance(now_ns);
        let &Reverse((due_ns, user)) = self.near.peek()?;
        if due_ns > now_ns {
            return None;
        }
        self.near.pop();
        self.count -= 1;
        Some((due_ns, user))
    }

    /// Returns when to look again: the next due time, or the beginning of the slot in which it lies.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        if let Some(&Reverse((due_ns, _))) = self.near.peek() {
            return Some(due_ns);
        }
        self.next_slot().map(|slot| slot << SLOT_BITS)
    }

    /// Removes all timers. Returns their users, in no order.
    pub fn drain(&mut self) -> Vec<u32> {
        self.count = 0;
        let slots = self.levels.iter_mut().flat_map(|level| {
            level.occupied = [0; SLOTS / 64];
            level.slots.iter_mut().flat_map(std::mem::take)
        });
        self.near.drain().map(|Reverse(timer)| timer).chain(slots).map(|(_, user)| user).collect()
    }

    fn place(&mut self, timer: Timer) {
        let slot = timer.0 >> SLOT_BITS;
        if slot <= self.slot {
            self.near.push(Reverse(timer));
            return;
        }
        // The level is that of the highest digit in which the slot differs from the present one.
        let level = ((u64::BITS - 1 - (slot ^ self.slot).leading_zeros()) / LEVEL_BITS) as usize;
        let level = level.min(LEVELS - 1);
        let index = (slot >> (level as u32 * LEVEL_BITS)) as usize % SLOTS;
        self.levels[level].slots[index].push(timer);
        self.levels[level].occupied[index / 64] |= 1 << (index % 64);
    }

    fn advance(&mut self, now_ns: u64) {
        let present = now_ns >> SLOT_BITS;
        while self.slot < present {
            let Some(next) = self.next_slot().filter(|&next| next <= present) else {
                self.slot = present;
                return;
            };
            self.slot = next;
            // Take the slots that begin here, from the highest level down: their timers now belong to a lower level.
            for level in (0..LEVELS).rev() {
                let index = (next >> (level as u32 * LEVEL_BITS)) as usize % SLOTS;
                let begins = next.trailing_zeros() >= level as u32 * LEVEL_BITS;
                if begins && self.levels[level].holds(index) {
                    let mut timers = self.levels[level].take(index);
                    timers.drain(..).for_each(|timer| self.place(timer));
                    let slot = &mut self.levels[level].slots[index];
                    if slot.is_empty() {
                        *slot = timers; // It keeps its memory for the next time round.
                    }
                }
            }
        }
    }

    /// Returns the next slot of the lowest level, after the present one, at which a slot that holds timers begins.
    fn next_slot(&self) -> Option<u64> {
        let next_of = |(level, held): (usize, &Level)| {
            let bits = level as u32 * LEVEL_BITS;
            let present = self.slot >> bits;
            let ahead = held.next_after(present as usize % SLOTS)?;
            Some((present + ahead as u64) << bits)
        };
        self.levels.iter().enumerate().filter_map(next_of).min()
    }
}

impl Level {
    fn holds(&self, index: usize) -> bool {
        self.occupied[index / 64] >> (index % 64) & 1 == 1
    }

    fn take(&mut self, index: usize) -> Vec<Timer> {
        self.occupied[index / 64] &= !(1 << (index % 64));
        std::mem::take(&mut self.slots[index])
    }

    /// Returns how many slots after `index` the next one that holds timers is, going round.
    fn next_after(&self, index: usize) -> Option<usize> {
        let from = index + 1;
        for turn in 0..=self.occupied.len() {
            let word = from / 64 + turn;
            let mut held = self.occupied[word % self.occupied.len()];
            if turn == 0 {
                held &= u64::MAX << (from % 64);
            }
            if held != 0 {
                return Some(word * 64 + held.trailing_zeros() as usize - index);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use rand::RngExt;

    #[test]
    fn timers_come_in_the_order_in_which_they_are_due() {
        let mut random = random::seeded(5, 0);
        for longest_ns in [1_000, 5_000_000, 3_000_000_000, 86_400_000_000_000] {
            let began_ns = 987_654_321_000_000 + random.random_range(0..1 << 40);
            let mut timers = Timers::new(began_ns);
            let mut expected: Vec<Timer> =
                (0..2_000).map(|user| (began_ns + random.random_range(0..longest_ns), user)).collect();
            expected.iter().for_each(|&(due_ns, user)| timers.add(due_ns, user));
            expected.sort_unstable();
            let mut now_ns = began_ns;
            for timer in expected {
                while let Some(next_ns) = timers.next_ns().filter(|&next_ns| next_ns > now_ns) {
                    assert!(next_ns <= timer.0, "it would be late");
                    assert_eq!(timers.pop(now_ns), None, "it would be early");
                    now_ns = next_ns;
                    timers.advance(now_ns);
                }
                assert_eq!(timers.pop(now_ns), Some(timer));
            }
            assert_eq!((timers.next_ns(), timers.pop(u64::MAX)), (None, None));
        }
    }

    #[test]
    fn timers_are_added_while_others_come() {
        let mut random = random::seeded(6, 0);
        let mut timers = Timers::new(0);
        let mut now_ns = 0;
        let mut waiting = std::collections::BTreeSet::new();
        for user in 0..50_000 {
            let timer = (now_ns + random.random_range(0..2_000_000_000), user);
            timers.add(timer.0, timer.1);
            waiting.insert(timer);
            now_ns += random.random_range(0..200_000);
            while let Some(timer) = timers.pop(now_ns) {
                assert_eq!(waiting.pop_first(), Some(timer));
            }
            assert!(waiting.first().is_none_or(|&(due_ns, _)| due_ns > now_ns));
        }
        assert_eq!(timers.drain().len(), waiting.len());
        assert_eq!(timers.next_ns(), None);
    }

    /// The clock counts from when the machine started.
    #[test]
    fn it_works_however_long_the_machine_has_been_up() {
        for days in [1, 52, 53, 200, 4_000] {
            let now_ns = days * 86_400_000_000_000;
            for begins in [false, true] {
                let mut timers = Timers::new(0);
                if begins {
                    timers.begin(now_ns);
                }
                (0..1_000).for_each(|user| timers.add(now_ns + u64::from(user) * 3_000_000, user));
                let came = (0..1_000).map(|turn| timers.pop(now_ns + turn * 3_000_000));
                let users: Vec<u32> = came.map(|timer| timer.expect("it is due").1).collect();
                assert_eq!(users, (0..1_000).collect::<Vec<_>>(), "{days} days");
            }
        }
    }

    #[test]
    fn a_long_leap_leaves_none_behind() {
        let mut timers = Timers::new(0);
        (0..1_000).for_each(|user| timers.add(u64::from(user) * 70_000_000, user));
        let came: Vec<u32> = std::iter::from_fn(|| timers.pop(1 << 50)).map(|(_, user)| user).collect();
        assert_eq!(came, (0..1_000).collect::<Vec<_>>());
    }
}
