//! Which TCP connections and listeners there are in this network namespace, as rows of a dump. The kernel walks its whole
//! table for a dump of connections, so it takes some hundred microseconds however few rows there are.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;

use super::netlink::{Netlink, Rows};
use super::tcp_end::{
    CLOSE_WAIT, CLOSING, ESTABLISHED, End, FIN_WAIT_1, FIN_WAIT_2, LAST_ACK, LISTEN, Row, SYN_SENT,
    TIME_WAIT, WITH_DROPS, WITH_INFO,
};

/// States of a connection that a program may hold and that it did not accept just now.
const CONNECTED: [u8; 7] = [ESTABLISHED, SYN_SENT, FIN_WAIT_1, FIN_WAIT_2, CLOSE_WAIT, LAST_ACK, CLOSING];
/// States of a connection that has come to a listener, until nothing is left to be sent on it.
const ARRIVED: [u8; 5] = [ESTABLISHED, CLOSE_WAIT, FIN_WAIT_1, LAST_ACK, CLOSING];
/// The attribute of a question that holds a filter.
const INET_DIAG_REQ_BYTECODE: u16 = 1;

/// One end of a connection, and which.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    pub local: SocketAddr,
    pub peer: SocketAddr,
    /// Of the file that a program holds; 0 if none does.
    pub inode: u32,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    pub local: SocketAddr,
    pub inode: u32,
}

/// Returns all connections that `filter` takes; an empty filter takes all.
///
/// # Errors
/// If the kernel refuses.
pub fn connections(netlink: &mut Netlink, filter: &[u8]) -> io::Result<Vec<Connection>> {
    connections_in(netlink, &CONNECTED, filter)
}

/// Returns the connections of a listener that have come, whether a program has accepted them or not.
///
/// # Errors
/// If the kernel refuses.
pub fn arrived(netlink: &mut Netlink, filter: &[u8]) -> io::Result<Vec<Connection>> {
    connections_in(netlink, &ARRIVED, filter)
}

fn connections_in(netlink: &mut Netlink, states: &[u8], filter: &[u8]) -> io::Result<Vec<Connection>> {
    let mut found = Vec::new();
    netlink.dump(Rows::OfTcp, &question(states, WITH_INFO, filter), |row| {
        found.extend(Row::of(row).map(|row| Connection {
            local: row.local(),
            peer: row.peer(),
            inode: row.inode(),
            end: row.end(),
        }));
    })?;
    Ok(found)
}

/// Returns the connections that were closed in the last minute, each by the end that was closed first and its peer, of all
/// that `filter` takes.
///
/// # Errors
/// If the kernel refuses.
pub fn closed(netlink: &mut Netlink, filter: &[u8]) -> io::Result<HashSet<(SocketAddr, SocketAddr)>> {
    let mut found = HashSet::new();
    netlink.dump(Rows::OfTcp, &question(&[TIME_WAIT], 0, filter), |row| {
        found.extend(Row::of(row).map(|row| (row.local(), row.peer())));
    })?;
    Ok(found)
}

/// Returns all listeners.
///
/// # Errors
/// If the kernel refuses.
pub fn listeners(netlink: &mut Netlink) -> io::Result<Vec<Listener>> {
    let mut found = Vec::new();
    netlink.dump(Rows::OfTcp, &question(&[LISTEN], 0, &[]), |row| {
        found.extend(Row::of(row).map(|row| Listener { local: row.local(), inode: row.inode() }));
    })?;
    Ok(found)
}

/// Returns how many connections the listeners of this port have turned away so far.
///
/// # Errors
/// If the kernel refuses.
pub fn turned_away(netlink: &mut Netlink, port: u16) -> io::Result<u64> {
    let mut number = 0;
    netlink.dump(Rows::OfTcp, &question(&[LISTEN], WITH_DROPS, &[]), |row| {
        let row = Row::of(row).filter(|row| row.local().port() == port);
        number += row.and_then(|row| row.drops()).map_or(0, u64::from);
    })?;
    Ok(number)
}

/// Returns the inodes of the listeners that take connections to `address`: several may share it (`SO_REUSEPORT`).
pub fn listeners_at(address: SocketAddr, listeners: &[Listener]) -> Vec<u32> {
    let at = |is_it: &dyn Fn(&SocketAddr) -> bool| -> Vec<u32> {
        let at_port = listeners.iter().filter(|listener| listener.local.port() == address.port());
        at_port.filter(|listener| is_it(&listener.local)).map(|listener| listener.inode).collect()
    };
    let exact = at(&|local| local.ip() == address.ip());
    let of_family = at(&|local| local.ip().is_unspecified() && local.is_ipv4() == address.is_ipv4());
    let of_any = at(&|local| local.ip().is_unspecified());
    [exact, of_family, of_any].into_iter().find(|inodes| !inodes.is_empty()).unwrap_or_default()
}

/// Asks for the sockets of TCP in these states (inet_diag_req of linux/inet_diag.h).
fn question(states: &[u8], extensions: u8, filter: &[u8]) -> Vec<u8> {
    let states: u32 = states.iter().map(|state| 1_u32 << state).sum();
    let mut bytes = vec![0, 0, 0, extensions];
    bytes.extend([0; 48]);
    bytes.extend(states.to_ne_bytes());
    bytes.extend([0; 4]);
    if !filter.is_empty() {
        bytes.extend((4 + filter.len() as u16).to_ne_bytes());
        bytes.extend(INET_DIAG_REQ_BYTECODE.to_ne_bytes());
        bytes.extend(filter);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::load_filter::without_load_on;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    fn inode(socket: &impl AsRawFd) -> u32 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let text = link.to_str().unwrap();
        text.strip_prefix("socket:[").unwrap().strip_suffix(']').unwrap().parse().unwrap()
    }

    #[test]
    fn a_connection_has_a_row_for_each_end_whatever_the_family() {
        let mut netlink = Netlink::open().unwrap();
        for (address, client) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let mut near = TcpStream::connect((client, port)).unwrap();
            let (far, _) = listener.accept().unwrap();
            near.write_all(b"question").unwrap();
            let rows = connections(&mut netlink, &[]).unwrap();
            let row_of = |inode| *rows.iter().find(|row| row.inode == inode).unwrap();
            let (one, other) = (row_of(inode(&near)), row_of(inode(&far)));
            assert_eq!((one.local, one.peer), (other.peer, other.local));
            assert_eq!(one.peer, near.peer_addr().unwrap());
            assert_eq!(one.end.traffic.unwrap().sent_bytes, 8);
            assert_eq!((other.end.unread_bytes, other.end.traffic.unwrap().received_bytes), (8, 8));
            let listener_inode = inode(&listener);
            let row = listeners(&mut netlink).unwrap().into_iter().find(|row| row.inode == listener_inode);
            assert_eq!(row.unwrap().local, listener.local_addr().unwrap());
        }
    }

    #[test]
    fn the_end_that_was_closed_first_stays_for_a_while() {
        let mut netlink = Netlink::open().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, there) = listener.accept().unwrap();
        let place = (there, listener.local_addr().unwrap());
        drop(near);
        assert!(!closed(&mut netlink, &[]).unwrap().contains(&place));
        drop(far);
        assert!(closed(&mut netlink, &[]).unwrap().contains(&place));
        assert!(!closed(&mut netlink, &without_load_on(place.1)).unwrap().contains(&place));
    }

    #[test]
    fn the_kernel_takes_the_filter_and_leaves_the_load_out() {
        let mut netlink = Netlink::open().unwrap();
        for (address, client) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")] {
            let [server, other] = [(); 2].map(|()| TcpListener::bind(address).unwrap());
            let ends = [&server, &other].map(|listener| {
                let near = TcpStream::connect((client, listener.local_addr().unwrap().port())).unwrap();
                (near, listener.accept().unwrap().0)
            });
            let filter = without_load_on(ends[0].0.peer_addr().unwrap());
            let rows = connections(&mut netlink, &filter).unwrap();
            let seen = |socket: &TcpStream| rows.iter().any(|row| row.inode == inode(socket));
            assert!(!seen(&ends[0].0) && !seen(&ends[0].1), "{address}");
            assert!(seen(&ends[1].0) && seen(&ends[1].1), "{address}");
        }
    }
}
