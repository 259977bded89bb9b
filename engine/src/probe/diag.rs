//! What the kernel says of single TCP sockets (sock_diag(7)): one end of a connection by its addresses, or one
//! listener. Each look-up takes a few microseconds and needs no privilege. Nothing is dumped, so the cost does not grow
//! with the number of sockets. It sees the sockets of one network namespace.
//!
//! A question names the addresses of IPv4 as such even if the socket is one of IPv6: the kernel finds both in one table.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use super::namespace::Namespace;
use super::netlink::Netlink;
use super::tcp_end::{End, LISTEN, Row, WITH_INFO};

// What follows is from linux/inet_diag.h.
const QUESTION_BYTES: usize = 56;
const TCP: u8 = libc::IPPROTO_TCP as u8;
const ALL_STATES: u32 = u32::MAX;
const NO_COOKIE: u32 = u32::MAX;

/// Looks up single sockets. It holds one descriptor.
pub struct Diag {
    netlink: Netlink,
}

impl Diag {
    /// # Errors
    /// If the kernel offers no sock_diag for TCP, or a sandbox forbids it.
    pub fn open() -> io::Result<Self> {
        let mut diag = Self { netlink: Netlink::open()? };
        diag.check()?;
        Ok(diag)
    }

    /// # Errors
    /// As `open`, or if the namespace may not be entered.
    pub fn open_in(namespace: Namespace) -> io::Result<Self> {
        let own = Self::open()?;
        if namespace.is_own() {
            return Ok(own);
        }
        Ok(Self { netlink: Netlink::open_in(namespace)? })
    }

    /// Looks up a socket that there is: a kernel without the module tcp_diag answers that there is none.
    fn check(&mut self) -> io::Result<()> {
        let own = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        match self.waiting(own.local_addr()?)? {
            Some(_) => Ok(()),
            None => Err(io::Error::other("this kernel does not show TCP sockets (tcp_diag)")),
        }
    }

    /// Returns the end at `local` of the connection with `peer`, or `None` if there is none. With `info`, it includes
    /// what the kernel tells only while it has the socket's lock.
    ///
    /// # Errors
    /// If the kernel does not answer, or refuses.
    pub fn end(&mut self, local: SocketAddr, peer: SocketAddr, info: bool) -> io::Result<Option<End>> {
        let asked = if info { WITH_INFO } else { 0 };
        // Of a connection that does not exist, the kernel returns the listener.
        let row = self.ask(local, peer, asked)?.filter(|row| row.state() != LISTEN);
        Ok(row.map(|row| row.end()))
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
        let row = self.ask(local, nobody, 0)?.filter(|row| row.state() == LISTEN);
        Ok(row.map(|row| row.waiting()))
    }

    fn ask(&mut self, local: SocketAddr, peer: SocketAddr, extensions: u8) -> io::Result<Option<Row<'_>>> {
        let Some(bytes) = self.netlink.ask(&question(local, peer, extensions))? else {
            return Ok(None);
        };
        Row::of(bytes).map(Some).ok_or_else(|| io::Error::other("sock_diag: the answer is cut off"))
    }
}

/// Asks for the socket whose own address is `local` and whose peer is `peer`.
fn question(local: SocketAddr, peer: SocketAddr, extensions: u8) -> [u8; QUESTION_BYTES] {
    let mut bytes = [0; QUESTION_BYTES];
    bytes[0] = match local.ip() {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    };
    bytes[1] = TCP;
    bytes[2] = extensions;
    bytes[4..8].copy_from_slice(&ALL_STATES.to_ne_bytes());
    bytes[8..10].copy_from_slice(&local.port().to_be_bytes());
    bytes[10..12].copy_from_slice(&peer.port().to_be_bytes());
    put(&mut bytes[12..28], local.ip());
    put(&mut bytes[28..44], peer.ip());
    bytes[44..48].copy_from_slice(&(scope(local) | scope(peer)).to_ne_bytes());
    bytes[48..52].copy_from_slice(&NO_COOKIE.to_ne_bytes());
    bytes[52..56].copy_from_slice(&NO_COOKIE.to_ne_bytes());
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
