//! Whether a server asks somebody by UDP, a name server for instance. The kernel says of a UDP socket neither what was sent nor
//! whether the program waits for an answer. So all that is known is that there is such a socket.

use std::collections::HashSet;
use std::fs;
use std::ops::RangeInclusive;

use super::held_sockets::held_by;
use super::namespace::Namespace;
use crate::clock::now_ns;
use crate::process_tree::{Pid, with_descendants_of};

const TABLES: [&str; 2] = ["udp", "udp6"];
/// Ports that the kernel gives to a socket that did not choose one.
const GIVEN: &str = "/proc/sys/net/ipv4/ip_local_port_range";
const GIVEN_USUALLY: RangeInclusive<u16> = 32_768..=60_999;
/// After a look, at least this many times its cost goes by.
const REST: u64 = 400;

/// Looks for a socket by which a tree may ask somebody, until one is found.
pub struct Datagrams {
    namespace: Namespace,
    given: RangeInclusive<u16>,
    /// Sockets of others, as none of the tree held them.
    known: HashSet<u32>,
    is_found: bool,
    due_ns: u64,
}

/// A socket of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Datagram {
    port: u16,
    is_connected: bool,
    inode: u32,
}

impl Datagrams {
    pub fn open(namespace: Namespace) -> Self {
        let given = fs::read_to_string(GIVEN).ok().and_then(|text| range(&text)).unwrap_or(GIVEN_USUALLY);
        Self { namespace, given, known: HashSet::new(), is_found: false, due_ns: 0 }
    }

    /// Looks at the sockets that are new, unless a look was taken just now. `members`: the processes of the tree.
    pub fn look(&mut self, members: &[Pid]) {
        let began_ns = now_ns();
        if self.is_found || began_ns < self.due_ns {
            return;
        }
        let text: String =
            TABLES.iter().filter_map(|table| fs::read_to_string(self.namespace.table(table)).ok()).collect();
        let asking = text.lines().filter_map(Datagram::of).filter(|socket| socket.asks(&self.given));
        let there: HashSet<u32> = asking.map(|socket| socket.inode).collect();
        if !there.is_subset(&self.known) {
            self.is_found = held_by(&with_descendants_of(members)).iter().any(|inode| there.contains(inode));
        }
        self.known = there;
        self.due_ns = began_ns + REST * (now_ns() - began_ns);
    }

    /// Returns what is not known of the tree's dependencies because of such a socket, if there is one.
    pub fn found(&self) -> Option<String> {
        let why = "it has UDP sockets open, and the kernel does not say whether they wait for an answer";
        self.is_found.then(|| why.into())
    }
}

impl Datagram {
    /// Returns `None` if the line is that of no socket.
    pub fn of(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let (local, remote) = (fields.nth(1)?, fields.next()?);
        let inode = fields.nth(6)?.parse().ok()?;
        let port = |address: &str| u16::from_str_radix(address.rsplit_once(':')?.1, 16).ok();
        Some(Self { port: port(local)?, is_connected: port(remote)? != 0, inode })
    }

    /// Whether it may wait for an answer. One that is bound to a port of its own, and to nobody else's, is asked.
    fn asks(&self, given: &RangeInclusive<u16>) -> bool {
        self.is_connected || given.contains(&self.port)
    }
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut ends = text.split_ascii_whitespace().map(str::parse);
    Some(ends.next()?.ok()?..=ends.next()?.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_line_is_read_as_the_kernel_writes_it() {
        let line =
            " 3514: 0100007F:B26E 0100007F:1C89 01 00000000:00000000 00:00000000 00000000  0 0 4711 2 0 0";
        let socket = Datagram::of(line).unwrap();
        assert_eq!(socket, Datagram { port: 0xB26E, is_connected: true, inode: 4711 });
        assert_eq!(Datagram::of("   sl  local_address rem_address   st tx_queue rx_queue tr tm->when"), None);
        assert_eq!(range("1024\t4999\n"), Some(1_024..=4_999));
    }

    #[test]
    fn who_is_asked_does_not_ask() {
        let socket = |port, is_connected| Datagram { port, is_connected, inode: 1 };
        let asks = [(53, false), (53, true), (40_000, false)]
            .map(|(port, is_connected)| socket(port, is_connected).asks(&GIVEN_USUALLY));
        assert_eq!(asks, [false, true, true]);
    }

    #[test]
    fn a_socket_of_the_tree_is_found() {
        let asked = UdpSocket::bind("127.0.0.1:0").unwrap();
        let asking = UdpSocket::bind("127.0.0.1:0").unwrap();
        asking.connect(asked.local_addr().unwrap()).unwrap();
        let mut datagrams = Datagrams::open(Namespace::OWN);
        datagrams.look(&[]);
        assert_eq!(datagrams.found(), None);
        let mut datagrams = Datagrams::open(Namespace::OWN);
        datagrams.look(&[std::process::id() as Pid]);
        assert!(datagrams.found().unwrap().contains("UDP"));
    }
}
