//! What a peer sends for a request, and in which pieces.

use super::draws::Draws;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Closed,
    Reset,
    /// TLS fails.
    Broken,
}

/// When the engine has all of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// With its last byte.
    LastByte,
    /// With the end of the stream.
    EndOfStream,
    /// Never: it is malformed, or not all of it comes.
    Never,
    /// Perhaps: it is made of bytes that were drawn, or it depends on when the engine reads.
    Unknown,
}

/// An answer: its pieces, each with how long after the one before it comes, and what comes behind them.
pub struct Reply {
    pub pieces: Vec<(u64, Vec<u8>)>,
    pub end: Option<(u64, End)>,
    pub whole: Whole,
}

const US: u64 = 1_000;
const DELAYS_NS: [u64; 5] = [100 * US, 100 * US, 1_000 * US, 12_000 * US, 70_000 * US];
const LONG_BODY_BYTES: usize = 300_000;

fn answers() -> [(&'static [u8], Whole); 14] {
    use Whole::{EndOfStream, LastByte, Never, Unknown};
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", LastByte),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbye", LastByte),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", LastByte),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", LastByte),
        (b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", LastByte),
        (b"HTTP/1.1 204 No Content\r\n\r\n", LastByte),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", EndOfStream),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", Never),
        // It is malformed, unless the engine has read the answer before the rest comes.
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more", Unknown),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Never),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", Never),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz", Never),
        (b"HTTP/1.1 103 Hints\r\n\r\n", Never),
        (b"", Never),
    ]
}

impl Reply {
    pub fn draw(draws: &mut Draws) -> Self {
        let answers = answers();
        let (bytes, whole) = match draws.below(answers.len() + 2) {
            at if at < answers.len() => (answers[at].0.to_vec(), answers[at].1),
            at if at == answers.len() => (draws.raw(), Whole::Unknown),
            _ => (long(), Whole::LastByte),
        };
        let end = match draws.below(8) {
            0..=4 => None,
            5 => Some(End::Closed),
            6 => Some(End::Reset),
            _ => Some(End::Broken),
        };
        let end = end.or((whole == Whole::EndOfStream).then_some(End::Closed));
        let whole = match (whole, end) {
            (Whole::EndOfStream, Some(End::Closed)) | (Whole::LastByte | Whole::Unknown, _) => whole,
            _ => Whole::Never,
        };
        let end = end.map(|end| (draws.one_of(&DELAYS_NS), end));
        Self { pieces: pieces(bytes, draws), end, whole }
    }
}

fn long() -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LONG_BODY_BYTES}\r\n\r\n");
    [head.as_bytes(), &[b'x'; LONG_BODY_BYTES]].concat()
}

fn pieces(mut bytes: Vec<u8>, draws: &mut Draws) -> Vec<(u64, Vec<u8>)> {
    let mut pieces = Vec::new();
    for _ in 0..draws.one_of(&[0, 0, 1, 2, 4]) {
        let rest = bytes.split_off(draws.place(bytes.len()));
        pieces.push((draws.one_of(&DELAYS_NS), bytes));
        bytes = rest;
    }
    pieces.push((draws.one_of(&DELAYS_NS), bytes));
    pieces.retain(|(_, bytes)| !bytes.is_empty());
    pieces
}

pub fn delay_ns(draws: &mut Draws) -> u64 {
    draws.one_of(&DELAYS_NS)
}
