//! A fixed piece of work. The CPU time that it takes tells how fast a core is at that instant: a neighbour on the same
//! physical core, or the clock of the processor, makes it slower, and no counter of the system shows that.

use std::hint::black_box;

/// Numbers in the table through which the work reads: 8 KiB, which the first cache holds.
const TABLE: usize = 2_048;
/// Rounds of each of the three parts. Together they take some 80 µs.
const ADDING: u64 = 8_000;
const READING: usize = 6_000;
const HASHING: u32 = 4_000;
/// The share of them that goes before, untimed.
const WARMING: usize = 8;

/// The state of the work: what a round makes depends on the rounds before it.
pub struct Reference {
    table: [u32; TABLE],
    numbers: [u64; 8],
    sum: u64,
}

impl Reference {
    pub fn new() -> Self {
        let mut table = [0; TABLE];
        for (at, number) in table.iter_mut().enumerate() {
            *number = (at as u32).wrapping_mul(1_103_515_245).wrapping_add(12_345) % TABLE as u32;
        }
        Self { table, numbers: [88_172_645_463_325_252, 1, 7, 9, 3, 5, 11, 13], sum: 0 }
    }

    /// Brings the table, the code and its branches into the core. What the server leaves in the caches differs from server
    /// to server: if the timed work had to fetch its own first, it would tell two servers apart.
    pub fn warm_up(&mut self) {
        self.sum = self.table.iter().fold(self.sum, |sum, &number| sum.wrapping_add(u64::from(number)));
        self.rounds(WARMING);
    }

    /// Does one piece of work: arithmetic that can go on side by side, as in a loop of numbers; reads and branches that
    /// follow from what was read, as in an interpreter; rotations of words, as in a hash.
    pub fn work(&mut self) {
        self.rounds(1);
    }

    fn rounds(&mut self, part: usize) {
        self.add(ADDING / part as u64);
        self.read(READING / part);
        self.hash(HASHING / part as u32);
        black_box(&self.numbers);
    }

    fn add(&mut self, rounds: u64) {
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = self.numbers;
        for round in 0..rounds {
            a = a.wrapping_mul(5).wrapping_add(round);
            b = (b ^ round).wrapping_add(b >> 7);
            c = c.wrapping_add(round ^ (c << 3));
            d = d.wrapping_add(round) ^ (d >> 5);
            e = e.wrapping_mul(3).wrapping_add(round);
            f = (f ^ (f << 1)).wrapping_add(round);
            g = g.wrapping_add((g >> 3) ^ round);
            h = (h << 1).wrapping_add(h >> 9).wrapping_add(round);
        }
        self.numbers = [a, b, c, d, e, f, g, h];
    }

    fn read(&mut self, rounds: usize) {
        let mut at = self.numbers[0] as usize % TABLE;
        for round in 0..rounds {
            at = (self.table[at] as usize + round) % TABLE;
            let number = self.table[at];
            match number % 8 {
                0 => self.sum = self.sum.wrapping_add(at as u64),
                1 => self.sum ^= at as u64,
                2 => self.sum = self.sum.wrapping_sub(round as u64),
                3 => self.sum = self.sum.wrapping_add(u64::from(self.table[(at + 1) % TABLE])),
                4 => self.table[at] = number ^ 1,
                5 => self.sum = self.sum.wrapping_mul(3),
                6 => self.sum >>= 1,
                _ => self.sum = self.sum.wrapping_add(7),
            }
        }
    }

    fn hash(&mut self, rounds: u32) {
        let mut words = self.numbers.map(|number| number as u32);
        words[0] = self.sum as u32;
        for round in 0..rounds {
            let [a, b, c, d, e, f, g, h] = words;
            let mixed = h
                .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
                .wrapping_add((e & f) ^ (!e & g))
                .wrapping_add(round.wrapping_mul(2_654_435_761));
            let turned = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let most = (a & b) ^ (a & c) ^ (b & c);
            words = [mixed.wrapping_add(turned).wrapping_add(most), a, b, c, d.wrapping_add(mixed), e, f, g];
        }
        self.numbers[1] = self.numbers[1].wrapping_add(u64::from(words[0]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::own_cpu_ns;

    #[test]
    fn a_piece_takes_long_enough_that_reading_the_clock_does_not_matter() {
        let mut reference = Reference::new();
        let began_ns = own_cpu_ns();
        (0..20).for_each(|_| reference.work());
        assert!((own_cpu_ns() - began_ns) / 20 > 20_000);
    }

    #[test]
    fn the_same_pieces_end_the_same() {
        let ended = |pieces: usize| {
            let mut reference = Reference::new();
            (0..pieces).for_each(|_| reference.work());
            (reference.numbers, reference.sum)
        };
        assert_eq!(ended(3), ended(3));
        assert_ne!(ended(3), ended(4));
    }
}
