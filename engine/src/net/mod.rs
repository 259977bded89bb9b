//! The seam below the loop: what carries bytes and says what is ready. `Kernel` is the real one; `Simulated` has
//! neither sockets nor a clock of its own, so that the loop can be tested, and sized for more users than this
//! machine has descriptors.

pub mod kernel;
pub mod simulated;

use std::ops::RangeInclusive;

use rustix::io::Errno;

/// What one read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// 0 = the peer has closed.
    pub bytes: usize,
    /// When the last of them arrived, by the clock that stamps; `Network::stamped_ns` moves it to the monotonic
    /// one. 0 = nobody stamped it.
    pub stamp: u64,
}

/// What is ready on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// What `connect` was given for the socket.
    pub token: u64,
    /// There is something to read.
    pub read: bool,
    /// It takes more.
    pub write: bool,
    /// The peer sends no more, or the connection is broken.
    pub closed: bool,
}

/// The sockets of one thread. Readiness is reported once per change (edge-triggered).
pub trait Network {
    type Socket;

    /// The monotonic clock.
    fn now_ns(&self) -> u64;

    /// A stamp on the monotonic clock; `None` where there is none, or where it does not lie within `possible_ns`,
    /// which ends now: then the clock that stamps was set in between.
    fn stamped_ns(&mut self, stamp: u64, possible_ns: RangeInclusive<u64>) -> Option<u64>;

    /// Appends what has become ready, and sleeps for `sleep_ns` at most where nothing has.
    fn wait(&mut self, ready: &mut Vec<Ready>, sleep_ns: u64);

    /// Begins to connect a socket; what becomes ready on it is reported with `token`.
    ///
    /// # Errors
    /// What the kernel says; `AGAIN` where the server's backlog is full and will not be waited for by the kernel.
    fn connect(&mut self, token: u64) -> Result<Self::Socket, Errno>;

    /// Goes on connecting, once the socket is ready; true when it stands, TLS included.
    ///
    /// # Errors
    /// Why it could not be connected; `PROTO` where TLS is the reason, and `why` says more.
    fn stands(&mut self, socket: &mut Self::Socket) -> Result<bool, Errno>;

    /// How many of `bytes` were taken.
    ///
    /// # Errors
    /// What the kernel says; `AGAIN` when it takes no more at present.
    fn send(&mut self, socket: &mut Self::Socket, bytes: &[u8]) -> Result<usize, Errno>;

    /// Whether nothing that was sent waits on this side of the socket.
    ///
    /// # Errors
    /// What the kernel says.
    fn flush(&mut self, socket: &mut Self::Socket) -> Result<bool, Errno>;

    /// Reads once.
    ///
    /// # Errors
    /// What the kernel says; `AGAIN` when there is nothing to read, `PROTO` where TLS is broken.
    fn receive(&mut self, socket: &mut Self::Socket, buffer: &mut [u8]) -> Result<Received, Errno>;

    /// Whether `discard` saves anything on this socket, and reads may be as short as one likes.
    fn discards(&self, socket: &Self::Socket) -> bool;

    /// Reads once, as many bytes as `buffer` has room for at most, and may leave them out of it: for what nobody
    /// looks at.
    ///
    /// # Errors
    /// As of `receive`.
    fn discard(&mut self, socket: &mut Self::Socket, buffer: &mut [u8]) -> Result<Received, Errno>;

    /// Reports the socket as readable again only where so many bytes wait, or the peer has closed; 1 = any.
    fn wake_at(&mut self, socket: &mut Self::Socket, bytes: usize);

    /// Whether bytes wait on this side of the socket, of which `wait` cannot tell.
    fn has_more_at_hand(&self, socket: &Self::Socket) -> bool;

    /// Whether the peer's end came unannounced; over TLS it may then be anybody's (RFC 9112, 9.8).
    fn is_cut(&self, socket: &Self::Socket) -> bool;

    /// Why TLS failed.
    fn why(&self, socket: &Self::Socket) -> Option<String>;

    fn close(&mut self, socket: Self::Socket);
}
