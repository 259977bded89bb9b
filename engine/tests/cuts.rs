//! Answers in pieces, as a connection reads them over TCP and TLS: however they are cut, each request has the outcome
//! that the parser finds in the whole answer. The peer sends the fuzzed corpus, and mutations of it, piece by piece.

mod mutation;
mod parser;
mod peer;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use mutation::{cases, corpus, mutations};
use parser::{Reading, expectation};
use peer::tls::{Authority, TlsSocket, close, play_tls};
use peer::{play, read_request, run, spec};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustls::version::TLS13;
use serde_json::{Value, json};

use crumple_engine::outcome::{Outcome, Outcomes};

const MUTATIONS: usize = 150;

/// Returns the corpus and some mutations of it, each without what follows a whole answer: by chance, this comes with
/// the answer or after it.
fn answers() -> Vec<Vec<u8>> {
    let mut runner = TestRunner::new(cases(0));
    let mutations = mutations();
    let mut mutation = || mutations.new_tree(&mut runner).unwrap().current().0;
    let mutations: Vec<Vec<u8>> = std::iter::repeat_with(&mut mutation).take(MUTATIONS).collect();
    let answers = corpus().into_iter().map(|(_, bytes)| bytes).chain(mutations);
    answers
        .map(|mut bytes| {
            if let Reading::Whole { taken_bytes, .. } = reading(&bytes) {
                bytes.truncate(taken_bytes);
            }
            bytes
        })
        .collect()
}

fn reading(bytes: &[u8]) -> Reading {
    parser::read([bytes], &expectation(200, b"hello", false))
}

/// Returns how requests with these answers end.
fn predicted(answers: &[Vec<u8>]) -> Value {
    let mut outcomes = Outcomes::default();
    for answer in answers {
        outcomes.count(match reading(answer) {
            Reading::Whole { outcome, .. } => outcome,
            Reading::CutShort => Outcome::ClosedEarly,
            Reading::Malformed(_) => Outcome::Malformed,
        });
    }
    json!(outcomes)
}

/// Sends `bytes` in pieces. The engine may or may not read between them.
fn send_in_pieces(socket: &mut impl Write, bytes: &[u8], random: &mut Xoshiro256PlusPlus) {
    let longest = [1, 3, 20, 200][random.random_range(0..4)];
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(random.random_range(1..=longest).min(rest.len()));
        if socket.write_all(piece).is_err() {
            return; // The engine has given up the connection.
        }
        if random.random_range(0..4) == 0 {
            thread::sleep(Duration::from_micros(random.random_range(0..300)));
        }
        rest = behind;
    }
}

/// Runs a trial in which each connection has one request, so that the answers are given in order.
fn outcomes(address: &str, tls: Value, answers: usize) -> Value {
    let mut spec = spec(address, answers as u64);
    spec["target"]["tls"] = tls;
    spec["shape"]["connections"] = json!(1);
    spec["connection"] = json!("per-request");
    spec["requests"][0]["expect"]["hash_one_in"] = json!(1);
    spec["stop"]["within_s"] = json!(50.0);
    run(&spec)["outcomes"].clone()
}

fn assert_read_as_parsed(answers: &[Vec<u8>], outcomes_of: impl Fn(&[Vec<u8>]) -> Value) {
    if outcomes_of(answers) == predicted(answers) {
        return;
    }
    for answer in answers {
        let one = std::slice::from_ref(answer);
        assert_eq!(outcomes_of(one), predicted(one), "of \"{}\"", answer.escape_ascii());
    }
    assert_eq!(outcomes_of(answers), predicted(answers), "each alone is read as it is parsed");
}

/// Returns a function that gives the next of `answers` to each connection.
fn player(answers: &[Vec<u8>]) -> impl Fn() -> (Vec<u8>, Xoshiro256PlusPlus) + Send + Sync + Clone + 'static {
    let (answers, next) = (Arc::new(answers.to_vec()), Arc::new(AtomicUsize::new(0)));
    move || {
        let turn = next.fetch_add(1, Relaxed);
        (answers.get(turn).cloned().unwrap_or_default(), Xoshiro256PlusPlus::seed_from_u64(turn as u64))
    }
}

#[test]
fn answers_in_pieces_are_read_as_they_are_parsed() {
    assert_read_as_parsed(&answers(), |answers| {
        let next = player(answers);
        let address = play(move |mut socket| {
            socket.set_nodelay(true).unwrap();
            let (answer, mut random) = next();
            read_request(&mut socket);
            send_in_pieces(&mut socket, &answer, &mut random);
        });
        outcomes(&address, Value::Null, answers.len())
    });
}

#[test]
fn answers_in_records_are_read_as_they_are_parsed() {
    let authority = Authority::new("of the tests");
    assert_read_as_parsed(&answers(), |answers| {
        let next = player(answers);
        let (address, _) = play_tls(authority.server(&TLS13, false), move |socket: &mut TlsSocket| {
            let (answer, mut random) = next();
            read_request(socket);
            send_in_pieces(socket, &answer, &mut random);
            close(socket);
        });
        outcomes(&address, authority.trusted(), answers.len())
    });
}
