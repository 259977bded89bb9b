//! A filter of rows that the kernel runs (INET_DIAG_REQ_BYTECODE of linux/inet_diag.h): all connections but those of the
//! load. Otherwise each reading would list thousands of them.
//!
//! A condition says how many bytes further to go on where it holds, and where it does not. The filter takes a row if it
//! ends exactly at its end, and leaves the row out if it goes beyond.

use std::net::{IpAddr, SocketAddr};

const JUMP: u8 = 1;
const LOCAL_IS: u8 = 7;
const PEER_IS: u8 = 8;
/// A jump goes by what is to be done where a condition does not hold, as it never holds.
const JUMP_BYTES: u8 = 4;

/// Returns the filter that leaves out connections from the port of `server`, which it has accepted, and connections to
/// `server`, which are the load's own ends, or the server's if it calls itself.
pub fn without_load_on(server: SocketAddr) -> Vec<u8> {
    let from = is(LOCAL_IS, None, server.port());
    let to = is(PEER_IS, Some(server.ip().to_canonical()), server.port());
    let mut filter = Vec::new();
    let bytes = from.len() + to.len() + 2 * usize::from(JUMP_BYTES);
    for condition in [from, to] {
        filter.extend(condition);
        let beyond = bytes - filter.len() + 4;
        filter.extend(operation(JUMP, JUMP_BYTES, beyond as u16));
    }
    filter
}

/// Returns the filter that takes connections from the port of `server` alone, which it has accepted or will. Unless its
/// address is unspecified, they are those to that address.
pub fn accepted_at(server: SocketAddr) -> Vec<u8> {
    let ip = server.ip().to_canonical();
    is(LOCAL_IS, (!ip.is_unspecified()).then_some(ip), server.port())
}

/// Goes on with what follows if the address and port are these, and else after the jump that follows. Without an
/// address any has to do.
fn is(which: u8, address: Option<IpAddr>, port: u16) -> Vec<u8> {
    let (family, octets) = match address {
        None => (libc::AF_UNSPEC, Vec::new()),
        Some(IpAddr::V4(address)) => (libc::AF_INET, address.octets().to_vec()),
        Some(IpAddr::V6(address)) => (libc::AF_INET6, address.octets().to_vec()),
    };
    let bytes = 12 + octets.len() as u8;
    let mut condition = operation(which, bytes, u16::from(bytes + JUMP_BYTES)).to_vec();
    condition.extend([family as u8, 8 * octets.len() as u8, 0, 0]);
    condition.extend(i32::from(port).to_ne_bytes());
    condition.extend(octets);
    condition
}

fn operation(code: u8, yes: u8, no: u16) -> [u8; 4] {
    let no = no.to_ne_bytes();
    [code, yes, no[0], no[1]]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row as far as the filter reads it.
    struct Seen {
        local: SocketAddr,
        peer: SocketAddr,
    }

    fn seen(local: &str, peer: &str) -> Seen {
        Seen { local: local.parse().unwrap(), peer: peer.parse().unwrap() }
    }

    /// Runs the filter as the kernel does (inet_diag_bc_run). Returns whether it takes the row.
    fn takes(filter: &[u8], row: &Seen) -> bool {
        let (mut at, bytes) = (0, filter.len());
        while at < bytes {
            let no = u16::from_ne_bytes([filter[at + 2], filter[at + 3]]);
            let holds = match filter[at] {
                LOCAL_IS => matches(&filter[at + 4..], row.local),
                PEER_IS => matches(&filter[at + 4..], row.peer),
                _ => false,
            };
            at += if holds { usize::from(filter[at + 1]) } else { usize::from(no) };
        }
        at == bytes
    }

    fn matches(condition: &[u8], address: SocketAddr) -> bool {
        let port = i32::from_ne_bytes(condition[4..8].try_into().unwrap());
        let bytes = usize::from(condition[1]) / 8;
        let octets = match address.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        port == i32::from(address.port()) && (bytes == 0 || octets == condition[8..8 + bytes])
    }

    #[test]
    fn only_the_connections_of_the_load_are_left_out() {
        for (server, client, other) in [
            ("127.0.0.1:8080", "127.0.0.1:50000", "10.0.0.9:8080"),
            ("[::1]:8080", "[::1]:50000", "[fe80::1]:8080"),
        ] {
            let filter = without_load_on(server.parse().unwrap());
            assert!(!takes(&filter, &seen(server, client)));
            assert!(!takes(&filter, &seen(client, server)));
            // A dependency may listen on a port of the same number elsewhere.
            assert!(takes(&filter, &seen(client, other)));
            assert!(takes(&filter, &seen(client, "10.0.0.9:5432")));
            assert!(!takes(&filter, &seen(other, client)), "the server's port on another address");
        }
    }

    #[test]
    fn a_filter_consists_of_whole_operations() {
        for (server, bytes) in [("127.0.0.1:80", 36), ("[::ffff:127.0.0.1]:80", 36), ("[::1]:80", 48)] {
            let filter = without_load_on(server.parse().unwrap());
            assert_eq!(filter.len(), bytes, "{server}");
            // The kernel follows the first number of each operation, and refuses a filter that does not end there.
            let mut at = 0;
            while at < filter.len() {
                assert!(filter[at + 1] >= 4 && filter[at + 1].is_multiple_of(4));
                at += usize::from(filter[at + 1]);
            }
            assert_eq!(at, filter.len());
        }
        let expected = [LOCAL_IS, 12, 16, 0, 0, 0, 0, 0, 80, 0, 0, 0, JUMP, 4, 28, 0];
        if cfg!(target_endian = "little") {
            assert_eq!(without_load_on("127.0.0.1:80".parse().unwrap())[..16], expected);
        }
    }
}
