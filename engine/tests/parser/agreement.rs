//! Where our reading of some bytes and hyper's must agree, and each difference that is meant.

use super::hyper_client::{self, Theirs, Then};
use super::{Reading, expectation, read};
use crumple_engine::http::head::Head;
use crumple_engine::outcome::Outcome;

/// Asserts that both make the same of `bytes`, but where they differ on purpose.
pub fn assert_agreement(bytes: &[u8]) {
    for without_body in [false, true] {
        let theirs = hyper_client::read(bytes, without_body, Then::Close);
        let (status, body) = match &theirs {
            Theirs::Whole { status, body, .. } => (*status, body.as_slice()),
            _ => (200, b"hello".as_slice()),
        };
        let ours = read([bytes], &expectation(status, body, without_body));
        let agree = match (&ours, &theirs) {
            (Reading::Whole { outcome, .. }, Theirs::Whole { .. }) => *outcome == Outcome::Ok,
            (Reading::CutShort, Theirs::CutShort) | (Reading::Malformed, Theirs::Malformed(_)) => true,
            _ => false,
        };
        assert!(
            agree || meant(bytes, without_body, &ours, &theirs).is_some(),
            "ours: {ours:?}; theirs: {theirs:?}; of \"{}\"",
            bytes.escape_ascii()
        );
        if agree {
            assert_same_use(bytes, without_body, &ours);
        }
    }
}

/// Asserts that both use the connection again, or neither does, where the answer takes all of `bytes`.
fn assert_same_use(bytes: &[u8], without_body: bool, ours: &Reading) {
    let Reading::Whole { keeps_alive: ours, taken_bytes, .. } = *ours else {
        return;
    };
    let theirs = match hyper_client::read(bytes, without_body, Then::Silence) {
        Theirs::Whole { keeps_alive, .. } => keeps_alive,
        // Only the end of the stream ends this answer.
        Theirs::Waiting => false,
        other => panic!("{other:?} of \"{}\"", bytes.escape_ascii()),
    };
    // A list with a byte beyond ASCII says nothing to hyper; to us, what else it says.
    assert!(
        ours == theirs || taken_bytes < bytes.len() || !bytes.is_ascii(),
        "used again by us: {ours}, by hyper: {theirs}; of \"{}\"",
        bytes.escape_ascii()
    );
}

/// Why the readings differ, where they are to.
fn meant(bytes: &[u8], without_body: bool, ours: &Reading, theirs: &Theirs) -> Option<&'static str> {
    let says = |word: &str| String::from_utf8_lossy(bytes).to_ascii_lowercase().contains(word);
    match (ours, theirs) {
        (Reading::Malformed, Theirs::Whole { status: 101, .. }) => {
            Some("a switch of protocols that nobody asked for is no answer")
        }
        (Reading::Malformed, Theirs::Whole { .. } | Theirs::CutShort)
            if has_idle_fault(bytes, without_body) =>
        {
            Some("a length that is none is refused even where it does not matter")
        }
        (Reading::Malformed, Theirs::Whole { .. } | Theirs::CutShort) if has_long_size(bytes) => {
            Some("a chunk's size has as many digits as a size can have, and no zeros before them")
        }
        (Reading::Malformed, Theirs::CutShort)
            if matches!(
                hyper_client::read(&[bytes, b"\r\n\r\n"].concat(), without_body, Then::Close),
                Theirs::Malformed(_)
            ) =>
        {
            Some("hyper looks at trailers when all of them are there, we as they come")
        }
        (Reading::Whole { .. } | Reading::CutShort, Theirs::CutShort | Theirs::Malformed(_))
            if says("chunked") && has_mere_line_feed(bytes) =>
        {
            Some("trailers may end with mere line feeds, as headers may")
        }
        (_, Theirs::Whole { .. }) if says("transfer-encoding") && !bytes.is_ascii() => {
            Some("hyper does not read a list of codings with a byte beyond ASCII")
        }
        (Reading::Whole { .. } | Reading::CutShort, Theirs::Malformed(error))
            if error.contains("trailers count overflow") =>
        {
            Some("hyper takes 100 trailers, we as many bytes of them as of a head")
        }
        (Reading::CutShort, Theirs::Malformed(error)) if error.contains("TooLarge") => {
            Some("hyper keeps the two greatest lengths for its own ends")
        }
        _ => None,
    }
}

/// Whether a head is lawful line by line, and refused for a length on which nothing depends.
fn has_idle_fault(bytes: &[u8], without_body: bool) -> bool {
    let mut from = 0;
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 100];
        let mut head = httparse::Response::new(&mut headers);
        let Ok(httparse::Status::Complete(length)) = head.parse(&bytes[from..]) else {
            return false;
        };
        if Head::parse(&bytes[from..]).is_err() {
            let mut names = head.headers.iter().map(|header| header.name);
            return without_body
                || matches!(head.code, Some(100..200 | 204 | 304))
                || names.any(|name| name.eq_ignore_ascii_case("transfer-encoding"));
        }
        from += length;
    }
}

fn has_long_size(bytes: &[u8]) -> bool {
    bytes.windows(17).any(|window| window.iter().all(u8::is_ascii_hexdigit))
}

fn has_mere_line_feed(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair[1] == b'\n' && pair[0] != b'\r')
}
