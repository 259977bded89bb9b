//! A tunnel through an HTTP proxy (RFC 9110, 9.3.6): it is asked for once the connection with the proxy stands, and
//! carries TLS when the proxy has agreed. Requests without TLS need none: they name the server to the proxy.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use httparse::{Response, Status};
use rustix::io::Errno;
use rustix::net::{self, SendFlags};

use crate::outcome::{Fault, Reason};
use crate::socket;

/// The longest answer of a proxy that is read, and the most fields that it may have.
const MOST_HEAD_BYTES: usize = 16 * 1024;
const MOST_FIELDS: usize = 100;
const READ_BYTES: usize = 2 * 1024;
/// The status of a proxy that wants a login (RFC 9110, 15.5.8).
const LOGIN: u16 = 407;

/// A tunnel that is not open yet.
#[derive(Debug)]
pub struct Tunnel {
    asked: Arc<[u8]>,
    sent: usize,
    /// What has come of the proxy's answer.
    head: Vec<u8>,
    why: Option<Fault>,
}

/// Returns what asks a proxy for a tunnel to `authority`.
pub fn request(authority: &str, headers: &[(String, String)]) -> Arc<[u8]> {
    let mut text = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes().into()
}

impl Tunnel {
    /// `asked`: what `request` returned.
    pub fn new(asked: Arc<[u8]>) -> Self {
        Self { asked, sent: 0, head: Vec::new(), why: None }
    }

    /// Goes on asking when the socket is ready. Returns true when the tunnel is open.
    ///
    /// # Errors
    /// `PROTO` if the proxy opens none and `CONNABORTED` if it closes the connection, and then `why` says more;
    /// otherwise what the kernel returns.
    pub fn open(&mut self, fd: BorrowedFd) -> Result<bool, Errno> {
        while self.sent < self.asked.len() {
            match net::send(fd, &self.asked[self.sent..], SendFlags::NOSIGNAL) {
                Ok(bytes) => self.sent += bytes,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        let mut buffer = [0; READ_BYTES];
        loop {
            match socket::receive(fd, &mut buffer, false).map(|received| received.bytes) {
                Ok(0) => return Err(self.fail("the proxy closed the connection", Reason::Tunnel)),
                Ok(bytes) => self.head.extend_from_slice(&buffer[..bytes]),
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            if self.is_agreed()? {
                self.head = Vec::new();
                return Ok(true);
            }
        }
    }

    /// Returns why the proxy opened no tunnel.
    pub fn why(&self) -> Option<Fault> {
        self.why.clone()
    }

    /// Reads what has come of the answer. Returns false if it is not whole.
    fn is_agreed(&mut self) -> Result<bool, Errno> {
        loop {
            let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
            let mut answer = Response::new(&mut fields);
            // The bound must not depend on how much came at once.
            let head = &self.head[..self.head.len().min(MOST_HEAD_BYTES)];
            let (bytes, status) = match answer.parse(head) {
                Ok(Status::Complete(bytes)) => (bytes, answer.code.unwrap_or_default()),
                Ok(Status::Partial) if self.head.len() <= MOST_HEAD_BYTES => return Ok(false),
                Ok(Status::Partial) => {
                    return Err(
                        self.fail("the proxy's answer to CONNECT is too long", Reason::ProxyMalformed)
                    );
                }
                Err(_) => {
                    return Err(self
                        .fail("the proxy did not answer CONNECT as HTTP/1.1 does", Reason::ProxyMalformed));
                }
            };
            match status {
                // An interim answer precedes the answer.
                100..200 => drop(self.head.drain(..bytes)),
                // The server sends nothing before the client has (RFC 8446, 2).
                200..300 if bytes == self.head.len() => return Ok(true),
                200..300 => {
                    return Err(
                        self.fail("more than an answer came through the tunnel", Reason::ProxyMalformed)
                    );
                }
                _ => {
                    let reason = answer.reason.unwrap_or_default();
                    let said = format!("the proxy answered CONNECT with {status} {reason}");
                    let reason = if status == LOGIN { Reason::ProxyLogin } else { Reason::ProxyRefused };
                    return Err(self.fail(said.trim_end(), reason));
                }
            }
        }
    }

    fn fail(&mut self, words: &str, reason: Reason) -> Errno {
        self.why = Some(Fault { reason, words: words.into() });
        if reason == Reason::Tunnel { Errno::CONNABORTED } else { Errno::PROTO }
    }
}

#[cfg(test)]
#[path = "tunnel_tests.rs"]
mod tests;
