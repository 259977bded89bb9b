//! The hot loop against peers that do anything: a bounded part of what fuzz/fuzz_targets/hot_loop.rs does without end.

mod loop_space;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The cases are the same in every run.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(42),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn whatever_its_peers_do_every_request_ends_once(bytes in vec(any::<u8>(), 0..2_000)) {
        loop_space::assert_holds(&bytes);
    }
}
