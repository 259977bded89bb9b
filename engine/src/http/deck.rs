//! The order in which several requests are sent. A shuffled deck with as many cards of each request as its weight
//! says is dealt over and over, so that every pass has the exact proportions. Pure.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A deck has at least this many cards, so that its order does not show as a rhythm.
const FEWEST_CARDS: u64 = 1024;
/// This many cards fit into a thread's cache besides its other data.
const MOST_CARDS: u64 = 65_536;

pub struct Deck {
    cards: Box<[u16]>,
    next: usize,
}

impl Deck {
    /// A deck of the requests 0, 1, … by their weights, in which `fault` finds no fault.
    pub fn new(weights: &[u32], random: &mut Xoshiro256PlusPlus) -> Self {
        let passes = if weights.len() == 1 { 1 } else { FEWEST_CARDS.div_ceil(total(weights)) };
        let divisor = common_divisor(weights);
        let copies = |weight: u32| weight as usize / divisor as usize * passes as usize;
        let mut cards: Box<[u16]> = (0_u16..)
            .zip(weights)
            .flat_map(|(request, &weight)| std::iter::repeat_n(request, copies(weight)))
            .collect();
        cards.shuffle(random);
        Self { cards, next: 0 }
    }

    #[inline]
    pub fn deal(&mut self) -> u16 {
        let card = self.cards[self.next];
        self.next += 1;
        if self.next == self.cards.len() {
            self.next = 0;
        }
        card
    }
}

/// Returns why no deck can hold requests of these weights, as a sentence without its subject.
pub fn fault(weights: &[u32]) -> Option<String> {
    if weights.contains(&0) {
        return Some("must each have a weight of at least 1".into());
    }
    let cards = if weights.is_empty() { 0 } else { total(weights) };
    (cards > MOST_CARDS).then(|| {
        format!(
            "have weights that add up to {cards} in lowest terms, and {MOST_CARDS} at most can be kept exactly: \
             choose rounder ones"
        )
    })
}

/// Returns the sum of the weights in lowest terms.
fn total(weights: &[u32]) -> u64 {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    sum / u64::from(common_divisor(weights))
}

fn common_divisor(weights: &[u32]) -> u32 {
    let divisor = |mut a: u32, mut b: u32| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    weights.iter().copied().fold(0, divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use rand::RngExt;

    fn deal(weights: &[u32], count: usize, seed: u64) -> Vec<u16> {
        let mut deck = Deck::new(weights, &mut random::seeded(seed, 0));
        (0..count).map(|_| deck.deal()).collect()
    }

    fn count(dealt: &[u16], request: usize) -> u64 {
        dealt.iter().filter(|&&card| usize::from(card) == request).count() as u64
    }

    #[test]
    fn every_pass_holds_the_exact_proportions() {
        let mut random = random::seeded(7, 0);
        for seed in 0..200 {
            let weights: Vec<u32> =
                (0..random.random_range(1..6)).map(|_| random.random_range(1..100)).collect();
            let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
            let cards = Deck::new(&weights, &mut random::seeded(seed, 0)).cards.len();
            assert!(cards == 1 || cards as u64 >= FEWEST_CARDS);
            for passes in 1..3 {
                let dealt = deal(&weights, cards * passes, seed);
                for (request, &weight) in weights.iter().enumerate() {
                    let exact = u64::from(weight) * dealt.len() as u64;
                    assert_eq!(count(&dealt, request) * sum, exact, "{weights:?}");
                }
            }
        }
    }

    #[test]
    fn the_order_is_the_seed_s() {
        assert_eq!(deal(&[3, 1], 5000, 1), deal(&[3, 1], 5000, 1));
        assert_ne!(deal(&[3, 1], 5000, 1), deal(&[3, 1], 5000, 2));
    }

    #[test]
    fn what_is_dealt_next_does_not_follow_from_what_was_dealt_last() {
        let dealt = deal(&[1, 1], 1024, 3);
        let repeats = dealt.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
        // The bound is five standard deviations of 1,023 tosses of a coin.
        assert!((repeats - 511.5).abs() < 80.0, "{repeats}");
    }

    #[test]
    fn weights_count_in_lowest_terms() {
        assert_eq!(fault(&[4_000_000_000, 2_000_000_000, 2_000_000_000]), None);
        let mut dealt = deal(&[4_000_000_000, 2_000_000_000, 2_000_000_000], 1024, 1);
        dealt.sort_unstable();
        assert_eq!((count(&dealt, 0), count(&dealt, 1), count(&dealt, 2)), (512, 256, 256));
    }

    #[test]
    fn weights_that_cannot_be_kept_are_a_fault() {
        assert_eq!(fault(&[1]), None);
        assert_eq!(fault(&[u32::MAX]), None);
        assert!(fault(&[1, 0]).unwrap().contains("at least 1"));
        assert!(fault(&[u32::MAX, u32::MAX - 1]).unwrap().contains("rounder"));
    }
}
