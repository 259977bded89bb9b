//! The connections that a process tree has opened to Unix-domain sockets with a name. Whether one waits is known only
//! while something lies in it: the kernel does not say what was sent, nor when.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::exchange::State;
use super::netlink::Netlink;
use super::peers::{Peer, Peers};
use super::unix_table::{UnixSocket, sockets};

#[derive(Default)]
pub struct OpenedUnix {
    /// The tree's connections, by inode, and the name that each leads to.
    known: BTreeMap<u32, String>,
    /// Inodes of sockets that are no connections of the tree.
    others: BTreeSet<u32>,
}

/// What the names and the queues of all sockets say.
struct Names<'a> {
    by_inode: BTreeMap<u32, &'a str>,
    listening: BTreeSet<&'a str>,
    /// The name at which each waits to be accepted.
    pending: BTreeMap<u32, &'a str>,
}

impl OpenedUnix {
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns whether the tree may have opened one of these of which nothing is known yet.
    pub fn has_new(&self, rows: &[UnixSocket]) -> bool {
        rows.iter().any(|row| self.is_new(row))
    }

    fn is_new(&self, row: &UnixSocket) -> bool {
        let is_known = self.known.contains_key(&row.inode) || self.others.contains(&row.inode);
        row.inode != 0 && !row.is_listening && row.peer.is_some() && !is_known
    }

    /// Counts the connections of `rows` that are known. Returns whether one that was known is gone.
    pub fn count_known(&mut self, rows: &[UnixSocket], peers: &mut Peers) -> bool {
        let names = Names::of(rows);
        let present: BTreeSet<u32> = rows.iter().map(|row| row.inode).collect();
        let before = self.known.len();
        self.known.retain(|inode, _| present.contains(inode));
        self.others.retain(|inode| present.contains(inode));
        for row in rows {
            if let Some(path) = self.known.get(&row.inode) {
                peers.count(&Peer::Unix(path.clone()), names.state(row));
            }
        }
        self.known.len() < before
    }

    /// Counts those of `rows` that nothing was known of and that the tree has opened. `held`: the inodes of its sockets,
    /// read after the rows. Returns whether there are any.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn count_new(
        &mut self,
        netlink: &mut Netlink,
        rows: &[UnixSocket],
        held: &BTreeSet<u32>,
        peers: &mut Peers,
    ) -> io::Result<bool> {
        let names = Names::of(rows);
        let (mut is_any, mut maybe) = (false, Vec::new());
        for row in rows.iter().filter(|row| self.is_new(row)).collect::<Vec<_>>() {
            match names.opened_to(row) {
                Some(path) if held.contains(&row.inode) => {
                    self.known.insert(row.inode, path.into());
                    let peer = Peer::Unix(path.into());
                    peers.count(&peer, names.state(row));
                    is_any = true;
                }
                Some(path) if peers.number(&Peer::Unix(path.into())).is_some() => maybe.push((row, path)),
                _ => {
                    self.others.insert(row.inode);
                }
            }
        }
        if maybe.is_empty() {
            return Ok(is_any);
        }
        let present: BTreeSet<u32> = sockets(netlink)?.iter().map(|row| row.inode).collect();
        for (row, path) in maybe {
            if present.contains(&row.inode) {
                self.others.insert(row.inode);
            } else {
                // It was closed before the tree's descriptors were read. Perhaps it was the tree's.
                peers.count(&Peer::Unix(path.into()), State::Unknown);
                is_any = true;
            }
        }
        Ok(is_any)
    }
}

impl<'a> Names<'a> {
    fn of(rows: &'a [UnixSocket]) -> Self {
        let named = |row: &'a UnixSocket| Some((row, row.name.as_deref()?));
        let listening = || rows.iter().filter(|row| row.is_listening).filter_map(named);
        Self {
            by_inode: rows.iter().filter_map(named).map(|(row, name)| (row.inode, name)).collect(),
            listening: listening().map(|(_, name)| name).collect(),
            pending: listening()
                .flat_map(|(row, name)| row.pending.iter().map(move |&inode| (inode, name)))
                .collect(),
        }
    }

    /// Returns the name of the socket to which this one was connected, or `None` if it was accepted or has no such peer.
    fn opened_to(&self, row: &UnixSocket) -> Option<&'a str> {
        let is_accepted = row.name.as_deref().is_some_and(|name| self.listening.contains(name));
        let peer = row.peer.filter(|_| !is_accepted)?;
        self.pending.get(&row.inode).or_else(|| self.by_inode.get(&peer)).copied()
    }

    fn state(&self, row: &UnixSocket) -> State {
        let is_pending = self.pending.contains_key(&row.inode);
        // The other end has no inode before it is accepted, and after it was closed.
        let is_closed = row.peer.is_none_or(|peer| peer == 0) && !is_pending;
        if row.unread_bytes > 0 || is_closed {
            State::Idle
        } else if row.unread_there_bytes > 0 {
            State::Waiting
        } else {
            State::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::held_sockets::Held;
    use super::super::peers::Found;
    use super::*;
    use crate::process_tree::Pid;
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};

    fn row(inode: u32, peer: u32, name: Option<&str>) -> UnixSocket {
        UnixSocket { inode, peer: Some(peer), name: name.map(Into::into), ..UnixSocket::default() }
    }

    fn listener(inode: u32, name: &str, pending: &[u32]) -> UnixSocket {
        UnixSocket {
            inode,
            is_listening: true,
            name: Some(name.into()),
            pending: pending.to_vec(),
            ..UnixSocket::default()
        }
    }

    #[test]
    fn who_has_opened_a_connection_is_told_from_who_has_accepted_it() {
        let rows = [
            listener(1, "/db", &[4]),
            row(2, 3, Some("/db")),
            row(3, 2, None),
            row(4, 0, None),
            row(5, 6, None),
        ];
        let names = Names::of(&rows);
        let opened: Vec<_> = rows[1..].iter().map(|row| names.opened_to(row)).collect();
        assert_eq!(opened, [None, Some("/db"), Some("/db"), None]);
    }

    #[test]
    fn only_queues_tell_whether_it_waits() {
        let rows = [listener(1, "/db", &[4]), row(2, 3, Some("/db")), row(4, 0, None), row(7, 0, None)];
        let names = Names::of(&rows);
        let with = |unread_bytes, unread_there_bytes| {
            names.state(&UnixSocket { unread_bytes, unread_there_bytes, ..row(3, 2, None) })
        };
        assert_eq!((with(0, 0), with(0, 768), with(5, 0)), (State::Unknown, State::Waiting, State::Idle));
        assert_eq!((names.state(&rows[2]), names.state(&rows[3])), (State::Unknown, State::Idle));
        assert_eq!(names.state(&UnixSocket { unread_there_bytes: 1, ..rows[2].clone() }), State::Waiting);
    }

    #[test]
    fn real_sockets_are_found_and_their_queues_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let listener = UnixListener::bind(&path).unwrap();
        let mut streams: Vec<_> = (0..3).map(|_| UnixStream::connect(&path).unwrap()).collect();
        let mut accepted: Vec<_> = (0..2).map(|_| listener.accept().unwrap().0).collect();
        // One waits, one has its answer; the third is not accepted, and waits as well.
        streams.iter_mut().for_each(|stream| stream.write_all(b"?").unwrap());
        accepted[1].read_exact(&mut [0]).unwrap();
        accepted[1].write_all(b"!").unwrap();
        let (mut netlink, mut peers, mut unix) =
            (Netlink::open().unwrap(), Peers::default(), OpenedUnix::default());
        let held = Held::by_tree(std::process::id() as Pid);
        let rows = sockets(&mut netlink).unwrap();
        assert!(unix.has_new(&rows));
        assert!(unix.count_new(&mut netlink, &rows, &held.sockets, &mut peers).unwrap());
        let number = peers.number(&Peer::Unix(path.to_str().unwrap().into())).unwrap();
        assert_eq!(peers.take().0[number], Found { waiting: 2, idle: 1, ..Found::default() });
        streams[1].read_exact(&mut [0]).unwrap();
        drop(accepted);
        drop(streams.pop());
        let rows = sockets(&mut netlink).unwrap();
        assert!(unix.count_known(&rows, &mut peers));
        // The dependency has closed its ends.
        assert_eq!(peers.take().0[number].connections(), 2);
    }
}
