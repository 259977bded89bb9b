//! The engine's parser beside two others that share none of its code for bodies: hyper's, run over the stored corpus
//! and its mutations; and h11's, which follows the standard to the letter, as recorded over the corpus. They read the
//! same from the same bytes, except for intended differences.

mod mutation;
mod parser;

use mutation::{cases, corpus, mutations, named};
use parser::agreement::assert_agreement;
use parser::{Reading, expectation, read};
use proptest::prelude::*;
use serde_json::Value;

use crumple_engine::outcome::Outcome;

#[test]
fn hyper_reads_the_corpus_as_we_do() {
    for (name, bytes) in corpus() {
        println!("{name}");
        assert_agreement(&bytes);
    }
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn hyper_reads_its_mutations_as_we_do(mutation in mutations()) {
        assert_agreement(&mutation.0);
    }
}

/// Where h11 reads something else, and why the engine does not.
const OTHERWISE_IN_H11: &[(&str, &str)] = &[
    ("chunked-17-digits", "a size has no more digits than 64 bits can hold"),
    ("chunked-after-gzip", "a body in another coding is counted and hashed as it comes"),
    ("chunked-beside-latin-1", "a body in another coding is counted and hashed as it comes"),
    ("chunked-blanks-before-extension", "RFC 9112, 7.1.1 allows them"),
    ("chunked-http-1.0", "RFC 9112, 6.1 calls that framing faulty"),
    ("chunked-in-two-lines", "a body in another coding is counted and hashed as it comes"),
    ("chunked-mere-line-feeds", "refused at once, where h11 waits for the end of a line"),
    ("chunked-more-than-64-bits", "63 bits hold every size there is"),
    ("chunked-the-most-of-64-bits", "63 bits hold every size there is"),
    ("empty-lines-first", "passed over, as hyper does"),
    ("header-control-byte", "RFC 9110, 5.5 allows none"),
    ("header-folded-coding", "a body in another coding is counted and hashed as it comes"),
    ("header-folded-coding-within", "a body in another coding is counted and hashed as it comes"),
    ("headers-101", "no more than 100, as hyper has it"),
    ("sized-more-than-64-bits", "63 bits hold every size there is"),
    ("sized-one-more-than-63-bits", "63 bits hold every size there is"),
    ("sized-the-most-of-64-bits", "63 bits hold every size there is"),
    ("sized-with-leading-zeros", "RFC 9110, 8.6 allows them"),
    ("sized-beside-identity", "this coding changes nothing, as curl has it"),
    ("ssh", "refused at once, where h11 waits for the end of a line"),
    ("trailers-101", "no more than 100, as hyper has it"),
    ("trailers-control-byte", "RFC 9110, 5.5 allows none"),
    ("trailers-stray-carriage-returns", "refused at once, where h11 waits for the end of a line"),
    ("trailers-that-would-frame", "a trailer frames nothing"),
    ("until-close-coding-after-chunked", "a body in another coding is counted and hashed as it comes"),
    ("until-close-other-coding", "a body in another coding is counted and hashed as it comes"),
    ("version-0.9", "refused at once, where h11 waits for the end of a line"),
    ("version-1.2", "HTTP/1.0 and HTTP/1.1 are all there is"),
];

#[test]
fn h11_reads_the_corpus_as_we_do() {
    let readings: Value = serde_json::from_str(include_str!("parser/h11_readings.json")).unwrap();
    for (name, bytes) in named() {
        let theirs = &readings[&name];
        assert!(theirs.is_object(), "{name} is new: run tests/parser/h11_readings.py");
        let agree = ["GET", "HEAD"].iter().all(|method| agrees(&bytes, &theirs[method], *method == "HEAD"));
        let otherwise = OTHERWISE_IN_H11.iter().find(|(known, _)| *known == name);
        assert_eq!(agree, otherwise.is_none(), "{name}: h11 makes of it {theirs}; {otherwise:?}");
    }
}

fn agrees(bytes: &[u8], theirs: &Value, without_body: bool) -> bool {
    let status = theirs[1].as_u64().unwrap_or(200) as u16;
    let body: Vec<u8> = theirs[2].as_str().unwrap_or_default().chars().map(|latin_1| latin_1 as u8).collect();
    let ours = read([bytes], &expectation(status, &body, without_body));
    match theirs[0].as_str().unwrap() {
        "whole" => matches!(ours, Reading::Whole { outcome: Outcome::Ok, .. }),
        "cut-short" => ours == Reading::CutShort,
        _ => matches!(ours, Reading::Malformed(_)),
    }
}
