//! The bounds of heads and trailers, and what the fuzzed corpus does not reach. tests/parser checks over that corpus
//! that lines end, and break the rules, at the same byte here as in the parser.

use super::*;
use crate::http::head::Head;

/// Returns a head of this many bytes, most of which are in one line.
fn head_of(bytes: usize) -> Vec<u8> {
    let (begin, end) = (b"HTTP/1.1 200 OK\r\nX: ".as_slice(), b"\r\nContent-Length: 5\r\n\r\n".as_slice());
    [begin, &vec![b'x'; bytes - begin.len() - end.len()], end].concat()
}

/// Takes `bytes` in pieces and checks what is kept. Returns how many of the bytes belong to the head.
fn take(bytes: &[u8], piece_bytes: usize) -> Result<Option<usize>, Malformed> {
    let mut partial = PartialHead::new();
    let mut before = 0;
    for piece in bytes.chunks(piece_bytes) {
        let taken = partial.take(piece)?;
        assert_eq!(partial.bytes(), &bytes[..before + taken.unwrap_or(piece.len())]);
        assert!(partial.bytes.capacity() <= LONGEST_HEAD_BYTES);
        before += piece.len();
        if let Some(taken) = taken {
            return Ok(Some(before - piece.len() + taken));
        }
    }
    Ok(None)
}

#[test]
fn a_head_ends_at_the_same_byte_however_it_is_cut() {
    let head = head_of(LONGEST_HEAD_BYTES);
    let followed = [head.as_slice(), b"hello"].concat();
    for piece_bytes in [1, 2, 3, 17, 1000, 16_000, followed.len()] {
        assert_eq!(take(&followed, piece_bytes), Ok(Some(head.len())), "in pieces of {piece_bytes}");
        assert_eq!(take(&head[..head.len() - 1], piece_bytes), Ok(None), "in pieces of {piece_bytes}");
    }
    assert!(matches!(Head::parse(&followed), Ok(Some(parsed)) if parsed.bytes == head.len()));
}

#[test]
fn no_more_is_read_than_the_longest_head() {
    let head = head_of(LONGEST_HEAD_BYTES + 1);
    for piece_bytes in [1, 17, 1000, 16_000, head.len()] {
        assert_eq!(take(&head, piece_bytes), Err(Malformed::LongHead), "in pieces of {piece_bytes}");
    }
    assert_eq!(Head::parse(&head), Err(Malformed::LongHead));
}

#[test]
fn the_bound_that_a_head_goes_beyond_is_named() {
    let long = head_of(LONGEST_HEAD_BYTES + 1);
    let begin = |fields: usize| format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(fields)).into_bytes();
    let wrong = [begin(MOST_FIELDS), b": y\r\n".to_vec()].concat();
    for (bytes, named) in [
        (long.as_slice(), Some(Malformed::LongHead)),
        (&long[..LONGEST_HEAD_BYTES], None),
        (&[begin(MOST_FIELDS + 1), b"\r\n".to_vec()].concat(), Some(Malformed::ManyFields)),
        (&begin(MOST_FIELDS), None),
        (&wrong, Some(Malformed::FieldLine)),
        (b"HTTP/1.1 200 OK\r\n\r\nHTTP", None),
    ] {
        assert_eq!(fault(bytes), named, "{}", bytes[..60.min(bytes.len())].escape_ascii());
    }
}

#[test]
fn what_begins_no_head_is_known_by_its_first_wrong_byte() {
    for (text, wrong_at, why) in [
        ("SSH-2.0", 0, Malformed::NotHttp),
        ("HTTP/2", 5, Malformed::Version),
        ("HTTP/1.2", 7, Malformed::Version),
        ("HTTP/1.1  200", 9, Malformed::Status),
        ("HTTP/1.1 2000", 12, Malformed::Status),
        ("HTTP/1.1 200 O\0", 14, Malformed::Status),
        ("HTTP/1.1 200\rX", 13, Malformed::Status),
        ("HTTP/1.1 200\r\n folded", 14, Malformed::FieldLine),
        ("HTTP/1.1 200\r\nno colon", 16, Malformed::FieldLine),
        ("HTTP/1.1 200\r\nX: y\rz", 19, Malformed::FieldLine),
        ("\r\r", 1, Malformed::NotHttp),
    ] {
        assert_eq!(take(&text.as_bytes()[..wrong_at], 1), Ok(None), "{text:?}");
        assert_eq!(take(&text.as_bytes()[..=wrong_at], 1), Err(why), "{text:?}");
    }
}

#[test]
fn a_folded_field_is_one_field() {
    let folded = format!("X: y\r\n{}", "\ty\r\n ".repeat(MOST_FIELDS));
    for (fields, is_lawful) in [
        (folded, true),
        ("X: y\r\n".repeat(MOST_FIELDS), true),
        ("X: y\r\n z\r\n".repeat(MOST_FIELDS), true),
        ("X: y\r\n".repeat(MOST_FIELDS + 1), false),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n").into_bytes();
        let taken = take(&head, 1);
        assert_eq!(taken.is_ok(), is_lawful, "{}", head.escape_ascii());
        assert_eq!(taken, Head::parse(&head).map(|head| head.map(|head| head.bytes)));
    }
}
