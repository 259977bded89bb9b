//! What must hold of a tunnel, whatever a proxy answers: how it ends depends on the bytes, and not on how they are cut,
//! except that a tunnel is open only if nothing came behind the proxy's answer.

#![allow(dead_code, reason = "the fuzz target uses its part")]

use std::io::Write;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crumple_engine::tunnel::{Tunnel, request};
use rustix::io::Errno;

/// How a tunnel ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ended {
    Open,
    Failed(Errno, String),
    /// It waits for more.
    Not,
}

const MORE: &str = "more than an answer came through the tunnel";
/// The engine reads this many bytes of an answer at most.
const LONGEST_BYTES: usize = 16 * 1024;

/// Feeds pieces of these lengths to a tunnel until it ends, each read before the next comes. Returns how it ended, and
/// how many bytes had come by then.
fn fed(bytes: &[u8], lengths: impl IntoIterator<Item = usize>) -> (Ended, usize) {
    let (socket, mut proxy) = UnixStream::pair().unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut tunnel = Tunnel::new(request("a.example:443", &[]));
    assert_eq!(tunnel.open(socket.as_fd()), Ok(false));
    let mut come = 0;
    for length in lengths {
        let piece = &bytes[come..bytes.len().min(come + length)];
        proxy.write_all(piece).unwrap();
        come += piece.len();
        let end = ended(&mut tunnel, &socket);
        if end != Ended::Not {
            return (end, come);
        }
        assert_eq!(tunnel.why(), None, "it has not failed");
    }
    proxy.shutdown(Shutdown::Write).unwrap();
    let hung_up = Ended::Failed(Errno::CONNABORTED, "the proxy closed the connection".into());
    assert_eq!(ended(&mut tunnel, &socket), hung_up);
    (Ended::Not, come)
}

fn ended(tunnel: &mut Tunnel, socket: &UnixStream) -> Ended {
    match tunnel.open(socket.as_fd()) {
        Ok(true) => Ended::Open,
        Ok(false) => Ended::Not,
        Err(errno) => Ended::Failed(errno, tunnel.why().expect("a failure has its reason").words),
    }
}

/// Asserts that a head of this length opens a tunnel only if it is not longer than the engine reads.
pub fn assert_bound(head_bytes: usize) {
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(head_bytes - 24));
    for length in [50, 1_000, 3_000, head_bytes] {
        let (end, _) = fed(head.as_bytes(), std::iter::repeat_n(length, head_bytes.div_ceil(length)));
        assert_eq!(end == Ended::Open, head_bytes <= LONGEST_BYTES, "in pieces of {length}: {end:?}");
    }
}

/// Asserts all of this of a proxy that answers with `bytes`.
pub fn assert_holds(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(2 * LONGEST_BYTES)];
    let (end, at) = fed(bytes, std::iter::repeat_n(1, bytes.len()));
    assert!(end != Ended::Not || at == bytes.len());
    for length in [2, 3, 7, 61, 1_000, 3_000, bytes.len().max(1)] {
        let (in_pieces, come) = fed(bytes, std::iter::repeat_n(length, bytes.len().div_ceil(length)));
        let expected = match &end {
            Ended::Open if come > at => Ended::Failed(Errno::PROTO, MORE.into()),
            end => end.clone(),
        };
        assert_eq!(in_pieces, expected, "in pieces of {length}");
        assert!(come >= at && come - at < length, "after {come} bytes in pieces of {length}: {at}");
    }
}
