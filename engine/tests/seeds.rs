//! What a seed gives is part of what a result rests on: whoever repeats a load with its seed sends the same requests at
//! the same times. These numbers may change only with a reason that the changelog names.

use crumple_engine::http::deck::Deck;
use crumple_engine::http::values::Values;
use crumple_engine::part::Part;
use crumple_engine::random::seeded;
use crumple_engine::shape::pause::Pause;
use crumple_engine::shape::schedule::{Open, Stretch};
use crumple_engine::spec::Arrivals;

const SEED: u64 = 42;

#[test]
fn a_seed_gives_these_arrivals() {
    let rising = Stretch { from_per_ns: 1e-6, to_per_ns: 3e-6, length_ns: 1e9 };
    let open =
        Open { connections: 10, arrivals: Arrivals::Poisson, stretches: vec![rising], part: Part::WHOLE };
    let due_ns: Vec<u64> = open.schedule(1_000_000, SEED).take(8).collect();
    assert_eq!(
        due_ns,
        [693_701, 2_256_244, 3_431_638, 4_226_223, 6_639_363, 7_437_218, 8_419_926, 9_426_625]
    );
}

#[test]
fn a_seed_gives_these_pauses() {
    let mut random = seeded(SEED, 1);
    let pause = Pause::Exponential { mean_ns: 1e6 };
    assert_eq!(
        [0; 8].map(|_: u64| pause.draw_ns(&mut random)),
        [2_763_651, 604_661, 2_287_441, 260_138, 1_111_834, 670_736, 1_851_750, 452_100]
    );
}

#[test]
fn a_seed_gives_this_order_of_requests() {
    let mut deck = Deck::new(&[3, 2, 1], &mut seeded(SEED, 2));
    assert_eq!([0; 12].map(|_: u16| deck.deal()), [1, 0, 0, 1, 1, 2, 1, 0, 1, 0, 1, 0]);
}

#[test]
fn a_seed_gives_these_values() {
    let (mut random, mut last_seq) = (seeded(SEED, 3), 0);
    let mut values = Values::new(Part::WHOLE, 0, &mut last_seq, &mut random);
    assert_eq!(
        [0; 8].map(|_: u64| values.random(1, 1_000_000)),
        [842_476, 555_548, 256_511, 6_592, 752_515, 515_389, 62_007, 436_871]
    );
    assert_eq!(
        [0; 4].map(|_: u64| values.random(0, u64::MAX)),
        [
            17_272_971_536_171_266_194,
            14_195_978_936_350_650_826,
            16_971_342_667_088_683_485,
            239_043_270_166_126_277
        ]
    );
}
