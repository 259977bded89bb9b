//! The dependencies of a server: whom the processes of its tree have opened connections to, and how many of these
//! connections wait for an answer. Nothing is changed, and no privilege is needed beside that of the tree's own user.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::held_sockets::{Held, Holder, held_by, holders};
use super::interactive::{self, Place};
use super::missed::missed;
use super::namespace::Namespace;
use super::netlink::Netlink;
use super::opened_tcp::OpenedTcp;
use super::opened_unix::OpenedUnix;
use super::peers::{Found, Known, Peer, Peers, Settled};
use super::tcp_table::{Listener, listeners, listeners_at};
use super::udp_table::Datagrams;
use super::unix_table::{UnixSocket, sockets};
use crate::process_tree::{Pid, with_descendants_of};
use crate::socket::Address;

/// Reads the dependencies of one process tree.
pub struct Dependencies {
    root: Pid,
    netlink: Netlink,
    tcp: OpenedTcp,
    unix: OpenedUnix,
    udp: Datagrams,
    /// Why Unix-domain sockets are not read, if so.
    no_unix: Option<String>,
    peers: Peers,
    /// The most processes whose sockets could not be read.
    refused_max: u64,
    elsewhere_max: u64,
    /// The processes whose sockets were read last.
    members: Vec<Pid>,
    /// Connections that were closed before anything was read.
    closed_before: HashSet<Place>,
    /// Whether the kernel says which end of a connection has replied.
    is_told: bool,
}

/// The connections of all peers at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Whether all connections were listed. If not, only those that were known were looked at.
    pub is_survey: bool,
    /// Whether there are other connections than at the last survey.
    pub has_changed: bool,
    /// By the number of the peer; peers at the end may be missing.
    pub found: Vec<Found>,
    /// What it has told of earlier ones.
    pub settled: Vec<Settled>,
    /// The CPU time that it took to be a close one; `None` if it was none.
    pub close_ns: Option<u64>,
}

impl Reading {
    pub fn has_connections(&self) -> bool {
        self.found.iter().any(|found| found.connections() > 0)
    }
}

/// A peer, as it is known when all readings are over.
pub struct Dependency {
    pub address: String,
    pub number: usize,
    pub known: Known,
    pub is_unix: bool,
    /// The processes of this machine that listen there, the one with the lowest id first.
    pub listeners: Vec<Holder>,
}

impl Dependency {
    /// Returns whether it is on this machine, and no process of this user listens there.
    pub fn is_unfound(&self) -> bool {
        (self.known.is_here || self.is_unix) && self.listeners.is_empty()
    }
}

/// All peers, as they are known when all readings are over.
pub struct All {
    pub dependencies: Vec<Dependency>,
    /// The processes of the server's tree.
    pub own: BTreeSet<Pid>,
    /// Processes whose sockets could not be read, if it was asked who listens.
    pub refused: BTreeSet<Pid>,
    /// The processes that listen where the missed ones lead.
    pub perhaps: BTreeSet<Pid>,
}

impl Dependencies {
    /// They are those in its network namespace. `server`: where the load comes to there.
    ///
    /// # Errors
    /// Why the connections of the tree cannot be read.
    pub fn open(root: Pid, server: &Address) -> Result<Self, String> {
        let server = match server {
            Address::Tcp(address) => Some(reached_at(*address)),
            Address::Unix(_) => None,
        };
        let namespace = Namespace::of(Some(root));
        let mut dependencies = Self {
            root,
            netlink: Netlink::open_in(namespace).map_err(|error| not_here(&error))?,
            tcp: OpenedTcp::open(namespace, server).map_err(|error| not_here(&error))?,
            unix: OpenedUnix::default(),
            udp: Datagrams::open(namespace),
            no_unix: None,
            peers: Peers::default(),
            refused_max: 0,
            elsewhere_max: 0,
            members: Vec::new(),
            closed_before: HashSet::new(),
            is_told: interactive::is_told(),
        };
        let held = dependencies.held();
        if held.read.is_empty() {
            return Err(why_none(root, &held));
        }
        dependencies.survey(false).map_err(|error| not_here(&error))?;
        dependencies.closed_before =
            dependencies.tcp.closed(&mut dependencies.netlink).map_err(|error| not_here(&error))?;
        dependencies.peers.take();
        Ok(dependencies)
    }

    /// Returns whether only surveys are worth their time.
    pub fn must_survey(&self) -> bool {
        self.tcp.is_long()
    }

    /// Reads the state of all connections. A survey also finds those that were opened since the last one. A close reading
    /// may take some milliseconds longer, and tells more.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn read(&mut self, is_survey: bool, is_close: bool) -> io::Result<Reading> {
        let is_close = is_close && self.is_told;
        let has_changed = if is_survey { self.survey(is_close)? } else { self.look_up(is_close)? };
        self.tcp.watch_waiting(self.peers.reading(), &mut self.peers)?;
        self.udp.look(&self.members);
        let (found, settled) = self.peers.take();
        let close_ns = is_close.then(|| self.tcp.close_ns());
        Ok(Reading { is_survey, has_changed, found, settled, close_ns })
    }

    fn survey(&mut self, is_close: bool) -> io::Result<bool> {
        let rows = self.tcp.list(&mut self.netlink)?;
        // At once: some are closed within a millisecond.
        let mut held = if self.tcp.has_new(&rows) { held_by(&self.members) } else { BTreeSet::new() };
        let unix_rows = self.unix_rows();
        // Those that are known first: reading descriptors takes time.
        let mut has_changed = self.tcp.count_known(&rows, &mut self.peers, is_close)?;
        has_changed |= self.unix.count_known(&unix_rows, &mut self.peers);
        if self.tcp.has_new(&rows) || self.unix.has_new(&unix_rows) {
            let listening =
                listeners(&mut self.netlink)?.iter().map(|listener| listener.local.port()).collect();
            if self.tcp.has_strange(&rows, &held, &listening) || self.unix.has_new(&unix_rows) {
                held.extend(self.held().sockets);
            }
            let (netlink, peers) = (&mut self.netlink, &mut self.peers);
            has_changed |= self.tcp.count_new(&rows, &held, &listening, peers, is_close)?;
            has_changed |= self.unix.count_new(netlink, &unix_rows, &held, peers)?;
        }
        Ok(has_changed)
    }

    fn look_up(&mut self, is_close: bool) -> io::Result<bool> {
        let mut has_changed = self.tcp.look_up(&mut self.peers, is_close)?;
        if !self.unix.is_empty() {
            let unix_rows = self.unix_rows();
            has_changed |= self.unix.count_known(&unix_rows, &mut self.peers);
        }
        Ok(has_changed)
    }

    fn unix_rows(&mut self) -> Vec<UnixSocket> {
        if self.no_unix.is_some() {
            return Vec::new();
        }
        sockets(&mut self.netlink).unwrap_or_else(|error| {
            self.no_unix = Some(error.to_string());
            Vec::new()
        })
    }

    fn held(&mut self) -> Held {
        let held = Held::by_tree(self.root);
        self.refused_max = self.refused_max.max(held.refused);
        self.elsewhere_max = self.elsewhere_max.max(held.elsewhere);
        self.members.clone_from(&held.read);
        held
    }

    /// Returns all peers, and looks for the processes that listen there, and at the addresses that were `missed`. It walks
    /// all processes of the machine, so it is for when the load is over.
    pub fn all(&mut self, missed: &[(SocketAddr, u64)]) -> All {
        let tcp = listeners(&mut self.netlink).unwrap_or_default();
        let perhaps: Vec<u32> = missed.iter().flat_map(|&(address, _)| listeners_at(address, &tcp)).collect();
        let unix = self.unix_rows();
        let found: Vec<(&Peer, usize, Known, Vec<u32>)> = self
            .peers
            .all()
            .map(|(peer, number, known)| {
                let inodes = match peer {
                    Peer::Tcp(address) if known.is_here => listeners_at(*address, &tcp),
                    Peer::Tcp(_) => Vec::new(),
                    Peer::Unix(path) => {
                        let is_it = |row: &&UnixSocket| row.is_listening && row.name.as_ref() == Some(path);
                        unix.iter().filter(is_it).map(|row| row.inode).collect()
                    }
                };
                (peer, number, known, inodes)
            })
            .collect();
        let wanted: BTreeSet<u32> =
            found.iter().flat_map(|(.., inodes)| inodes).chain(&perhaps).copied().collect();
        let holders = holders(&wanted);
        let of = |&inode: &u32| holders.by_socket.get(&inode).into_iter().flatten();
        let dependency = |(peer, number, known, inodes): (&Peer, usize, Known, Vec<u32>)| {
            let mut listeners: Vec<Holder> = inodes.iter().flat_map(of).cloned().collect();
            listeners.sort_unstable_by_key(|holder| holder.pid);
            let is_unix = matches!(peer, Peer::Unix(_));
            Dependency { address: peer.to_string(), number, known, is_unix, listeners }
        };
        let roots: Vec<Pid> = std::iter::once(self.root).chain(self.members.iter().copied()).collect();
        All {
            dependencies: found.into_iter().map(dependency).collect(),
            own: with_descendants_of(&roots).into_iter().collect(),
            perhaps: perhaps.iter().flat_map(of).map(|holder| holder.pid).collect(),
            refused: holders.refused,
        }
    }

    /// Returns with whom connections were closed and few or none were found open, and how many were closed. They are perhaps the server's.
    pub fn missed(&mut self) -> Vec<(SocketAddr, u64)> {
        let closed = self.tcp.closed(&mut self.netlink).unwrap_or_default();
        let closed = closed.difference(&self.closed_before).copied().collect();
        let held = self.held().sockets;
        let listeners = listeners(&mut self.netlink).unwrap_or_default();
        let (own, theirs): (Vec<_>, Vec<_>) =
            listeners.iter().partition(|listener| held.contains(&listener.inode));
        let ports = |listeners: Vec<&Listener>| listeners.iter().map(|each| each.local.port()).collect();
        missed(&closed, &ports(theirs), &ports(own), |address| {
            self.tcp.is_others(address)
                || self.peers.known(&Peer::Tcp(address)).is_some_and(|peer| peer.is_seen_enough())
        })
    }

    /// Returns what could not be read, and why: of all readings, whatever the peer.
    pub fn unread(&self) -> Vec<(&'static str, String)> {
        let mut unread = Vec::new();
        let mut add = |number: u64, field: &'static str, what: &str| {
            if number > 0 {
                unread.push((field, format!("{number} {what}")));
            }
        };
        let refused = "of the server's processes belong to another user, and their connections are not among these; \
                       run as that user";
        add(self.refused_max, "connections", refused);
        let elsewhere = "of the server's processes are in another network namespace, and their connections are not \
                         among these; run there";
        add(self.elsewhere_max, "connections", elsewhere);
        add(self.peers.left_out_max, "peers", "connections at a time lead to more peers than are told apart");
        if let Some(why) = &self.no_unix {
            unread.push(("unix", format!("Unix-domain sockets cannot be read here: {why}")));
        }
        if let Some(why) = self.udp.found() {
            unread.push(("udp", why));
        }
        if !self.tcp.says_traffic {
            let why = "this kernel does not say how much was sent; Linux 4.19 does";
            unread.push(("waiting", why.into()));
        }
        unread
    }
}

fn not_here(error: &io::Error) -> String {
    format!("not to be read here: {error}")
}

/// Why no process of the tree could be read.
fn why_none(root: Pid, held: &Held) -> String {
    if held.refused > 0 {
        return format!("process {root} belongs to another user: run as that user");
    }
    format!("process {root} is not there, or hidden from this user")
}

/// Connections to the address of all go to this machine's own.
fn reached_at(server: SocketAddr) -> SocketAddr {
    let ip = match server {
        SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
    };
    if server.ip().is_unspecified() { SocketAddr::new(ip, server.port()) } else { server }
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
