//! Where our reading of some bytes and hyper's must agree. Each difference that is meant is named in
//! `differences.rs`, with what it is about: once that is taken out of the bytes, both must agree again.

use super::differences::{DIFFERENCES, SWITCHING, Stricter, WORDLESS, end_in_faulty_trailers};
use super::hyper_client::{self, Theirs, Then};
use super::{Reading, expectation, read};
use crumple_engine::outcome::Outcome;

/// Asserts that both make the same of `bytes`, but where they differ on purpose.
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

/// Some bytes, and what hyper makes of them.
struct Both<'a> {
    bytes: &'a [u8],
    without_body: bool,
    theirs: Theirs,
}

impl<'a> Both<'a> {
    fn of(bytes: &'a [u8], without_body: bool) -> Self {
        Self { bytes, without_body, theirs: hyper_client::read(bytes, without_body, Then::Close) }
    }

    /// What we make of them, where status and body are expected to be as in `like`.
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
            (Reading::CutShort, Theirs::CutShort) | (Reading::Malformed, Theirs::Malformed(_)) => true,
            _ => false,
        }
    }

    /// Whether both agree, or agree once the differences that are meant are taken out, one after the other: each of
    /// them must leave as it was the reading of the one who does not care.
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
                    self.ours(&self.theirs) == Reading::Malformed && same_answer(&self.theirs, &plain.theirs)
                }
                Stricter::They => same(self.ours(&plain.theirs), plain.ours(&plain.theirs)),
            };
            only_this && plain.is_explained()
        })
    }

    fn is_switch(&self) -> bool {
        self.ours(&self.theirs) == Reading::Malformed
            && matches!(self.theirs, Theirs::Whole { status: SWITCHING, .. })
    }

    /// Whether one has seen already what the other sees when all trailers are there. We look at each byte as it comes,
    /// but count a trailer when the next line does not go on with it.
    fn is_trailers_that_differ_in_time(&self) -> bool {
        let whole = |is_faulty: &dyn Fn(&Both) -> bool| {
            end_in_faulty_trailers(self.bytes, self.without_body, |whole| {
                is_faulty(&Both::of(whole, self.without_body))
            })
        };
        match (self.ours(&self.theirs), &self.theirs) {
            (Reading::Malformed, Theirs::CutShort) => {
                whole(&|whole| matches!(whole.theirs, Theirs::Malformed(_)))
            }
            (Reading::CutShort, Theirs::Malformed(_)) => {
                whole(&|whole| whole.ours(&whole.theirs) == Reading::Malformed)
            }
            _ => false,
        }
    }
}

/// Whether two readings of ours differ in nothing but where the answer ends.
fn same(one: Reading, other: Reading) -> bool {
    let apart_from_length = |reading| match reading {
        Reading::Whole { outcome, keeps_alive, .. } => {
            Reading::Whole { outcome, keeps_alive, taken_bytes: 0 }
        }
        reading => reading,
    };
    apart_from_length(one) == apart_from_length(other)
}

/// Whether two readings of hyper's differ in nothing but the use of the connection.
fn same_answer(one: &Theirs, other: &Theirs) -> bool {
    match (one, other) {
        (
            Theirs::Whole { status, body, .. },
            Theirs::Whole { status: other_status, body: other_body, .. },
        ) => (status, body) == (other_status, other_body),
        (one, other) => one == other,
    }
}

/// Asserts that both use the connection again, or neither does, where the answer takes all of the bytes.
fn assert_same_use(both: &Both) {
    // What each says of the connection, said so that hyper reads it too.
    let worded = (WORDLESS.take_out)(both.bytes, both.without_body);
    let bytes = worded.as_deref().unwrap_or(both.bytes);
    let Reading::Whole { keeps_alive, taken_bytes, .. } = both.ours(&both.theirs) else {
        return;
    };
    let theirs = match hyper_client::read(bytes, both.without_body, Then::Silence) {
        Theirs::Whole { keeps_alive, .. } => keeps_alive,
        // Only the end of the stream ends this answer.
        Theirs::Waiting => false,
        other => panic!("{other:?} of \"{}\"", bytes.escape_ascii()),
    };
    assert!(
        keeps_alive == theirs || taken_bytes < both.bytes.len(),
        "used again by us: {keeps_alive}, by hyper: {theirs}; of \"{}\"",
        bytes.escape_ascii()
    );
}
