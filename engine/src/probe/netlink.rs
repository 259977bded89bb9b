//! The way to what the kernel says of sockets (sock_diag(7)): a question, and the one answer to it or many rows. What is
//! asked and what the rows mean is not known here.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socket_with};

use super::namespace::Namespace;

// What follows is from linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h.
const HEADER_BYTES: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
/// A question about sockets of one family (SOCK_DIAG_BY_FAMILY).
const BY_FAMILY: u16 = 20;
/// A question about TCP sockets of all families at once (TCPDIAG_GETSOCK): the kernel walks its table once.
const TCP_OF_ALL_FAMILIES: u16 = 18;

/// The kernel puts at most 32 KiB of rows into a message.
const BUFFER_BYTES: usize = 64 * 1024;
/// The kernel answers before `send` returns. If it has lost the answer, this ends the wait for it.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// Which rows a question is about.
#[derive(Clone, Copy)]
pub enum Rows {
    OfOneFamily,
    OfTcp,
}

/// A socket for questions. It holds one descriptor.
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    buffer: Box<[u8]>,
}

pub struct Message<'a> {
    pub kind: u16,
    pub sequence: u32,
    pub body: &'a [u8],
    /// Its length, with the gap before the next one.
    pub bytes: usize,
}

impl Netlink {
    /// # Errors
    /// If the kernel offers no sock_diag, or a sandbox forbids it.
    pub fn open() -> io::Result<Self> {
        Self::open_in(Namespace::OWN)
    }

    /// # Errors
    /// As `open`, or if the namespace may not be entered.
    pub fn open_in(namespace: Namespace) -> io::Result<Self> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        let socket = namespace.within(|| socket_with(family, SocketType::DGRAM, flags, Some(SOCK_DIAG)))?;
        rustix::net::connect(&socket, &SocketAddrNetlink::new(0, 0))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(LOST_AFTER))?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; BUFFER_BYTES].into_boxed_slice() })
    }

    /// Asks for one socket. Returns the row about it, or `None` if there is no such socket.
    ///
    /// # Errors
    /// If the kernel does not answer, or refuses.
    pub fn ask(&mut self, question: &[u8]) -> io::Result<Option<&[u8]>> {
        self.send(BY_FAMILY, 0, question)?;
        let bytes = loop {
            let bytes = self.receive()?;
            if first(&self.buffer[..bytes]).is_some_and(|message| message.sequence == self.sequence) {
                break bytes;
            }
        };
        let Some(message) = first(&self.buffer[..bytes]) else {
            return Err(cut_off());
        };
        match message.kind {
            BY_FAMILY => Ok(Some(message.body)),
            NLMSG_ERROR => match error(message.body) {
                Some(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
                Some(error) => Err(error),
                None => Err(cut_off()),
            },
            _ => Err(cut_off()),
        }
    }

    /// Asks for many sockets, and calls `take` with the row about each.
    ///
    /// # Errors
    /// If the kernel does not answer, or refuses.
    pub fn dump(&mut self, rows: Rows, question: &[u8], mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let kind = match rows {
            Rows::OfOneFamily => BY_FAMILY,
            Rows::OfTcp => TCP_OF_ALL_FAMILIES,
        };
        self.send(kind, NLM_F_DUMP, question)?;
        loop {
            let bytes = self.receive()?;
            let mut rest = &self.buffer[..bytes];
            while let Some(message) = first(rest) {
                rest = &rest[message.bytes..];
                if message.sequence != self.sequence {
                    continue;
                }
                match message.kind {
                    NLMSG_DONE | NLMSG_ERROR => return error(message.body).map_or(Ok(()), Err),
                    _ => take(message.body),
                }
            }
        }
    }

    fn send(&mut self, kind: u16, flags: u16, question: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = Vec::with_capacity(HEADER_BYTES + question.len());
        message.extend(((HEADER_BYTES + question.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(question);
        rustix::net::send(&self.socket, &message, SendFlags::empty())?;
        Ok(())
    }

    fn receive(&mut self) -> io::Result<usize> {
        let (_, bytes) = rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
        if bytes < HEADER_BYTES { Err(cut_off()) } else { Ok(bytes) }
    }
}

fn cut_off() -> io::Error {
    io::Error::other("sock_diag: the answer is cut off")
}

/// Returns the error that a message reports, or `None` if it reports that all went well.
pub fn error(body: &[u8]) -> Option<io::Error> {
    let code = number(body, 0) as i32;
    (code != 0).then(|| io::Error::from_raw_os_error(code.wrapping_neg()))
}

/// Returns the first of the messages in `bytes`, if it is whole.
pub fn first(bytes: &[u8]) -> Option<Message<'_>> {
    let length = number(bytes, 0) as usize;
    let body = bytes.get(HEADER_BYTES..length)?;
    Some(Message {
        kind: u16::from_ne_bytes([bytes[4], bytes[5]]),
        sequence: number(bytes, 8),
        body,
        bytes: length.next_multiple_of(4).min(bytes.len()),
    })
}

/// Returns the attribute of this kind among `attributes`, which follow the fixed part of a row.
pub fn attribute(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    let mut rest = attributes;
    while rest.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
        let body = rest.get(4..length)?;
        if u16::from_ne_bytes([rest[2], rest[3]]) == kind {
            return Some(body);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// The number at this offset; 0 beyond the end.
pub fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_ne_bytes)
}

/// The number of eight bytes at this offset; 0 beyond the end.
pub fn long_number(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok());
    eight.map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 2]);
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn messages_are_split_where_each_ends() {
        let bytes = [message(BY_FAMILY, 7, b"abcde"), message(NLMSG_DONE, 7, &[0; 4])].concat();
        let one = first(&bytes).unwrap();
        assert_eq!((one.kind, one.sequence, one.body, one.bytes), (BY_FAMILY, 7, &b"abcde"[..], 24));
        let other = first(&bytes[24..]).unwrap();
        assert_eq!((other.kind, other.bytes), (NLMSG_DONE, 20));
        assert!(error(other.body).is_none());
        assert!(first(&bytes[44..]).is_none());
    }

    #[test]
    fn a_message_that_is_cut_off_is_none() {
        let bytes = message(BY_FAMILY, 7, b"abcdefgh");
        for length in 0..bytes.len() {
            assert!(first(&bytes[..length]).is_none(), "{length}");
        }
        assert!(first(&[0; 64]).is_none());
    }

    #[test]
    fn attributes_are_found_by_their_kind_and_never_beyond_the_end() {
        let bytes = [7, 0, 3, 0, b'a', b'b', b'c', 0, 8, 0, 2, 0, 1, 2, 3, 4];
        assert_eq!(attribute(&bytes, 3), Some(&b"abc"[..]));
        assert_eq!(attribute(&bytes, 2), Some(&[1, 2, 3, 4][..]));
        assert_eq!(attribute(&bytes, 1), None);
        assert_eq!(attribute(&bytes[..15], 2), None);
        assert_eq!(attribute(&[0; 16], 2), None);
    }

    #[test]
    fn what_the_kernel_refuses_is_an_error() {
        let mut netlink = Netlink::open().unwrap();
        assert!(netlink.ask(&[0xff; 56]).is_err());
        assert!(netlink.dump(Rows::OfOneFamily, &[0xff; 56], |_| {}).is_err());
        assert_eq!(error(&(-libc::EINVAL).to_ne_bytes()).unwrap().raw_os_error(), Some(libc::EINVAL));
    }
}
