//! The bytes of a connection, over a plain or a TLS socket. HTTP is elsewhere.
//!
//! No other module knows which of the two a connection is. It is an enum and not a trait, so that there is one hot loop
//! for each load and not one for each load and kind of stream. All streams of a trial are alike, so the processor
//! predicts the branch.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{self, SendFlags};

use crate::outcome::{Fault, Reason};
use crate::socket::{self, End, Received};
use crate::tls::Session;
use crate::tunnel::Tunnel;

#[derive(Debug)]
pub struct Stream(Kind);

#[derive(Debug)]
enum Kind {
    Plain(OwnedFd),
    Tls(OwnedFd, Box<Secured>),
}

#[derive(Debug)]
struct Secured {
    /// The tunnel through a proxy, while it is not open.
    tunnel: Option<Tunnel>,
    session: Session,
    /// Whether the socket is connected, to the server or to the proxy.
    is_connected: bool,
}

impl Stream {
    /// The stream over a socket that has begun to connect: plain, or with the session of its TLS and the tunnel that
    /// TLS goes through.
    pub fn new(socket: OwnedFd, session: Option<Session>, tunnel: Option<Tunnel>) -> Self {
        Self(match session {
            None => Kind::Plain(socket),
            Some(session) => Kind::Tls(socket, Box::new(Secured { tunnel, session, is_connected: false })),
        })
    }

    /// Goes on connecting when the socket is ready. Returns true when it is connected, TLS included.
    ///
    /// # Errors
    /// Why it could not be connected; `PROTO` if TLS or a proxy is the reason, and then `why` says more.
    pub fn stands(&mut self) -> Result<bool, Errno> {
        match &mut self.0 {
            Kind::Plain(socket) => socket::connected(socket).map(|()| true),
            Kind::Tls(socket, secured) => {
                socket::connected(&*socket)?;
                secured.is_connected = true;
                if let Some(tunnel) = &mut secured.tunnel {
                    if !tunnel.open(socket.as_fd())? {
                        return Ok(false);
                    }
                    secured.tunnel = None;
                }
                match secured.session.shake(socket.as_fd()) {
                    Err(Errno::AGAIN) => Ok(false),
                    other => other,
                }
            }
        }
    }

    /// Sends `bytes`. Returns how many of them were taken.
    ///
    /// # Errors
    /// What the kernel returns; `AGAIN` if it takes no more now.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        match &mut self.0 {
            Kind::Plain(socket) => net::send(socket, bytes, SendFlags::NOSIGNAL),
            Kind::Tls(socket, secured) => secured.session.send(socket.as_fd(), bytes),
        }
    }

    /// Sends bytes that still wait on this side of the socket. Returns true if none are left.
    ///
    /// # Errors
    /// What the kernel returns.
    #[inline]
    pub fn flush(&mut self) -> Result<bool, Errno> {
        match &mut self.0 {
            Kind::Tls(socket, secured) => secured.session.flush(socket.as_fd()),
            Kind::Plain(_) => Ok(true),
        }
    }

    /// Reads once, with the kernel's timestamp if it is asked for.
    ///
    /// # Errors
    /// What the kernel returns; `AGAIN` if there is nothing to read, `PROTO` if TLS is broken.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8], stamped: bool) -> Result<Received, Errno> {
        match &mut self.0 {
            Kind::Plain(socket) => socket::receive(socket.as_fd(), buffer, stamped),
            Kind::Tls(socket, secured) => secured.session.receive(socket.as_fd(), buffer, stamped),
        }
    }

    /// Returns whether its bytes are the socket's own, so that some can be left unread.
    #[inline]
    pub fn discards(&self) -> bool {
        matches!(&self.0, Kind::Plain(_))
    }

    /// Reads once, for bytes that are not looked at. Over TCP the kernel need not copy them.
    ///
    /// # Errors
    /// Those of `receive`.
    #[inline]
    pub fn discard(&mut self, buffer: &mut [u8], stamped: bool) -> Result<Received, Errno> {
        match &mut self.0 {
            Kind::Plain(socket) => socket::discard(socket.as_fd(), buffer, stamped),
            Kind::Tls(..) => self.receive(buffer, stamped),
        }
    }

    /// Lets the kernel report it as readable only if this many bytes wait (socket(7), SO_RCVLOWAT).
    pub fn wake_at(&self, bytes: usize) {
        if let Kind::Plain(socket) = &self.0 {
            socket::wake_at(socket, bytes);
        }
    }

    /// Returns whether bytes wait on this side of the socket that epoll cannot report.
    pub fn has_more_at_hand(&self) -> bool {
        matches!(&self.0, Kind::Tls(_, secured) if secured.session.has_plaintext())
    }

    /// Returns whether the stream ended without notice. Over TLS the end may then be forged (RFC 9112, 9.8).
    pub fn is_cut(&self) -> bool {
        matches!(&self.0, Kind::Tls(_, secured) if secured.session.is_cut())
    }

    /// Returns what the kernel knows of the end of the connection.
    pub fn end(&self) -> End {
        match &self.0 {
            Kind::Plain(socket) | Kind::Tls(socket, _) => socket::end(socket.as_fd()),
        }
    }

    /// Returns where an attempt to connect is.
    pub fn connecting(&self) -> Reason {
        match &self.0 {
            Kind::Tls(_, secured) if secured.is_connected && secured.tunnel.is_some() => Reason::Tunnel,
            Kind::Tls(_, secured) if secured.is_connected => Reason::Handshake,
            _ => Reason::Connecting,
        }
    }

    /// Returns why TLS failed, or the tunnel that it goes through.
    pub fn why(&self) -> Option<Fault> {
        match &self.0 {
            Kind::Tls(_, secured) => {
                secured.tunnel.as_ref().map_or_else(|| secured.session.why(), Tunnel::why)
            }
            Kind::Plain(_) => None,
        }
    }

    /// Returns the local address; `None` if it is no TCP socket, or has no port yet.
    pub fn local(&self) -> Option<SocketAddr> {
        match &self.0 {
            Kind::Plain(socket) | Kind::Tls(socket, _) => socket::local(socket),
        }
    }

    pub fn close(self) {
        if let Kind::Tls(socket, mut secured) = self.0
            && secured.tunnel.is_none()
        {
            secured.session.close(socket.as_fd());
        }
    }
}
