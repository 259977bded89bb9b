//! The interface below the hot loop: what carries bytes and reports readiness. `Kernel` has real sockets. `Simulated`
//! has neither sockets nor a real clock, so that the loop can be tested, and measured with more users than this
//! machine has descriptors.

pub mod kernel;
pub mod simulated;

use std::ops::RangeInclusive;

use rustix::io::Errno;

use crate::board::Local;
use crate::outcome::{Fault, Reason};

pub use crate::socket::{End, Received};

/// What is ready on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The token that `connect` got for the socket.
    pub token: u64,
    /// There is something to read.
    pub read: bool,
    /// The socket takes more bytes.
    pub write: bool,
    /// The peer sends no more, or the connection is broken.
    pub closed: bool,
}

/// The sockets of one thread. Readiness is reported once per change (edge-triggered).
pub trait Network {
    type Socket;

    /// Returns the time on the monotonic clock.
    fn now_ns(&self) -> u64;

    /// Converts a stamp to the monotonic clock. Returns `None` if there is no stamp, or if the stamp lies outside
    /// `possible_ns`, which ends now: then the clock that stamps was set in between.
    fn stamped_ns(&mut self, stamp: u64, possible_ns: RangeInclusive<u64>) -> Option<u64>;

    /// Appends what has become ready. If nothing has, sleeps for at most `sleep_ns`.
    fn wait(&mut self, ready: &mut Vec<Ready>, sleep_ns: u64);

    /// Begins to connect a socket. What becomes ready on it is reported with `token`.
    ///
    /// # Errors
    /// What the kernel returns; `AGAIN` if the server's backlog is full and the kernel does not wait for room in it.
    fn connect(&mut self, token: u64) -> Result<Self::Socket, Errno>;

    /// Goes on connecting when the socket is ready. Returns true when it is connected, TLS included.
    ///
    /// # Errors
    /// Why it could not be connected; `PROTO` if TLS or a proxy is the reason, and then `why` says more.
    fn stands(&mut self, socket: &mut Self::Socket) -> Result<bool, Errno>;

    /// Sends `bytes`. Returns how many of them were taken.
    ///
    /// # Errors
    /// What the kernel returns; `AGAIN` if it takes no more now.
    fn send(&mut self, socket: &mut Self::Socket, bytes: &[u8]) -> Result<usize, Errno>;

    /// Sends bytes that still wait on this side of the socket. Returns true if none are left.
    ///
    /// # Errors
    /// What the kernel returns.
    fn flush(&mut self, socket: &mut Self::Socket) -> Result<bool, Errno>;

    /// Reads once.
    ///
    /// # Errors
    /// What the kernel returns; `AGAIN` if there is nothing to read, `PROTO` if TLS is broken.
    fn receive(&mut self, socket: &mut Self::Socket, buffer: &mut [u8]) -> Result<Received, Errno>;

    /// Returns whether `discard` saves anything on this socket, so that reads may be as short as wanted.
    fn discards(&self, socket: &Self::Socket) -> bool;

    /// Reads once, at most as many bytes as `buffer` has room for, and may leave them out of it. This is for bytes
    /// that are not looked at.
    ///
    /// # Errors
    /// Those of `receive`.
    fn discard(&mut self, socket: &mut Self::Socket, buffer: &mut [u8]) -> Result<Received, Errno>;

    /// Reports the socket as readable again only if this many bytes wait, or the peer has closed; 1 = any.
    fn wake_at(&mut self, socket: &mut Self::Socket, bytes: usize);

    /// Returns whether bytes wait on this side of the socket that `wait` cannot report.
    fn has_more_at_hand(&self, socket: &Self::Socket) -> bool;

    /// Returns whether the stream ended without notice. Over TLS the end may then be forged (RFC 9112, 9.8).
    fn is_cut(&self, socket: &Self::Socket) -> bool;

    /// Returns what is known of the end of a connection that the peer has ended.
    fn end(&self, socket: &Self::Socket) -> End;

    /// Returns where an attempt to connect is: `Connecting`, `Tunnel` or `Handshake`.
    fn connecting(&self, socket: &Self::Socket) -> Reason;

    /// Returns why TLS failed, or the tunnel that it goes through.
    fn why(&self, socket: &Self::Socket) -> Option<Fault>;

    /// Returns the local end of a socket that has begun to connect; `None` if it has no port.
    fn local(&self, socket: &Self::Socket) -> Option<Local>;

    fn close(&mut self, socket: Self::Socket);
}
