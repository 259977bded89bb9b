//! What the kernel says of single TCP sockets (sock_diag(7)): one end of a connection by its addresses, or one
//! listener. Each look-up takes a few microseconds and needs no privilege. Nothing is dumped, so the cost does not grow
//! with the number of sockets. It sees the sockets of its own network namespace.
//!
//! A question names the addresses of IPv4 as such even if the socket is one of IPv6: the kernel finds both in one table.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

// What follows is from linux/netlink.h, linux/inet_diag.h and linux/tcp.h.
const HEADER_BYTES: usize = 16;
const QUESTION_BYTES: usize = HEADER_BYTES + 56;
const ROW_BYTES: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const INET_DIAG_INFO: u16 = 2;
const TCP: u8 = libc::IPPROTO_TCP as u8;
const ALL_STATES: u32 = u32::MAX;
const NO_COOKIE: u32 = u32::MAX;

const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;
const SYN_RECV: u8 = 3;
const FIN_WAIT_1: u8 = 4;
const FIN_WAIT_2: u8 = 5;
const CLOSE_WAIT: u8 = 8;
const LISTEN: u8 = 10;

const ANSWER_BYTES: usize = 4096;
/// The kernel answers before `send` returns. If it has lost the answer, this ends the wait for it.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Whether a program holds it. None does before `accept` has returned it, nor after `close`.
    pub is_held: bool,
    /// Whether this side may still send: it has not closed, nor shut its side down.
    pub may_send: bool,
    /// Whether the other side may still send, as far as this side knows: it has neither closed nor reset.
    pub may_hear: bool,
    /// Bytes that have arrived and that the program has not read.
    pub unread_bytes: u32,
    /// Bytes that the program has written and that the other side has not acknowledged.
    pub unacknowledged_bytes: u32,
    /// Those of them that were not sent yet. `None` if nobody asked, or the kernel does not say.
    pub unsent_bytes: Option<u32>,
}

/// A socket for questions. It holds one descriptor.
pub struct Diag {
    netlink: OwnedFd,
    sequence: u32,
    answer: Box<[u8]>,
}

/// What the kernel answers: the state of a socket, and the whole message about it.
struct Row<'a> {
    state: u8,
    bytes: &'a [u8],
}

impl Diag {
    /// # Errors
    /// If the kernel offers no sock_diag for TCP, or a sandbox forbids it.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let netlink =
            rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
        rustix::net::connect(&netlink, &SocketAddrNetlink::new(0, 0))?;
        set_socket_timeout(&netlink, Timeout::Recv, Some(LOST_AFTER))?;
        let mut diag = Self { netlink, sequence: 0, answer: vec![0; ANSWER_BYTES].into_boxed_slice() };
        diag.check()?;
        Ok(diag)
    }

    /// Looks up a socket that there is: a kernel without the module tcp_diag answers that there is none.
    fn check(&mut self) -> io::Result<()> {
        let own = TcpListener::bind("127.0.0.1:0")?;
        match self.waiting(own.local_addr()?)? {
            Some(_) => Ok(()),
            None => Err(io::Error::other("this kernel does not show TCP sockets (tcp_diag)")),
        }
    }

    /// Returns the end at `local` of the connection with `peer`, or `None` if there is none. With `unsent`, the kernel
    /// takes the socket's lock for a moment.
    ///
    /// # Errors
    /// If the kernel does not answer, or refuses.
    pub fn end(&mut self, local: SocketAddr, peer: SocketAddr, unsent: bool) -> io::Result<Option<End>> {
        let asked = if unsent { 1 << (INET_DIAG_INFO - 1) } else { 0 };
        // Of a connection that does not exist, the kernel returns the listener.
        let row = self.ask(local, peer, asked)?.filter(|row| row.state != LISTEN);
        Ok(row.map(|row| End::of(&row)))
    }

    /// Returns how many connections wait for `accept` at `local`, or `None` if nobody listens there.
    ///
    /// # Errors
    /// If the kernel does not answer, or refuses.
    pub fn waiting(&mut self, local: SocketAddr) -> io::Result<Option<u32>> {
        let nobody = match local.ip() {
            IpAddr::V4(_) => SocketAddr::new(IpAddr::from([0_u8; 4]), 0),
            IpAddr::V6(_) => SocketAddr::new(IpAddr::from([0_u8; 16]), 0),
        };
        let row = self.ask(local, nobody, 0)?.filter(|row| row.state == LISTEN);
        Ok(row.map(|row| number(row.bytes, 56)))
    }

    fn ask(&mut self, local: SocketAddr, peer: SocketAddr, extensions: u8) -> io::Result<Option<Row<'_>>> {
        self.sequence = self.sequence.wrapping_add(1);
        let question = question(local, peer, extensions, self.sequence);
        rustix::net::send(&self.netlink, &question, SendFlags::empty())?;
        loop {
            let (_, bytes) = rustix::net::recv(&self.netlink, &mut self.answer[..], RecvFlags::empty())?;
            if bytes < HEADER_BYTES + 4 {
                return Err(io::Error::other("sock_diag: the answer is cut off"));
            }
            if number(&self.answer, 8) == self.sequence {
                break;
            }
        }
        let length = (number(&self.answer, 0) as usize).clamp(HEADER_BYTES, self.answer.len());
        let kind = u16::from_ne_bytes([self.answer[4], self.answer[5]]);
        let body = &self.answer[HEADER_BYTES..length];
        if kind == NLMSG_ERROR {
            let error = io::Error::from_raw_os_error((number(body, 0) as i32).wrapping_neg());
            let is_absent = error.raw_os_error() == Some(libc::ENOENT);
            return if is_absent { Ok(None) } else { Err(error) };
        }
        if kind != SOCK_DIAG_BY_FAMILY || body.len() < ROW_BYTES {
            return Err(io::Error::other("sock_diag: the answer is cut off"));
        }
        Ok(Some(Row { state: body[1], bytes: body }))
    }
}

impl End {
    fn of(row: &Row) -> Self {
        // The kernel counts the other side's FIN as a byte.
        let fin = u32::from(row.state == CLOSE_WAIT);
        Self {
            is_held: number(row.bytes, 68) != 0,
            may_send: matches!(row.state, ESTABLISHED | SYN_RECV | CLOSE_WAIT),
            may_hear: matches!(row.state, ESTABLISHED | SYN_SENT | SYN_RECV | FIN_WAIT_1 | FIN_WAIT_2),
            unread_bytes: number(row.bytes, 56).saturating_sub(fin),
            unacknowledged_bytes: number(row.bytes, 60),
            unsent_bytes: info(row.bytes).filter(|info| info.len() >= 148).map(|info| number(info, 144)),
        }
    }
}

/// Returns the attribute `INET_DIAG_INFO` (`tcp_info`) that follows a row.
fn info(row: &[u8]) -> Option<&[u8]> {
    let mut rest = row.get(ROW_BYTES..)?;
    while rest.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
        let kind = u16::from_ne_bytes([rest[2], rest[3]]);
        let body = rest.get(4..length)?;
        if kind == INET_DIAG_INFO {
            return Some(body);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// Asks for the socket whose own address is `local` and whose peer is `peer`.
fn question(local: SocketAddr, peer: SocketAddr, extensions: u8, sequence: u32) -> [u8; QUESTION_BYTES] {
    let mut bytes = [0; QUESTION_BYTES];
    bytes[0..4].copy_from_slice(&(QUESTION_BYTES as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    bytes[16] = match local.ip() {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    };
    bytes[17] = TCP;
    bytes[18] = extensions;
    bytes[20..24].copy_from_slice(&ALL_STATES.to_ne_bytes());
    bytes[24..26].copy_from_slice(&local.port().to_be_bytes());
    bytes[26..28].copy_from_slice(&peer.port().to_be_bytes());
    put(&mut bytes[28..44], local.ip());
    put(&mut bytes[44..60], peer.ip());
    bytes[60..64].copy_from_slice(&(scope(local) | scope(peer)).to_ne_bytes());
    bytes[64..68].copy_from_slice(&NO_COOKIE.to_ne_bytes());
    bytes[68..72].copy_from_slice(&NO_COOKIE.to_ne_bytes());
    bytes
}

/// The interface that a link-local address is meant on; 0 for all other addresses.
fn scope(address: SocketAddr) -> u32 {
    match address {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(address) => address.scope_id(),
    }
}

fn put(bytes: &mut [u8], address: IpAddr) {
    match address {
        IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => bytes.copy_from_slice(&address.octets()),
    }
}

/// The number at this offset; 0 beyond the end.
fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    struct Pair {
        diag: Diag,
        listener: TcpListener,
        client: TcpStream,
    }

    impl Pair {
        fn at(address: &str) -> Self {
            let listener = TcpListener::bind(address).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            Self { diag: Diag::open().unwrap(), listener, client }
        }

        fn server_end(&mut self) -> Option<End> {
            let (near, far) = (self.client.local_addr().unwrap(), self.client.peer_addr().unwrap());
            self.diag.end(far, near, true).unwrap()
        }

        fn client_end(&mut self) -> Option<End> {
            let (near, far) = (self.client.local_addr().unwrap(), self.client.peer_addr().unwrap());
            self.diag.end(near, far, true).unwrap()
        }
    }

    #[test]
    fn a_connection_is_not_held_before_it_is_accepted() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let mut pair = Pair::at(address);
            pair.client.write_all(b"early").unwrap();
            let waiting = pair.server_end().unwrap();
            assert!(!waiting.is_held && waiting.may_send);
            assert_eq!(waiting.unread_bytes, 5);
            let local = pair.listener.local_addr().unwrap();
            assert_eq!(pair.diag.waiting(local).unwrap(), Some(1));
            let accepted = pair.listener.accept().unwrap();
            assert!(pair.server_end().unwrap().is_held);
            assert_eq!(pair.diag.waiting(local).unwrap(), Some(0));
            drop(accepted);
        }
    }

    #[test]
    fn clients_by_ipv4_of_a_listener_for_both_families_are_found() {
        let listener = TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut pair = Pair { diag: Diag::open().unwrap(), listener, client };
        let there = SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(pair.diag.waiting(there).unwrap(), Some(1));
        assert!(!pair.server_end().unwrap().is_held);
        let accepted = pair.listener.accept().unwrap();
        assert!(pair.server_end().unwrap().is_held);
        drop(accepted);
    }

    #[test]
    fn a_request_is_unread_then_read_and_its_answer_unread_by_the_client() {
        let mut pair = Pair::at("127.0.0.1:0");
        let (mut server, _) = pair.listener.accept().unwrap();
        pair.client.write_all(b"question").unwrap();
        assert_eq!(pair.server_end().unwrap().unread_bytes, 8);
        server.read_exact(&mut [0; 8]).unwrap();
        let inside = pair.server_end().unwrap();
        assert_eq!((inside.unread_bytes, inside.unacknowledged_bytes), (0, 0));
        server.write_all(b"answer").unwrap();
        assert_eq!(pair.client_end().unwrap().unread_bytes, 6);
    }

    #[test]
    fn an_answer_that_is_not_taken_is_in_part_not_sent() {
        let mut pair = Pair::at("127.0.0.1:0");
        let (mut server, _) = pair.listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        while server.write(&[0; 65_536]).is_ok() {}
        let end = pair.server_end().unwrap();
        assert!(end.unacknowledged_bytes > 0 && end.unsent_bytes.unwrap() > 0, "{end:?}");
    }

    #[test]
    fn a_connection_that_does_not_exist_is_absent_though_somebody_listens() {
        let mut pair = Pair::at("127.0.0.1:0");
        let far = pair.client.peer_addr().unwrap();
        let other: SocketAddr = "127.0.0.1:1".parse().unwrap();
        assert_eq!(pair.diag.end(far, other, false).unwrap(), None);
        assert_eq!(pair.diag.end(other, far, false).unwrap(), None);
        assert_eq!(pair.diag.waiting(other).unwrap(), None);
    }

    #[test]
    fn the_end_of_the_other_side_is_not_an_unread_byte() {
        let mut pair = Pair::at("127.0.0.1:0");
        let server = pair.listener.accept().unwrap();
        pair.client.shutdown(std::net::Shutdown::Write).unwrap();
        let end = pair.server_end().unwrap();
        assert_eq!(end.unread_bytes, 0);
        assert!(end.may_send && end.is_held);
        assert!(!pair.client_end().unwrap().may_send);
        drop(server);
    }

    #[test]
    fn a_side_that_has_closed_is_held_by_nobody_and_sends_no_more() {
        let mut pair = Pair::at("127.0.0.1:0");
        drop(pair.listener.accept().unwrap());
        let end = pair.server_end().unwrap();
        assert!(!end.is_held && !end.may_send, "{end:?}");
    }
}
