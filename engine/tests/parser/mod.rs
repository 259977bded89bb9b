//! What must hold of the parser of answers for any bytes. The tests here call it with the stored corpus and its
//! mutations, the fuzz targets with bytes of their own. No sockets, no clock.

#![allow(dead_code, reason = "each test binary and fuzz target uses its part")]

pub mod agreement;
pub mod differences;
pub mod hyper_client;

use crumple_engine::http::answer::{Answer, Expectation, Progress};
use crumple_engine::http::head::{Head, HeadMemo, LONGEST_HEAD_BYTES, Malformed};
use crumple_engine::http::lines::PartialHead;
use crumple_engine::outcome::Outcome;
use sha2::{Digest, Sha256};

/// The reading of some bytes, and of the end of the stream after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The answer was whole after the first `taken_bytes` of them.
    Whole {
        outcome: Outcome,
        keeps_alive: bool,
        taken_bytes: usize,
    },
    /// The answer was not whole when the stream ended.
    CutShort,
    Malformed(Malformed),
}

/// Returns the expectation of an answer with this status and body.
pub fn expectation(status: u16, body: &[u8], without_body: bool) -> Expectation {
    Expectation {
        status: Some(status),
        body_bytes: Some(body.len() as u64),
        sha256: Sha256::digest(body).into(),
        hash_one_in: 1,
        without_body,
    }
}

/// Feeds `parts` to an answer, then ends the stream.
pub fn read_with<'a>(
    parts: impl IntoIterator<Item = &'a [u8]>,
    expect: &Expectation,
    answer: &mut Answer,
    memo: &mut HeadMemo,
) -> Reading {
    answer.begin(true);
    let mut fed_bytes = 0;
    for part in parts {
        fed_bytes += part.len();
        match answer.feed(part, expect, memo) {
            Ok(Progress::More) => {}
            Ok(Progress::Whole { excess }) => {
                assert!(excess <= part.len(), "more bytes left over than were fed");
                return whole(answer, expect, fed_bytes - excess);
            }
            Err(why) => return Reading::Malformed(why),
        }
    }
    if answer.end_of_stream() { whole(answer, expect, fed_bytes) } else { Reading::CutShort }
}

fn whole(answer: &mut Answer, expect: &Expectation, taken_bytes: usize) -> Reading {
    Reading::Whole { outcome: answer.outcome(expect), keeps_alive: answer.keeps_alive(), taken_bytes }
}

pub fn read<'a>(parts: impl IntoIterator<Item = &'a [u8]>, expect: &Expectation) -> Reading {
    read_with(parts, expect, &mut Answer::default(), &mut HeadMemo::default())
}

/// Asserts that the reading does not depend on how the bytes are cut, or on what the parser read before.
pub fn assert_cuts_change_nothing(bytes: &[u8]) {
    for without_body in [false, true] {
        let expect = expectation(200, b"hello", without_body);
        let at_once = read([bytes], &expect);
        for part_bytes in [1, 2, 3, 5, 17, 64, 257] {
            assert_eq!(read(bytes.chunks(part_bytes), &expect), at_once, "in parts of {part_bytes}");
        }
        let every = bytes.len() / 256 + 1;
        for cut in (0..=bytes.len()).step_by(every) {
            let (front, back) = bytes.split_at(cut);
            assert_eq!(read([front, back], &expect), at_once, "cut at {cut}");
            assert_eq!(read([front, &[], back], &expect), at_once, "cut at {cut}, and nothing in between");
        }
        let (mut answer, mut memo) = (Answer::default(), HeadMemo::default());
        for before in (0..=bytes.len()).step_by(bytes.len() / 16 + 1) {
            read_with([&bytes[..before]], &expect, &mut answer, &mut memo);
            assert_eq!(read_with([bytes], &expect, &mut answer, &mut memo), at_once, "after {before} bytes");
        }
    }
}

/// Asserts that a head ends at the same place however much follows it, and that the memo agrees with the parser.
pub fn assert_heads_hold(bytes: &[u8]) {
    let mut memo = HeadMemo::default();
    for from in (0..=bytes.len()).step_by(bytes.len() / 64 + 1) {
        let anew = Head::parse(&bytes[from..]);
        assert_eq!(memo.parse(&bytes[from..]), anew, "from {from}");
        assert_eq!(memo.parse(&bytes[from..]), anew, "from {from}, again");
        assert_eq!(memo.parse(bytes), Head::parse(bytes), "after what begins at {from}");
        assert_lines_hold(&bytes[from..]);
    }
    let Ok(Some(head)) = Head::parse(bytes) else {
        return;
    };
    assert!((1..=bytes.len().min(LONGEST_HEAD_BYTES)).contains(&head.bytes));
    assert_eq!(Head::parse(&bytes[..head.bytes]), Ok(Some(head)), "what follows a head is not of it");
    for cut in (0..head.bytes).step_by(head.bytes / 256 + 1) {
        assert_eq!(Head::parse(&bytes[..cut]), Ok(None), "cut at {cut}");
    }
}

/// Asserts that the lines of a head end, or break the rules, at the same byte whether they are looked at one by one
/// or parsed.
fn assert_lines_hold(bytes: &[u8]) {
    let mut lines = PartialHead::new();
    for (at, byte) in bytes.iter().enumerate() {
        let taken = lines.take(&[*byte]);
        if taken == Ok(None) {
            continue;
        }
        assert_eq!(Head::parse(&bytes[..at]), Ok(None), "{taken:?} at {at}, and not before");
        // If the parser refuses it, the reason is in the lines or in what they mean together.
        if let Ok(head) = Head::parse(&bytes[..=at]) {
            assert_eq!((taken, head.map(|head| head.bytes)), (Ok(Some(1)), Some(at + 1)));
        }
        return;
    }
    assert_eq!(Head::parse(bytes), Ok(None), "neither ends");
}
