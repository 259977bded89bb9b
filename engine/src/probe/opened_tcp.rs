//! The TCP connections that a process tree has opened to others, and which of them wait for an answer.
//!
//! A survey lists all connections of this network namespace but those of the load. What it does not know yet it looks for
//! among the descriptors of the tree. Between surveys each connection that is known is looked up by its addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::net::SocketAddr;

use super::answering::{Waiting, chosen, moved};
use super::cpu_clock::own_ns as own_cpu_ns;
use super::diag::Diag;
use super::exchange::{Last, Look, State, state};
use super::interactive::Place;
use super::load_filter::without_load_on;
use super::namespace::Namespace;
use super::netlink::Netlink;
use super::peers::{Peer, Peers};
use super::settling::{Tie, ask_who_replied, settle};
use super::tcp_end::End;
use super::tcp_table::{self, Connection};

/// Looking up more connections than this, one by one, takes longer than a survey.
const LOOKED_UP_MOST: usize = 128;

pub struct OpenedTcp {
    diag: Diag,
    namespace: Namespace,
    filter: Vec<u8>,
    /// The tree's connections, by inode.
    known: BTreeMap<u32, Known>,
    /// Inodes of connections that are not the tree's, or that it has accepted.
    others: BTreeSet<u32>,
    /// How many connections to an address others have opened.
    others_to: HashMap<SocketAddr, u64>,
    /// Whether this kernel says how much was sent.
    pub says_traffic: bool,
    /// The CPU time of close looks since it was asked for last.
    close_ns: u64,
}

#[derive(Clone, Copy)]
struct Known {
    local: SocketAddr,
    peer: SocketAddr,
    look: Option<Look>,
    /// The first reading from which on its state has been unknown without anything that would tell it.
    unknown_from: Option<u64>,
}

/// One of the tree's connections as it is now.
struct Seen {
    inode: u32,
    end: End,
    /// `None` if this kernel says too little.
    look: Option<Look>,
}

impl OpenedTcp {
    /// `server`: where the load goes to, if that is an address of TCP.
    ///
    /// # Errors
    /// If the kernel does not show TCP sockets, or the namespace may not be entered.
    pub fn open(namespace: Namespace, server: Option<SocketAddr>) -> io::Result<Self> {
        Ok(Self {
            diag: Diag::open_in(namespace)?,
            namespace,
            filter: server.map(without_load_on).unwrap_or_default(),
            known: BTreeMap::new(),
            others: BTreeSet::new(),
            others_to: HashMap::new(),
            says_traffic: true,
            close_ns: 0,
        })
    }

    /// Returns whether there are so many connections that a survey takes less time than a look at each.
    pub fn is_long(&self) -> bool {
        self.known.len() > LOOKED_UP_MOST
    }

    /// Returns the CPU time of close looks since it was asked for last.
    pub fn close_ns(&mut self) -> u64 {
        std::mem::take(&mut self.close_ns)
    }

    /// Lists all connections but those of the load.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn list(&self, netlink: &mut Netlink) -> io::Result<Vec<Connection>> {
        tcp_table::connections(netlink, &self.filter)
    }

    /// Returns the connections that were closed in the last minute, but those of the load.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn closed(&self, netlink: &mut Netlink) -> io::Result<HashSet<Place>> {
        tcp_table::closed(netlink, &self.filter)
    }

    /// Returns whether the tree may have opened one of these of which nothing is known yet.
    pub fn has_new(&self, rows: &[Connection]) -> bool {
        rows.iter().any(|row| self.is_new(row))
    }

    /// Returns whether others than those who hold these sockets may have opened one of these.
    pub fn has_strange(&self, rows: &[Connection], held: &BTreeSet<u32>, listening: &BTreeSet<u16>) -> bool {
        let is_explained =
            |row: &Connection| held.contains(&row.inode) || listening.contains(&row.local.port());
        rows.iter().any(|row| self.is_new(row) && !is_explained(row))
    }

    /// Returns whether other processes than the tree's have connections with this address. One or two may be the tree's own:
    /// one that is just being closed is in no table of descriptors any more.
    pub fn is_others(&self, address: SocketAddr) -> bool {
        self.others_to.get(&address).is_some_and(|&number| number > 2)
    }

    fn is_new(&self, row: &Connection) -> bool {
        row.inode != 0 && !self.known.contains_key(&row.inode) && !self.others.contains(&row.inode)
    }

    /// Counts the connections of `rows` that are known. Returns whether one that was known is gone.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn count_known(
        &mut self,
        rows: &[Connection],
        peers: &mut Peers,
        is_close: bool,
    ) -> io::Result<bool> {
        let seen: Vec<Seen> = rows.iter().filter_map(|row| self.see(row.inode, row.end)).collect();
        let present: BTreeSet<u32> = rows.iter().map(|row| row.inode).collect();
        let before = self.known.len();
        self.known.retain(|inode, _| present.contains(inode));
        self.others.retain(|inode| present.contains(inode));
        self.count(seen, &ends(rows), peers, is_close)?;
        Ok(self.known.len() < before)
    }

    /// Counts those of `rows` that nothing was known of and that the tree has opened. `held`: the inodes of its sockets,
    /// read after the rows. Returns whether there are any.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn count_new(
        &mut self,
        rows: &[Connection],
        held: &BTreeSet<u32>,
        listening: &BTreeSet<u16>,
        peers: &mut Peers,
        is_close: bool,
    ) -> io::Result<bool> {
        let (mut seen, mut gone, ends) = (Vec::new(), Vec::new(), ends(rows));
        for row in rows.iter().filter(|row| self.is_new(row)).copied().collect::<Vec<_>>() {
            // A connection that was accepted has the port of its listener.
            let is_opened = !listening.contains(&row.local.port());
            if is_opened && held.contains(&row.inode) {
                self.known.insert(row.inode, Known::new(row));
                seen.extend(self.see(row.inode, row.end));
            } else if is_opened && self.is_closed(&row)? {
                // Perhaps it was the tree's.
                gone.push(row);
            } else {
                self.others.insert(row.inode);
                *self.others_to.entry(row.peer).or_default() += u64::from(is_opened);
            }
        }
        let new: Vec<Peer> = seen.iter().map(|seen| Peer::Tcp(self.known[&seen.inode].peer)).collect();
        let is_any = !new.is_empty() || gone.iter().any(|row| peers.number(&Peer::Tcp(row.peer)).is_some());
        self.count(seen, &ends, peers, is_close)?;
        for peer in &new {
            peers.note_ours(peer);
        }
        self.count_gone(&gone, &ends, peers);
        self.note_who_is_here(rows, peers);
        Ok(is_any)
    }

    /// Counts connections that were closed before it was known whose they are, by the state that they were in.
    fn count_gone(&self, gone: &[Connection], ends: &HashMap<Place, End>, peers: &mut Peers) {
        for row in gone.iter().filter(|row| peers.number(&Peer::Tcp(row.peer)).is_some()).collect::<Vec<_>>()
        {
            let place = (row.local, row.peer);
            let last = row.end.traffic.map_or(Last::Unknown, |traffic| {
                Tie::new(place, Look::new(&row.end, traffic, None)).last_with(ends)
            });
            peers.count_somebodys(&Peer::Tcp(row.peer), state(&row.end, last));
        }
    }

    /// Returns whether a connection was closed before the tree's descriptors were read.
    fn is_closed(&mut self, row: &Connection) -> io::Result<bool> {
        let end = self.diag.end(row.local, row.peer, false)?;
        Ok(!end.is_some_and(|end| end.is_held))
    }

    /// Watches some of those that wait, for whether they are answered. `turn`: others in each.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn watch_waiting(&mut self, turn: u64, peers: &mut Peers) -> io::Result<()> {
        let late = self.known.iter().filter_map(|(&inode, known)| {
            let look = known.look.filter(Look::is_late)?;
            Some(Waiting { inode, place: (known.local, known.peer), look })
        });
        for (before, look) in moved(&mut self.diag, chosen(late.collect(), turn))? {
            if let Some(peer) = peers.known(&Peer::Tcp(before.place.1)) {
                peer.note(look.answered_since(&before.look), look.answered_late(&before.look));
                peer.sent_on_late += u64::from(look.went_on_sending(&before.look));
            }
            if let Some(known) = self.known.get_mut(&before.inode) {
                known.look = Some(look);
            }
        }
        Ok(())
    }

    /// Looks up each connection that is known. Returns whether one is gone.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn look_up(&mut self, peers: &mut Peers, is_close: bool) -> io::Result<bool> {
        let mut seen = Vec::new();
        for (&inode, known) in &self.known {
            let end = self.diag.end(known.local, known.peer, true)?.filter(|end| end.is_held);
            seen.extend(end.map(|end| (inode, end)));
        }
        let is_any_gone = seen.len() < self.known.len();
        let seen: Vec<Seen> = seen.into_iter().filter_map(|(inode, end)| self.see(inode, end)).collect();
        self.count(seen, &HashMap::new(), peers, is_close)?;
        Ok(is_any_gone)
    }

    /// Returns what is seen of a connection, if it is known.
    fn see(&mut self, inode: u32, end: End) -> Option<Seen> {
        let known = self.known.get(&inode)?;
        self.says_traffic &= end.traffic.is_some();
        let look = end.traffic.map(|traffic| Look::new(&end, traffic, known.look.as_ref()));
        Some(Seen { inode, end, look })
    }

    fn count(
        &mut self,
        mut seen: Vec<Seen>,
        ends: &HashMap<Place, End>,
        peers: &mut Peers,
        is_close: bool,
    ) -> io::Result<()> {
        self.settle(&mut seen, ends, is_close)?;
        for Seen { inode, end, look } in seen {
            if let Some(known) = self.known.get_mut(&inode) {
                let now = state(&end, look.map_or(Last::Unknown, |look| look.last));
                known.count(now, look, peers);
            }
        }
        Ok(())
    }

    /// Settles those of `seen` whose state is unknown otherwise.
    fn settle(&mut self, seen: &mut [Seen], ends: &HashMap<Place, End>, is_close: bool) -> io::Result<()> {
        let (mut places, mut ties) = (Vec::new(), Vec::new());
        for (place, Seen { inode, end, look }) in seen.iter().enumerate() {
            if let (Some(look), Some(known)) = (look, self.known.get(inode))
                && state(end, look.last) == State::Unknown
            {
                places.push(place);
                ties.push(Tie::new((known.local, known.peer), *look));
            }
        }
        settle(&mut self.diag, &mut ties, ends)?;
        if is_close {
            let began_ns = own_cpu_ns();
            ask_who_replied(&mut self.diag, self.namespace, &mut ties)?;
            self.close_ns += own_cpu_ns() - began_ns;
        }
        for (place, tie) in places.into_iter().zip(ties) {
            seen[place].look = Some(tie.look);
        }
        Ok(())
    }

    /// Notes which peers have their end of a connection in this network namespace, and whom others are connected with.
    fn note_who_is_here(&self, rows: &[Connection], peers: &mut Peers) {
        let ends: BTreeSet<_> = rows.iter().map(|row| (row.local, row.peer)).collect();
        for known in self.known.values().filter(|known| ends.contains(&(known.peer, known.local))) {
            if let Some(peer) = peers.known(&Peer::Tcp(known.peer)) {
                peer.is_here = true;
            }
        }
        for (address, &number) in &self.others_to {
            if let Some(peer) = peers.known(&Peer::Tcp(*address)) {
                peer.others = number;
            }
        }
    }
}

impl Known {
    fn new(row: Connection) -> Self {
        Self { local: row.local, peer: row.peer, look: None, unknown_from: None }
    }

    /// Counts it for the present reading, and for earlier ones at which it was unknown what can be told of them now.
    fn count(&mut self, now: State, look: Option<Look>, peers: &mut Peers) {
        let (before, peer) = (self.look.take(), Peer::Tcp(self.peer));
        self.look = look;
        if let (Some(before), Some(look), Some(from)) = (&before, &look, self.unknown_from) {
            match look.settles(before) {
                Last::Sent => peers.settle(&peer, from, State::Waiting),
                Last::Received => peers.settle(&peer, from, State::Idle),
                Last::Unknown => {}
            }
            let is_same = now == State::Unknown && look.is_as(before);
            self.unknown_from = self.unknown_from.filter(|_| is_same);
        }
        if now == State::Unknown {
            self.unknown_from.get_or_insert(peers.reading());
        }
        let Some(peer) = peers.count(&peer, now) else {
            return;
        };
        if let Some((look, before)) = look.zip(before) {
            peer.is_used |= look.has_exchanged_since(&before);
            peer.note(look.answered_since(&before), look.answered_late(&before));
        }
    }
}

/// Returns all ends by their place.
fn ends(rows: &[Connection]) -> HashMap<Place, End> {
    rows.iter().map(|row| ((row.local, row.peer), row.end)).collect()
}
