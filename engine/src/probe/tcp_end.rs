//! What the kernel tells of one end of a TCP connection: a row of linux/inet_diag.h, and in it tcp_info (linux/tcp.h).
//! It asks for nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use super::netlink::{attribute, long_number, number};

const ROW_BYTES: usize = 72;
/// The attribute that holds tcp_info.
const INET_DIAG_INFO: u16 = 2;
/// What to set in a question for that attribute. The kernel then takes the socket's lock for a moment.
pub const WITH_INFO: u8 = 1 << (INET_DIAG_INFO - 1);
/// The attribute that holds the memory of a socket, and how much it has dropped: of a listener, connections.
const INET_DIAG_SKMEMINFO: u16 = 7;
pub const WITH_DROPS: u8 = 1 << (INET_DIAG_SKMEMINFO - 1);
const DROPS_AT: usize = 32;
/// Kernels before 4.9 do not say how much was not sent, those before 4.19 not how much was.
const INFO_WITH_UNSENT_BYTES: usize = 148;
const INFO_WITH_SENT_BYTES: usize = 208;

pub const ESTABLISHED: u8 = 1;
pub const SYN_SENT: u8 = 2;
pub const SYN_RECV: u8 = 3;
pub const FIN_WAIT_1: u8 = 4;
pub const FIN_WAIT_2: u8 = 5;
pub const TIME_WAIT: u8 = 6;
pub const CLOSE_WAIT: u8 = 8;
pub const LAST_ACK: u8 = 9;
pub const LISTEN: u8 = 10;
pub const CLOSING: u8 = 11;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Whether a program holds it. None does before `accept` has returned it, nor after `close`.
    pub is_held: bool,
    /// Whether it still waits for the other side to take the connection.
    pub is_opening: bool,
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
    /// `None` if nobody asked, or the kernel does not say.
    pub traffic: Option<Traffic>,
}

#[cfg(test)]
impl End {
    /// An end of an accepted connection, on which nothing waits to be read or sent.
    pub const QUIET: Self = Self {
        is_held: true,
        is_opening: false,
        may_send: true,
        may_hear: true,
        unread_bytes: 0,
        unacknowledged_bytes: 0,
        unsent_bytes: Some(0),
        traffic: None,
    };
}

/// What has gone over a connection, as one of its ends has it. Times are how long ago, in milliseconds of a clock that
/// advances every 1 to 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Those that were sent again count again.
    pub sent_bytes: u64,
    /// Those that the other side has acknowledged.
    pub acknowledged_bytes: u64,
    pub received_bytes: u64,
    /// Segments with data, those that were sent again included.
    pub sent_segments: u32,
    pub received_segments: u32,
    /// Segments that came without data: acknowledgements and no more, from the one that opened the connection on.
    pub bare_segments: u32,
    /// When data were sent last.
    pub sent_ago_ms: u32,
    /// When data came last.
    pub received_ago_ms: u32,
    /// When an acknowledgement came last, with data or without.
    pub acknowledged_ago_ms: u32,
}

/// One row.
pub struct Row<'a> {
    bytes: &'a [u8],
}

impl<'a> Row<'a> {
    /// Returns `None` if `bytes` are no whole row.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        (bytes.len() >= ROW_BYTES).then_some(Self { bytes })
    }

    pub fn state(&self) -> u8 {
        self.bytes[1]
    }

    pub fn local(&self) -> SocketAddr {
        self.address(4, 8)
    }

    pub fn peer(&self) -> SocketAddr {
        self.address(6, 24)
    }

    /// Of the file that a program holds; 0 if none does.
    pub fn inode(&self) -> u32 {
        number(self.bytes, 68)
    }

    /// Of a listener, how many connections wait for `accept`.
    pub fn waiting(&self) -> u32 {
        number(self.bytes, 56)
    }

    /// Of a listener, how many connections it has turned away; `None` if nobody asked.
    pub fn drops(&self) -> Option<u32> {
        let memory = attribute(&self.bytes[ROW_BYTES..], INET_DIAG_SKMEMINFO)?;
        (memory.len() >= DROPS_AT + 4).then(|| number(memory, DROPS_AT))
    }

    pub fn end(&self) -> End {
        let state = self.state();
        // The kernel counts the other side's FIN as a byte.
        let fin = u32::from(state == CLOSE_WAIT);
        let info = attribute(&self.bytes[ROW_BYTES..], INET_DIAG_INFO);
        End {
            is_held: self.inode() != 0,
            is_opening: state == SYN_SENT,
            may_send: matches!(state, ESTABLISHED | SYN_RECV | CLOSE_WAIT),
            may_hear: matches!(state, ESTABLISHED | SYN_SENT | SYN_RECV | FIN_WAIT_1 | FIN_WAIT_2),
            unread_bytes: number(self.bytes, 56).saturating_sub(fin),
            unacknowledged_bytes: number(self.bytes, 60),
            unsent_bytes: info
                .filter(|info| info.len() >= INFO_WITH_UNSENT_BYTES)
                .map(|info| number(info, 144)),
            traffic: info.filter(|info| info.len() >= INFO_WITH_SENT_BYTES).map(Traffic::of),
        }
    }

    /// An address of IPv4 as such, also if the socket is one of IPv6.
    fn address(&self, port_at: usize, at: usize) -> SocketAddr {
        let port = u16::from_be_bytes([self.bytes[port_at], self.bytes[port_at + 1]]);
        let mut octets = [0; 16];
        octets.copy_from_slice(&self.bytes[at..at + 16]);
        if i32::from(self.bytes[0]) == libc::AF_INET {
            return SocketAddr::from((Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]), port));
        }
        let ip = Ipv6Addr::from(octets);
        match IpAddr::V6(ip).to_canonical() {
            ip @ IpAddr::V4(_) => SocketAddr::new(ip, port),
            IpAddr::V6(_) => {
                // A link-local address is one of an interface.
                let interface = if ip.is_unicast_link_local() { number(self.bytes, 40) } else { 0 };
                SocketAddrV6::new(ip, port, 0, interface).into()
            }
        }
    }
}

impl Traffic {
    fn of(info: &[u8]) -> Self {
        Self {
            sent_bytes: long_number(info, 200),
            acknowledged_bytes: long_number(info, 120),
            received_bytes: long_number(info, 128),
            sent_segments: number(info, 156),
            received_segments: number(info, 152),
            bare_segments: number(info, 140).wrapping_sub(number(info, 152)),
            sent_ago_ms: number(info, 44),
            received_ago_ms: number(info, 52),
            acknowledged_ago_ms: number(info, 56),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(family: i32, state: u8) -> Vec<u8> {
        let mut bytes = vec![0; ROW_BYTES];
        bytes[0] = family as u8;
        bytes[1] = state;
        bytes[4..8].copy_from_slice(&[0x1f, 0x90, 0x15, 0x38]);
        bytes[56..60].copy_from_slice(&9_u32.to_ne_bytes());
        bytes[60..64].copy_from_slice(&5_u32.to_ne_bytes());
        bytes[68..72].copy_from_slice(&77_u32.to_ne_bytes());
        bytes
    }

    /// Adds an attribute as long as that of a kernel which says `bytes` bytes of tcp_info.
    fn with_info(mut row: Vec<u8>, bytes: usize) -> Vec<u8> {
        row.extend([8, 0, 5, 0, 1, 2, 3, 4]);
        row.extend((bytes as u16 + 4).to_ne_bytes());
        row.extend(INET_DIAG_INFO.to_ne_bytes());
        // Each word is its own offset.
        row.extend((0..bytes as u32 / 4).flat_map(|word| (4 * word).to_ne_bytes()));
        row
    }

    #[test]
    fn addresses_of_both_families_are_read() {
        let mut bytes = row(libc::AF_INET, ESTABLISHED);
        bytes[8..12].copy_from_slice(&[127, 0, 0, 1]);
        bytes[24..28].copy_from_slice(&[10, 1, 2, 3]);
        let read = Row::of(&bytes).unwrap();
        assert_eq!(
            (read.local().to_string(), read.peer().to_string()),
            ("127.0.0.1:8080".into(), "10.1.2.3:5432".into())
        );
        bytes[0] = libc::AF_INET6 as u8;
        bytes[8..24].copy_from_slice(&Ipv4Addr::new(10, 0, 0, 7).to_ipv6_mapped().octets());
        bytes[24..40].copy_from_slice(&"fe80::1".parse::<Ipv6Addr>().unwrap().octets());
        bytes[40] = 3;
        let read = Row::of(&bytes).unwrap();
        assert_eq!(
            (read.local().to_string(), read.peer().to_string()),
            ("10.0.0.7:8080".into(), "[fe80::1%3]:5432".into())
        );
    }

    #[test]
    fn a_row_says_what_is_known_of_its_end() {
        let bytes = row(libc::AF_INET, CLOSE_WAIT);
        let end = Row::of(&bytes).unwrap().end();
        // One of the nine is the other side's FIN.
        assert_eq!((end.unread_bytes, end.unacknowledged_bytes), (8, 5));
        assert!(end.is_held && end.may_send && !end.may_hear && !end.is_opening);
        assert_eq!((end.unsent_bytes, end.traffic), (None, None));
        let opening = row(libc::AF_INET, SYN_SENT);
        let end = Row::of(&opening).unwrap().end();
        assert!(end.is_opening && end.may_hear && !end.may_send);
        assert!(Row::of(&bytes[..ROW_BYTES - 1]).is_none());
    }

    #[test]
    fn an_older_kernel_says_less() {
        let read = |bytes| Row::of(&with_info(row(libc::AF_INET, ESTABLISHED), bytes)).unwrap().end();
        assert_eq!((read(144).unsent_bytes, read(144).traffic), (None, None));
        assert_eq!((read(204).unsent_bytes, read(204).traffic), (Some(144), None));
        let traffic = Traffic {
            sent_bytes: 200 | 204 << 32,
            acknowledged_bytes: 120 | 124 << 32,
            received_bytes: 128 | 132 << 32,
            sent_segments: 156,
            received_segments: 152,
            bare_segments: 140_u32.wrapping_sub(152),
            sent_ago_ms: 44,
            received_ago_ms: 52,
            acknowledged_ago_ms: 56,
        };
        if cfg!(target_endian = "little") {
            assert_eq!(read(208).traffic, Some(traffic));
        }
        assert_eq!(read(280).traffic.map(|traffic| traffic.sent_ago_ms), Some(44));
    }
}
