//! Where the engine's reading of some bytes and hyper's must agree. Each intended difference is in `differences.rs`,
//! with what it is about. Once that is taken out of the bytes, both readings must agree again.

use super::differences::{DIFFERENCES, IDENTITY, SWITCHING, Stricter, WORDLESS, end_in_faulty_trailers};
use super::hyper_client::{self, Theirs, Then};
use super::{Reading, expectation, read};
use crumple_engine::outcome::Outcome;

/// Asserts that both read the same from `bytes`, except for the intended differences.
pub fn assert_agreement(bytes: &[u8]) {
    for without_body in [false, true] {
        let both = Both::of(bytes, without_body);
        assert!(
            both.is_explained(),
            "ours: {:?}; theirs: {:?}; of \"{}\"",
            both.ours(&both.theirs),
            both.theirs,
            bytes.escape_ascii()
        );
        if both.agree() {
            assert_same_use(&both);
        }
    }
}

/// Some bytes, and how hyper reads them.
struct Both<'a> {
    bytes: &'a [u8],
    without_body: bool,
    theirs: Theirs,
}

impl<'a> Both<'a> {
    fn of(bytes: &'a [u8], without_body: bool) -> Self {
        Self { bytes, without_body, theirs: hyper_client::read(bytes, without_body, Then::Close) }
    }

    /// Returns the engine's reading, if status and body are expected to be as in `like`.
    fn ours(&self, like: &Theirs) -> Reading {
        let (status, body) = match like {
            Theirs::Whole { status, body, .. } => (*status, body.as_slice()),
            _ => (200, b"hello".as_slice()),
        };
        read([self.bytes], &expectation(status, body, self.without_body))
    }

    fn agree(&self) -> bool {
        match (self.ours(&self.theirs), &self.theirs) {
            (Reading::Whole { outcome, .. }, Theirs::Whole { .. }) => outcome == Outcome::Ok,
            (Reading::CutShort, Theirs::CutShort) | (Reading::Malformed(_), Theirs::Malformed(_)) => true,
            _ => false,
        }
    }

    /// Returns whether both readings agree, or agree once the intended differences are taken out one after the other.
    /// Taking one out must not change the reading of the more lenient side.
    fn is_explained(&self) -> bool {
        if self.agree() || self.is_switch() || self.is_trailers_that_differ_in_time() {
            return true;
        }
        DIFFERENCES.iter().any(|difference| {
            let Some(plain) = (difference.take_out)(self.bytes, self.without_body) else {
                return false;
            };
            let plain = Both::of(&plain, self.without_body);
            let only_this = match difference.stricter {
                Stricter::We => {
                    is_malformed(self.ours(&self.theirs)) && same_answer(&self.theirs, &plain.theirs)
                }
                Stricter::They => same(self.ours(&plain.theirs), plain.ours(&plain.theirs)),
            };
            only_this && plain.is_explained()
        })
    }

    fn is_switch(&self) -> bool {
        is_malformed(self.ours(&self.theirs))
            && matches!(self.theirs, Theirs::Whole { status: SWITCHING, .. })
    }

    /// Returns whether one side has already seen what the other sees only when all trailers have come. The engine
    /// looks at each byte as it comes, but counts a trailer only when the next line does not continue it.
    fn is_trailers_that_differ_in_time(&self) -> bool {
        let whole = |is_faulty: &dyn Fn(&Both) -> bool| {
            end_in_faulty_trailers(self.bytes, self.without_body, |whole| {
                is_faulty(&Both::of(whole, self.without_body))
            })
        };
        match (self.ours(&self.theirs), &self.theirs) {
            (Reading::Malformed(_), Theirs::CutShort) => {
                whole(&|whole| matches!(whole.theirs, Theirs::Malformed(_)))
            }
            (Reading::CutShort, Theirs::Malformed(_)) => {
                whole(&|whole| is_malformed(whole.ours(&whole.theirs)))
            }
            _ => false,
        }
    }
}

fn is_malformed(reading: Reading) -> bool {
    matches!(reading, Reading::Malformed(_))
}

/// Returns whether two readings of the engine differ at most in where the answer ends.
fn same(one: Reading, other: Reading) -> bool {
    let apart_from_length = |reading| match reading {
        Reading::Whole { outcome, keeps_alive, .. } => {
            Reading::Whole { outcome, keeps_alive, taken_bytes: 0 }
        }
        reading => reading,
    };
    apart_from_length(one) == apart_from_length(other)
}

/// Returns whether two readings of hyper differ at most in the use of the connection.
fn same_answer(one: &Theirs, other: &Theirs) -> bool {
    match (one, other) {
        (
            Theirs::Whole { status, body, .. },
            Theirs::Whole { status: other_status, body: other_body, .. },
        ) => (status, body) == (other_status, other_body),
        (one, other) => one == other,
    }
}

/// Asserts that both sides use the connection again, or that neither does, if the answer takes all of the bytes.
fn assert_same_use(both: &Both) {
    // What the bytes say about the connection, in a form that hyper reads, too.
    let mut bytes = both.bytes.to_vec();
    for difference in [WORDLESS, IDENTITY] {
        bytes = (difference.take_out)(&bytes, both.without_body).unwrap_or(bytes);
    }
    let Reading::Whole { keeps_alive, taken_bytes, .. } = both.ours(&both.theirs) else {
        return;
    };
    let theirs = match hyper_client::read(&bytes, both.without_body, Then::Silence) {
        Theirs::Whole { keeps_alive, .. } => keeps_alive,
        // The answer ends only with the stream.
        Theirs::Waiting => false,
        other => panic!("{other:?} of \"{}\"", bytes.escape_ascii()),
    };
    assert!(
        keeps_alive == theirs || taken_bytes < both.bytes.len(),
        "used again by us: {keeps_alive}, by hyper: {theirs}; of \"{}\"",
        bytes.escape_ascii()
    );
}
