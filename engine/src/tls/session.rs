//! The TLS of one connection over a non-blocking socket: the handshake, and the conversion of plaintext to ciphertext
//! and back. It contains neither HTTP nor epoll.

use std::fmt;
use std::mem;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::net::{self, SendFlags};
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

use super::faults;
use crate::outcome::{Fault, Reason};
use crate::socket::{self, Received};

/// The longest piece of plaintext that one record holds (RFC 8446, 5.1).
const LONGEST_PIECE_BYTES: usize = 16 * 1024;
/// The records of a server's part of the handshake mostly fit in this.
const HANDSHAKE_BYTES: usize = 8 * 1024;
/// The most ciphertext of a handshake that is kept while one of its messages is not whole. This is the longest
/// possible message (rustls takes 64 KiB) in records of some length. In records of one byte each it would be 1.5 MB.
const MOST_HANDSHAKE_BYTES: usize = 80 * 1024;
const TOO_LONG: &str = "a message of the handshake is longer than the buffer";
/// The most reads in a row that bring no plaintext, before the caller is asked whether to go on.
const FRUITLESS_READS: usize = 2;

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The server announced the end (close_notify).
    Announced,
    /// The connection was closed without notice, so the end may be forged.
    Cut,
}

/// The state of one connection. While idle it holds no buffer, except for what the longest request took.
pub struct Session {
    connection: UnbufferedClientConnection,
    /// Ciphertext that is not a whole record yet.
    incoming: Vec<u8>,
    /// Plaintext that came before a `receive`.
    unread: Vec<u8>,
    /// Ciphertext, of which `sent` bytes are sent.
    outgoing: Vec<u8>,
    sent: usize,
    is_shaken: bool,
    /// Whether the last read filled all its room, so that there may be more.
    is_full: bool,
    end: Option<End>,
    why: Option<Fault>,
}

impl Session {
    /// A session for a connection that has just been opened.
    pub fn new(connection: UnbufferedClientConnection) -> Self {
        Self {
            connection,
            incoming: Vec::new(),
            unread: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            is_shaken: false,
            is_full: false,
            end: None,
            why: None,
        }
    }

    /// Goes on with the handshake. Returns true when it is done and all its bytes are sent.
    ///
    /// # Errors
    /// `PROTO` if the handshake fails and `CONNABORTED` if the server closes the connection, and then `why` says
    /// more; otherwise what the kernel returns.
    pub fn shake(&mut self, fd: BorrowedFd) -> Result<bool, Errno> {
        loop {
            if let Err(errno) = self.take_in(&[]) {
                self.tell_why(fd);
                return Err(errno);
            }
            if !self.flush(fd)? {
                return Ok(false);
            }
            if self.is_shaken {
                self.incoming.shrink_to_fit();
                return Ok(true);
            }
            if self.end.is_some() {
                return Err(self.hung_up()); // The end was announced together with the last message.
            }
            match self.read_handshake(fd) {
                Ok(0) => return Err(self.hung_up()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(errno),
            }
        }
    }

    fn hung_up(&mut self) -> Errno {
        self.why = Some(Fault {
            reason: Reason::Handshake,
            words: "the server closed the connection during the handshake".into(),
        });
        Errno::CONNABORTED
    }

    /// Encrypts and sends. Returns how many bytes of `plain` it took. Their ciphertext may be left to `flush`.
    ///
    /// # Errors
    /// `AGAIN` if ciphertext of earlier calls is left and nothing was taken; `PROTO` if TLS has failed, and then
    /// `why` says more; otherwise what the kernel returns.
    pub fn send(&mut self, fd: BorrowedFd, plain: &[u8]) -> Result<usize, Errno> {
        self.check()?;
        if !self.flush(fd)? {
            return Err(Errno::AGAIN);
        }
        let mut taken = 0;
        for piece in plain.chunks(LONGEST_PIECE_BYTES) {
            if let Err(errno) = self.take_in(piece) {
                self.tell_why(fd);
                return Err(errno);
            }
            taken += piece.len();
            if !self.flush(fd)? {
                break;
            }
        }
        Ok(taken)
    }

    /// Sends the ciphertext that there is. Returns true if none is left.
    ///
    /// # Errors
    /// What the kernel returns, except `AGAIN`.
    pub fn flush(&mut self, fd: BorrowedFd) -> Result<bool, Errno> {
        while self.sent < self.outgoing.len() {
            match net::send(fd, &self.outgoing[self.sent..], SendFlags::NOSIGNAL) {
                Ok(bytes) => self.sent += bytes,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Reads and decrypts into the front half of `buffer`. The rear half is for the ciphertext. It must hold more
    /// than two records (34 KiB), as a message of the handshake may reach into two. No bytes: the stream has ended.
    ///
    /// # Errors
    /// `AGAIN` if the socket has no more; `INTR` if much has come and all of it was TLS's own (tickets, for
    /// instance); `PROTO` if it is not TLS, and then `why` says more; otherwise what the kernel returns.
    pub fn receive(&mut self, fd: BorrowedFd, buffer: &mut [u8], stamped: bool) -> Result<Received, Errno> {
        self.check()?;
        if !self.unread.is_empty() || self.end.is_some() {
            return Ok(self.hand_out(buffer));
        }
        // A record is shorter once it is decrypted, so everything in the rear half fits in the front half.
        let (plain, cipher) = buffer.split_at_mut(buffer.len().div_ceil(2));
        let mut held = self.incoming.len();
        cipher[..held].copy_from_slice(&self.incoming);
        self.incoming.clear();
        let mut fruitless = 0;
        let received = loop {
            if held == cipher.len() {
                self.why = Some(faults::other(TOO_LONG));
                break Err(Errno::PROTO);
            }
            let received = match socket::receive(fd, &mut cipher[held..], stamped) {
                Ok(received) => received,
                Err(errno) => {
                    self.is_full = false;
                    break Err(errno);
                }
            };
            if received.bytes == 0 {
                self.end = Some(End::Cut);
                break Ok(received);
            }
            let filled = held + received.bytes;
            self.is_full = filled == cipher.len();
            let mut bytes = 0;
            let read = self.process(&mut cipher[..filled], &[], |piece| {
                plain[bytes..][..piece.len()].copy_from_slice(piece);
                bytes += piece.len();
            });
            if let Err(errno) = self.check() {
                self.tell_why(fd);
                return Err(errno);
            }
            cipher.copy_within(read..filled, 0);
            held = filled - read;
            if bytes > 0 || self.end.is_some() {
                break Ok(Received { bytes, ..received });
            }
            fruitless += 1;
            if fruitless == FRUITLESS_READS {
                break Err(Errno::INTR);
            }
        };
        self.incoming.extend_from_slice(&cipher[..held]);
        received
    }

    /// Returns plaintext that came before. No bytes: the stream has ended.
    fn hand_out(&mut self, buffer: &mut [u8]) -> Received {
        let bytes = self.unread.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&self.unread[..bytes]);
        self.unread.drain(..bytes);
        Received { bytes, stamp: 0 }
    }

    /// Returns whether the last `receive` may have left something that epoll does not report again.
    pub fn has_plaintext(&self) -> bool {
        self.is_full || !self.unread.is_empty() || self.end.is_some()
    }

    /// Returns whether the stream ended without a close_notify of the server, so that something may be missing.
    pub fn is_cut(&self) -> bool {
        self.end == Some(End::Cut)
    }

    /// Tells the server that no more will come, as far as the kernel takes it at once (RFC 8446, 6.1).
    pub fn close(&mut self, fd: BorrowedFd) {
        if self.why.is_some() {
            return; // The server was told why. What failed must not be processed again.
        }
        let status = self.connection.process_tls_records(&mut self.incoming);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state {
            let _ =
                append(&mut self.outgoing, |room| traffic.queue_close_notify(room).map_err(Refusal::from));
        }
        let _ = self.flush(fd);
    }

    /// Returns why the session failed, if TLS is the reason.
    pub fn why(&self) -> Option<Fault> {
        self.why.clone()
    }

    /// Processes what has been read, and encrypts `plain`.
    fn take_in(&mut self, plain: &[u8]) -> Result<(), Errno> {
        let mut incoming = mem::take(&mut self.incoming);
        let mut unread = mem::take(&mut self.unread);
        let read = self.process(&mut incoming, plain, |piece| unread.extend_from_slice(piece));
        incoming.drain(..read);
        (self.incoming, self.unread) = (incoming, unread);
        self.check()
    }

    fn read_handshake(&mut self, fd: BorrowedFd) -> Result<usize, Errno> {
        let held = self.incoming.len();
        let room = HANDSHAKE_BYTES.min(MOST_HANDSHAKE_BYTES - held);
        if room == 0 {
            self.why = Some(faults::other(TOO_LONG));
            return Err(Errno::PROTO);
        }
        self.incoming.reserve_exact(room);
        self.incoming.resize(held + room, 0);
        let received = socket::receive(fd, &mut self.incoming[held..], false);
        let bytes = received.map_or(0, |received| received.bytes);
        self.incoming.truncate(held + bytes);
        self.is_full = bytes == room;
        received.map(|received| received.bytes)
    }

    /// Sends the alert for a failure, as far as the kernel takes it at once.
    fn tell_why(&mut self, fd: BorrowedFd) {
        let status = self.connection.process_tls_records(&mut self.incoming);
        if let Ok(ConnectionState::EncodeTlsData(mut alert)) = status.state {
            let _ = append(&mut self.outgoing, |room| alert.encode(room).map_err(Refusal::from));
        }
        let _ = self.flush(fd);
    }

    fn check(&self) -> Result<(), Errno> {
        if self.why.is_some() { Err(Errno::PROTO) } else { Ok(()) }
    }

    /// Passes `incoming` to rustls until rustls wants more, its plaintext to `sink`, and `plain` to encryption.
    /// Returns how many bytes of `incoming` are done with. A failure is left in `why`.
    fn process(&mut self, incoming: &mut [u8], plain: &[u8], mut sink: impl FnMut(&[u8])) -> usize {
        let mut read = 0;
        loop {
            let UnbufferedStatus { mut discard, state, .. } =
                self.connection.process_tls_records(&mut incoming[read..]);
            let goes_on = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(Ok(record)) = traffic.next_record() {
                        discard += record.discard;
                        sink(record.payload);
                    }
                    Ok(true)
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    append(&mut self.outgoing, |room| data.encode(room).map_err(Refusal::from))
                        .map(|()| true)
                        .map_err(|why| faults::other(&why))
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    Ok(true)
                }
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    self.is_shaken = true;
                    append(&mut self.outgoing, |room| traffic.encrypt(plain, room).map_err(Refusal::from))
                        .map(|()| false)
                        .map_err(|why| faults::other(&why))
                }
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    self.end = Some(End::Announced);
                    Ok(false)
                }
                Ok(_) => Ok(false), // rustls waits for more of the handshake.
                Err(error) => Err(faults::of(&error)),
            };
            read += discard;
            match goes_on {
                Ok(true) => {}
                Ok(false) => return read,
                Err(why) => {
                    self.why = Some(why);
                    return read;
                }
            }
        }
    }
}

/// Why rustls did not write.
enum Refusal {
    /// It needs this many bytes of room.
    Room(usize),
    Other(String),
}

impl From<EncodeError> for Refusal {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::InsufficientSize(size) => Self::Room(size.required_size),
            error @ EncodeError::AlreadyEncoded => Self::Other(error.to_string()),
        }
    }
}

impl From<EncryptError> for Refusal {
    fn from(error: EncryptError) -> Self {
        match error {
            EncryptError::InsufficientSize(size) => Self::Room(size.required_size),
            error @ EncryptError::EncryptExhausted => Self::Other(error.to_string()),
        }
    }
}

/// Appends what `write` writes, with the room that it asks for.
fn append(
    outgoing: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Refusal>,
) -> Result<(), String> {
    let begins = outgoing.len();
    loop {
        match write(&mut outgoing[begins..]) {
            Ok(bytes) => {
                outgoing.truncate(begins + bytes);
                return Ok(());
            }
            Err(Refusal::Room(bytes)) => outgoing.resize(begins + bytes, 0),
            Err(Refusal::Other(why)) => {
                outgoing.truncate(begins);
                return Err(why);
            }
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Session").field("end", &self.end).field("why", &self.why).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
