//! A bounded part of what the fuzz targets do without end: the stored corpus, and mutations of it, which are the same
//! in every run.

mod mutation;
mod parser;

use mutation::{cases, corpus, mutations};
use parser::{assert_cuts_change_nothing, assert_heads_hold};
use proptest::prelude::*;

#[test]
fn the_corpus_holds() {
    for (name, bytes) in corpus() {
        println!("{name}");
        assert_cuts_change_nothing(&bytes);
        assert_heads_hold(&bytes);
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn its_mutations_hold(mutation in mutations()) {
        assert_cuts_change_nothing(&mutation.0);
        assert_heads_hold(&mutation.0);
    }
}
