//! Reads the same bytes with hyper, a client that has been in use for years. In memory: no socket, no runtime.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Method, Request};

/// Hyper's reading of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Theirs {
    Whole {
        status: u16,
        body: Vec<u8>,
        keeps_alive: bool,
    },
    CutShort,
    Malformed(String),
    /// Hyper waits for more.
    Waiting,
}

/// What follows the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Close,
    Silence,
}

/// Sends a request and reads `bytes` as its answer.
pub fn read(bytes: &[u8], without_body: bool, then: Then) -> Theirs {
    let peer = Peer { bytes: bytes.to_vec(), taken_bytes: 0, was_asked: false, then };
    let mut context = Context::from_waker(Waker::noop());
    let mut client = Builder::new();
    client.allow_obsolete_multiline_headers_in_responses(true); // As RFC 9112, 5.2 requires.
    let Poll::Ready(Ok((sender, connection))) = pin!(client.handshake(peer)).poll(&mut context) else {
        panic!("over HTTP/1.1 there is nothing to wait for");
    };
    let mut connection = pin!(connection);
    let mut exchange = pin!(exchange(sender, if without_body { Method::HEAD } else { Method::GET }));
    let mut goes_on = true;
    // Each piece of a body takes a turn of both. There cannot be more pieces than bytes.
    for _ in 0..bytes.len() + 16 {
        goes_on = goes_on && connection.as_mut().poll(&mut context).is_pending();
        if let Poll::Ready(read) = exchange.as_mut().poll(&mut context) {
            goes_on = goes_on && connection.as_mut().poll(&mut context).is_pending();
            return match read {
                Ok((status, body, sender)) => {
                    Theirs::Whole { status, body, keeps_alive: goes_on && sender.is_ready() }
                }
                Err(error) if is_cut_short(&error) => Theirs::CutShort,
                Err(error) => Theirs::Malformed(format!("{error:?}")),
            };
        }
    }
    Theirs::Waiting
}

type Sender = SendRequest<Empty<Bytes>>;

async fn exchange(mut sender: Sender, method: Method) -> Result<(u16, Vec<u8>, Sender), hyper::Error> {
    let request = Request::builder().method(method).uri("/").header("Host", "peer.test");
    let answer = sender.send_request(request.body(Empty::new()).expect("a lawful request")).await?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await?.to_bytes().to_vec();
    Ok((status, body, sender))
}

fn is_cut_short(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    error.is_incomplete_message() || cause.is_some_and(|cause| cause.kind() == io::ErrorKind::UnexpectedEof)
}

/// The other end of the connection. It sends its bytes when it has got a request.
struct Peer {
    bytes: Vec<u8>,
    taken_bytes: usize,
    was_asked: bool,
    then: Then,
}

impl Read for Peer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let left = &self.bytes[self.taken_bytes..];
        if !self.was_asked || (left.is_empty() && self.then == Then::Silence) {
            return Poll::Pending;
        }
        let taken_bytes = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..taken_bytes]);
        self.taken_bytes += taken_bytes;
        Poll::Ready(Ok(()))
    }
}

impl Write for Peer {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.was_asked = true;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
