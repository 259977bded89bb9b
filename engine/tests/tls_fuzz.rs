//! TLS sessions whose records come in any pieces, with key updates, forged bytes and cuts: a bounded part of what
//! fuzz/fuzz_targets/session.rs does without end.

mod tls_space;

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
    #![proptest_config(cases(1_000))]

    #[test]
    fn no_byte_is_lost_or_wrong_however_the_records_come(bytes in vec(any::<u8>(), 0..400)) {
        tls_space::assert_holds(&bytes);
    }
}
