//! A tunnel through a proxy that answers anything: a bounded part of what fuzz/fuzz_targets/tunnel.rs does without end.

mod mutation;
mod tunnel_space;

use mutation::{cases, corpus, mutations};
use proptest::prelude::*;

#[test]
fn the_corpus_of_answers_holds() {
    for (name, bytes) in corpus() {
        println!("{name}");
        tunnel_space::assert_holds(&bytes);
    }
}

#[test]
fn a_head_at_the_bound_is_read_however_it_is_cut() {
    for head_bytes in [16_384, 16_385, 18_433] {
        tunnel_space::assert_bound(head_bytes);
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn mutations_of_the_corpus_hold(mutation in mutations()) {
        tunnel_space::assert_holds(&mutation.0);
    }
}
