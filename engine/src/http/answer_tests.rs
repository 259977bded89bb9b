//! Answers with known outcomes. Each is fed whole, byte by byte, and cut in two at every place.

use super::*;
use crate::http::lines::{LONGEST_HEAD_BYTES, LONGEST_TRAILERS_BYTES};

fn expectation(body: &str) -> Expectation {
    Expectation {
        status: Some(200),
        body_bytes: Some(body.len() as u64),
        sha256: Sha256::digest(body.as_bytes()).into(),
        hash_one_in: 1,
        without_body: false,
    }
}

/// Feeds `parts`, then ends the stream. Returns `None` if the answer never became whole.
fn read(parts: &[&[u8]], expect: &Expectation) -> Result<Option<Outcome>, Malformed> {
    let mut memo = HeadMemo::default();
    let mut answer = Answer::default();
    answer.begin(true);
    for (at, part) in parts.iter().enumerate() {
        match answer.feed(part, expect, &mut memo)? {
            Progress::More => {}
            Progress::Whole { excess } => {
                let behind: usize = parts[at + 1..].iter().map(|part| part.len()).sum();
                return if excess + behind == 0 {
                    Ok(Some(answer.outcome(expect)))
                } else {
                    Err(Malformed::Excess)
                };
            }
        }
    }
    Ok(answer.end_of_stream().then(|| answer.outcome(expect)))
}

/// Reads `text` cut in two at every place, and byte by byte. All readings must agree.
fn read_all_ways(text: &str, expect: &Expectation) -> Result<Option<Outcome>, Malformed> {
    let bytes = text.as_bytes();
    let whole = read(&[bytes], expect);
    for cut in 0..=bytes.len() {
        assert_eq!(read(&[&bytes[..cut], &bytes[cut..]], expect), whole, "cut at {cut} of {text:?}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read(&single, expect), whole, "byte by byte: {text:?}");
    whole
}

fn ok(text: &str, body: &str) {
    assert_eq!(read_all_ways(text, &expectation(body)), Ok(Some(Outcome::Ok)), "{text:?}");
}

fn malformed(why: Malformed, text: &str) {
    assert_eq!(read_all_ways(text, &expectation("")), Err(why), "{text:?}");
}

#[test]
fn proper_answers_are_ok() {
    ok("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello");
    ok("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "");
    ok("HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end");
    ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello");
    ok(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n",
        "hello",
    );
    ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", "hello");
    ok("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: Identity\r\n\r\nhi", "hi");
    ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "hi");
    ok("HTTP/1.1 200 OK\r\nContent-Length: 5 , 5\r\nContent-Length: 5\r\n\r\nhello", "hello");
    ok("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi");
    ok("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "x");
}

#[test]
fn wrong_answers_are_told_apart() {
    let read = |text: &str| read_all_ways(text, &expectation("hello"));
    assert_eq!(read("HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello"), Ok(Some(Outcome::WrongStatus)));
    assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell"), Ok(Some(Outcome::WrongBody)));
    assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello"), Ok(Some(Outcome::WrongBody)));
    assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"), Ok(None));
    assert_eq!(read("HTTP/1.1 204 No Content\r\n\r\n"), Ok(Some(Outcome::WrongStatus)));
}

#[test]
fn nonsense_is_malformed_for_its_reason() {
    malformed(Malformed::NotHttp, "SSH-2.0-OpenSSH_9.2\r\n");
    malformed(Malformed::NotHttp, "HTTP 1.1 200 OK\r\n");
    malformed(Malformed::Version, "HTTP/2 200\r\n\r\n");
    malformed(Malformed::Version, "HTTP/1.2 200 OK\r\n\r\n");
    malformed(Malformed::Status, "HTTP/1.1 2000 OK\r\n\r\n");
    malformed(Malformed::Status, "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n");
    malformed(Malformed::Status, "HTTP/1.1 200 \0\r\n\r\n");
    malformed(Malformed::FieldLine, "HTTP/1.1 200 OK\r\nno colon\r\n\r\n");
    malformed(Malformed::FieldLine, "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n");
    malformed(Malformed::FieldLine, "HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 0\r\n\r\n");
    malformed(Malformed::Length, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n");
    malformed(Malformed::Length, "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n");
    malformed(Malformed::ConflictingLengths, "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello");
    malformed(
        Malformed::ConflictingLengths,
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    );
    malformed(Malformed::Excess, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore");
    malformed(Malformed::Excess, "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nmore");
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    malformed(Malformed::Chunk, &format!("{chunked}xyz\r\n"));
    malformed(Malformed::Chunk, &format!("{chunked}\r\n\r\n"));
    malformed(Malformed::Chunk, &format!("{chunked}+5\r\nhello\r\n0\r\n\r\n"));
    malformed(Malformed::Chunk, &format!("{chunked}2\r\nhello\r\n0\r\n\r\n"));
    // As many digits as curl and Go take, though zeros before a number change nothing (RFC 9112, 7.1).
    malformed(Malformed::Chunk, &format!("{chunked}11111111111111111\r\n"));
    malformed(Malformed::Chunk, &format!("{chunked}00000000000000005\r\n"));
    malformed(Malformed::TransferEncoding, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    malformed(Malformed::SwitchedProtocols, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
}

#[test]
fn what_frames_a_body_has_a_longest_length() {
    let line = format!("X: {}\r\n", "y".repeat(1_000)).repeat(LONGEST_HEAD_BYTES / 1_000 + 1);
    let trailer = "y".repeat(LONGEST_TRAILERS_BYTES.into());
    let value = "y".repeat(LONGEST_HEAD_BYTES);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (why, endless) in [
        (Malformed::LongHead, format!("HTTP/1.1 200 OK\r\nX: {value}\r\nContent-Length: 0\r\n\r\n")),
        (Malformed::LongHead, format!("HTTP/1.1 200 OK\r\n{line}Content-Length: 0\r\n\r\n")),
        (Malformed::Chunk, format!("{chunked}0\r\nX: {trailer}\r\n\r\n")),
        (Malformed::Chunk, format!("{chunked}0;{value}\r\n\r\n")),
        (Malformed::Chunk, format!("{chunked}0{}\r\n\r\n", " ".repeat(LONGEST_HEAD_BYTES))),
    ] {
        for part_bytes in [1000, 16 * 1024, endless.len()] {
            let parts: Vec<&[u8]> = endless.as_bytes().chunks(part_bytes).collect();
            assert_eq!(read(&parts, &expectation("")), Err(why), "in parts of {part_bytes}");
        }
    }
}

#[test]
fn trailers_are_headers() {
    let with =
        |trailers: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{trailers}\r\n");
    for lawful in ["X: y\r\n", "X:\r\nServer-Timing: a;dur=1 \t\r\n", "X: y\n", "X: y\r\n folded\r\n"] {
        ok(&with(lawful), "");
    }
    for unlawful in ["no colon\r\n", ": y\r\n", "X : y\r\n", " folded\r\n", "X: \0\r\n", "\r", "X: y\rz\r\n"]
    {
        malformed(Malformed::FieldLine, &with(unlawful));
    }
}

#[test]
fn a_chunks_size_stands_alone_or_before_a_semicolon() {
    let with = |size: &str| {
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\nhello\r\n0\r\n\r\n")
    };
    for lawful in ["5", "5 ", "5;a=b", "5\t ;a", "5;a b;c"] {
        ok(&with(lawful), "hello");
    }
    for unlawful in ["5 a", "5 5", " 5", ";5", "00000000000000005"] {
        malformed(Malformed::Chunk, &with(unlawful));
    }
}

#[test]
fn folded_fields_mean_what_they_mean_unfolded() {
    let folded = |fields: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{body}");
    ok(&folded("X: y\r\n z\r\nContent-Length: 5", "hello"), "hello");
    ok(&folded("Content-Length:\r\n 5\r\n\t", "hello"), "hello");
    ok(&folded("Transfer-Encoding: gzip,\r\n chunked", "1\r\nx\r\n0\r\n\r\n"), "x");
    // The folded line is not a field of its own, which would frame the body.
    ok(&folded("Content-Length: 5\r\nX: y\r\n Content-Length: 2", "hello"), "hello");
    ok(&folded("Content-Length: 5\r\nX: y\r\n Transfer-Encoding: chunked", "hello"), "hello");
    // With a space in it, the value is neither a number nor the name of a coding.
    malformed(Malformed::Length, &folded("Content-Length: 1\r\n 0", "0123456789"));
    ok(&folded("Transfer-Encoding: chun\r\n ked", "until the end"), "until the end");
    malformed(Malformed::FieldLine, "HTTP/1.1 200 OK\r\n Content-Length: 5\r\n\r\nhello");
}

#[test]
fn a_length_that_cannot_come_true_is_malformed_at_once() {
    let expect = expectation("");
    for (more, over) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", "9223372036854775808"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", "18446744073709551615"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", "8000000000000000"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", "ffffffffffffffff"),
    ] {
        assert_eq!(read_all_ways(more, &expect), Ok(None), "it is waited for");
        let why = if more.contains("chunked") { Malformed::Chunk } else { Malformed::Length };
        malformed(why, &more.replace("9223372036854775807", over).replace("7fffffffffffffff", over));
    }
}

#[test]
fn a_head_request_has_no_body() {
    let expect = Expectation { without_body: true, body_bytes: Some(0), ..expectation("") };
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    assert_eq!(read_all_ways(text, &expect), Ok(Some(Outcome::Ok)));
}

#[test]
fn keep_alive_follows_version_and_connection_header() {
    let keeps = |text: &str| {
        let mut answer = Answer::default();
        answer.begin(false);
        answer.feed(text.as_bytes(), &expectation(""), &mut HeadMemo::default()).unwrap();
        answer.keeps_alive()
    };
    assert!(keeps("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    assert!(!keeps("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n"));
    assert!(!keeps("HTTP/1.1 200 OK\r\nConnection: close, keep-alive\r\nContent-Length: 0\r\n\r\n"));
    assert!(!keeps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
    assert!(keeps("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
}

#[test]
fn the_memo_never_answers_for_another_head() {
    let mut memo = HeadMemo::default();
    let expect = expectation("hello");
    for (text, outcome) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Outcome::Ok),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Outcome::Ok),
        ("HTTP/1.1 404 Ha\r\nContent-Length: 5\r\n\r\nhello", Outcome::WrongStatus),
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell", Outcome::WrongBody),
    ] {
        let mut answer = Answer::default();
        answer.begin(true);
        assert_eq!(answer.feed(text.as_bytes(), &expect, &mut memo), Ok(Progress::Whole { excess: 0 }));
        assert_eq!(answer.outcome(&expect), outcome);
    }
}

#[test]
fn what_came_in_place_of_an_answer_is_kept_as_it_came() {
    for parts in [&["HTTP/1.1 2", "00 OK\r\nno colon\r\n"][..], &["SSH-2.0\r\n"], &["H", "T", "T", "T"]] {
        let mut answer = Answer::default();
        answer.begin(false);
        let (last, before) = parts.split_last().unwrap();
        for part in before {
            answer.feed(part.as_bytes(), &expectation(""), &mut HeadMemo::default()).unwrap();
        }
        assert!(answer.feed(last.as_bytes(), &expectation(""), &mut HeadMemo::default()).is_err());
        answer.keep_as_it_came(last.as_bytes());
        assert_eq!(answer.take_kept().head, parts.concat().as_bytes());
    }
}

/// Each of thousands of connections may hold it until its next request.
#[test]
fn of_a_long_piece_that_is_no_answer_little_is_kept() {
    let piece = [b'x'; 256 * 1024];
    for before in [b"".as_slice(), b"HTTP/1.1 200 OK\r\nX: "] {
        let (mut answer, mut memo) = (Answer::default(), HeadMemo::default());
        answer.begin(false);
        assert_eq!(answer.feed(before, &expectation(""), &mut memo), Ok(Progress::More));
        answer.keep_as_it_came(&piece);
        let kept = answer.take_kept().head;
        assert_eq!(kept, [before, &piece[..KEPT_HEAD_BYTES - before.len()]].concat());
        assert!(kept.capacity() <= 2 * KEPT_HEAD_BYTES, "{}", kept.capacity());
    }
}
