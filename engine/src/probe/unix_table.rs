//! Which Unix-domain sockets there are (linux/unix_diag.h), and how much waits in them. The kernel does not say when
//! something was sent, nor how much was.

use std::io;

use super::netlink::{Netlink, Rows, attribute, number};

const ROW_BYTES: usize = 16;
const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;
const NAME: u16 = 0;
const PEER: u16 = 2;
const PENDING: u16 = 3;
const QUEUES: u16 = 4;
/// Asks for these four.
const SHOWN: u32 = 1 | 1 << 2 | 1 << 3 | 1 << 4;

/// A socket that is connected or listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnixSocket {
    pub inode: u32,
    pub is_listening: bool,
    /// Its path, or @ and its name. A socket that has opened a connection usually has none.
    pub name: Option<String>,
    /// The inode of the other end; 0 before it is accepted. `None` if there is no other end.
    pub peer: Option<u32>,
    /// Of a listener, the inodes of those that wait to be accepted.
    pub pending: Vec<u32>,
    /// Bytes that the program has not read.
    pub unread_bytes: u32,
    /// Memory of what the program has written and the other end has not read.
    pub unread_there_bytes: u32,
}

/// Returns all sockets for streams and sequences that are connected or listen.
///
/// # Errors
/// If the kernel refuses.
pub fn sockets(netlink: &mut Netlink) -> io::Result<Vec<UnixSocket>> {
    let mut found = Vec::new();
    netlink.dump(Rows::OfOneFamily, &question(), |row| found.extend(UnixSocket::of(row)))?;
    Ok(found)
}

/// unix_diag_req.
fn question() -> Vec<u8> {
    let states: u32 = 1 << ESTABLISHED | 1 << LISTEN;
    let mut bytes = vec![libc::AF_UNIX as u8, 0, 0, 0];
    for number in [states, 0, SHOWN, u32::MAX, u32::MAX] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes
}

impl UnixSocket {
    /// Returns `None` if the row is not whole, or that of a socket for datagrams.
    pub fn of(row: &[u8]) -> Option<Self> {
        let attributes = row.get(ROW_BYTES..)?;
        let is_kind = |kind: i32| i32::from(row[1]) == kind;
        if !is_kind(libc::SOCK_STREAM) && !is_kind(libc::SOCK_SEQPACKET) {
            return None;
        }
        let is_listening = row[2] == LISTEN;
        let queues = attribute(attributes, QUEUES).filter(|_| !is_listening).unwrap_or_default();
        let pending = attribute(attributes, PENDING).unwrap_or_default().chunks_exact(4);
        Some(Self {
            inode: number(row, 4),
            is_listening,
            name: attribute(attributes, NAME).and_then(name),
            peer: attribute(attributes, PEER).map(|peer| number(peer, 0)),
            pending: pending.map(|inode| number(inode, 0)).collect(),
            unread_bytes: number(queues, 0),
            unread_there_bytes: number(queues, 4),
        })
    }
}

fn name(bytes: &[u8]) -> Option<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match bytes {
        [] | [0] => None,
        [0, abstract_name @ ..] => Some(format!("@{}", text(abstract_name).replace('\0', "@"))),
        _ => Some(text(bytes.split(|&byte| byte == 0).next()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_path_or_has_a_sign_in_front() {
        assert_eq!(name(b"/run/db\0").as_deref(), Some("/run/db"));
        assert_eq!(name(b"\0db\0x").as_deref(), Some("@db@x"));
        assert_eq!((name(b""), name(b"\0")), (None, None));
    }

    #[test]
    fn rows_are_read_as_the_kernel_writes_them() {
        let mut row = vec![1, libc::SOCK_STREAM as u8, ESTABLISHED, 0];
        row.extend([7_u32, 8, 9].map(u32::to_ne_bytes).concat());
        let attributes: [(u16, Vec<u8>); 3] = [
            (NAME, b"/a\0".to_vec()),
            (PEER, 5_u32.to_ne_bytes().to_vec()),
            (QUEUES, [3_u32, 768].map(u32::to_ne_bytes).concat()),
        ];
        for (kind, body) in attributes {
            row.extend((4 + body.len() as u16).to_ne_bytes());
            row.extend(kind.to_ne_bytes());
            row.extend(body);
            row.resize(row.len().next_multiple_of(4), 0);
        }
        let expected = UnixSocket {
            inode: 7,
            name: Some("/a".into()),
            peer: Some(5),
            unread_bytes: 3,
            unread_there_bytes: 768,
            ..UnixSocket::default()
        };
        assert_eq!(UnixSocket::of(&row), Some(expected));
        row[1] = libc::SOCK_DGRAM as u8;
        assert_eq!(UnixSocket::of(&row), None);
        assert_eq!(UnixSocket::of(&row[..15]), None);
    }
}
