//! The stored corpus, and mutations of it that reach many states of the parser without being only nonsense.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Texts that are inserted into the corpus: those on which a parser's decisions depend.
const WORDS: &[&str] = &[
    "\r\n",
    "\n",
    "\r",
    "\r\n\r\n",
    " ",
    "\t",
    ":",
    ";",
    ",",
    "0",
    "5",
    "f",
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "HTTP/1.1 ",
    "HTTP/1.0 ",
    "100",
    "101",
    "103",
    "200 OK\r\n",
    "204",
    "304",
    "Content-Length: ",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: ",
    "Transfer-Encoding: chunked\r\n",
    "chunked",
    "gzip",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "X: y\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "ffffffffffffffff",
    "18446744073709551615",
    "\0",
    "\u{7f}",
];

#[derive(Clone, Debug)]
enum Edit {
    Put(Index, &'static str),
    Set(Index, u8),
    Remove(Index, usize),
    Repeat(Index, usize),
    /// Cuts the bytes here, and appends the rest of another answer.
    Splice(Index, Index, Index),
}

/// Returns the answers that were made by hand, each with the name that describes it.
pub fn named() -> Vec<(String, Vec<u8>)> {
    kept("named")
}

/// Returns the whole corpus: answers that were made by hand, and those in which the fuzzer found something new.
pub fn corpus() -> Vec<(String, Vec<u8>)> {
    [named(), kept("found")].concat()
}

fn kept(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/fuzz/corpus/{folder}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut kept: Vec<_> = files
        .map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap()))
        .collect();
    kept.sort();
    kept
}

/// Bytes that a failed test prints as text.
#[derive(Clone)]
pub struct Mutation(pub Vec<u8>);

impl fmt::Debug for Mutation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Returns one of the corpus, changed in up to five places.
pub fn mutations() -> impl Strategy<Value = Mutation> {
    let corpus: Vec<Vec<u8>> = corpus().into_iter().map(|(_, bytes)| bytes).collect();
    (any::<Index>(), vec(edits(), 1..6)).prop_map(move |(which, edits)| {
        Mutation(edits.iter().fold(which.get(&corpus).clone(), |bytes, edit| edit.apply(bytes, &corpus)))
    })
}

fn edits() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (any::<Index>(), select(WORDS)).prop_map(|(at, word)| Edit::Put(at, word)),
        2 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        2 => (any::<Index>(), 1..12_usize).prop_map(|(at, bytes)| Edit::Remove(at, bytes)),
        1 => (any::<Index>(), 1..40_usize).prop_map(|(at, bytes)| Edit::Repeat(at, bytes)),
        1 => any::<(Index, Index, Index)>().prop_map(|(at, other, from)| Edit::Splice(at, other, from)),
    ]
}

impl Edit {
    fn apply(&self, mut bytes: Vec<u8>, corpus: &[Vec<u8>]) -> Vec<u8> {
        let place = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
        match self {
            Self::Put(at, word) => {
                let at = place(at, &bytes);
                bytes.splice(at..at, word.bytes());
            }
            Self::Set(at, byte) if !bytes.is_empty() => *at.get_mut(&mut bytes) = *byte,
            Self::Set(..) => {}
            Self::Remove(at, length) => {
                let at = place(at, &bytes);
                bytes.drain(at..bytes.len().min(at + length));
            }
            Self::Repeat(at, length) => {
                let at = place(at, &bytes);
                bytes.extend_from_within(at..bytes.len().min(at + length));
            }
            Self::Splice(at, other, from) => {
                bytes.truncate(place(at, &bytes));
                let other = other.get(corpus);
                bytes.extend_from_slice(&other[place(from, other)..]);
            }
        }
        bytes
    }
}

/// Returns a configuration with this many cases, which are the same in every run.
pub fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(42);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}
