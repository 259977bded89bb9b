//! A connection's bytes, behind which plain and TLS sockets look alike. It knows no HTTP.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{self, SendFlags};

use crate::net::Received;
use crate::socket;
use crate::tls::Session;

#[derive(Debug)]
pub enum Stream {
    Plain(OwnedFd),
    Tls(OwnedFd, Box<Session>),
}

impl Stream {
    /// How many of `bytes` were taken.
    ///
    /// # Errors
    /// What the kernel says; `AGAIN` when it takes no more at present.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::Plain(socket) => net::send(socket, bytes, SendFlags::NOSIGNAL),
            Self::Tls(socket, session) => session.send(socket.as_fd(), bytes),
        }
    }

    /// Whether nothing that was sent waits on this side of the socket.
    ///
    /// # Errors
    /// What the kernel says.
    #[inline]
    pub fn flush(&mut self) -> Result<bool, Errno> {
        match self {
            Self::Tls(socket, session) => session.flush(socket.as_fd()),
            Self::Plain(_) => Ok(true),
        }
    }

    /// Reads once, with the kernel's timestamp where it is asked for.
    ///
    /// # Errors
    /// What the kernel says; `AGAIN` when there is nothing to read, `PROTO` where TLS is broken.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8], stamped: bool) -> Result<Received, Errno> {
        match self {
            Self::Plain(socket) => socket::receive(socket.as_fd(), buffer, stamped),
            Self::Tls(socket, session) => session.receive(socket.as_fd(), buffer, stamped),
        }
    }

    /// Whether its bytes are the socket's own, so that some can be left unread.
    #[inline]
    pub fn discards(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Reads once what nobody looks at; over TCP the kernel need not copy it.
    ///
    /// # Errors
    /// As of `receive`.
    #[inline]
    pub fn discard(&mut self, buffer: &mut [u8], stamped: bool) -> Result<Received, Errno> {
        match self {
            Self::Plain(socket) => socket::discard(socket.as_fd(), buffer, stamped),
            Self::Tls(..) => self.receive(buffer, stamped),
        }
    }

    /// Lets the kernel report it as readable only where so many bytes wait (socket(7), SO_RCVLOWAT).
    pub fn wake_at(&self, bytes: usize) {
        if let Self::Plain(socket) = self {
            socket::wake_at(socket, bytes);
        }
    }

    /// Whether bytes wait on this side of the socket, of which epoll cannot tell.
    pub fn has_more_at_hand(&self) -> bool {
        matches!(self, Self::Tls(_, session) if session.has_plaintext())
    }

    /// Whether the peer's end came unannounced; over TLS it may then be anybody's (RFC 9112, 9.8).
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Tls(_, session) if session.is_cut())
    }

    /// Why TLS failed.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Tls(_, session) => session.why(),
            Self::Plain(_) => None,
        }
    }

    pub fn close(self) {
        if let Self::Tls(socket, mut session) = self {
            session.close(socket.as_fd());
        }
    }
}
