//! The peers of a server's own connections: who they are, and how many connections each has at a reading, by state.

use std::collections::BTreeMap;
use std::fmt;
use std::mem::take;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::exchange::State;

/// Connections to the first 256 addresses are counted by address. A server that calls thousands has no dependency among
/// them.
const MOST: usize = 256;

/// Whom a connection leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    Tcp(SocketAddr),
    /// The path of the socket, or @ and its name.
    Unix(String),
}

impl fmt::Display for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(out, "{address}"),
            Self::Unix(path) => write!(out, "unix:{path}"),
        }
    }
}

/// Connections of one peer at one reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub waiting: u64,
    pub idle: u64,
    pub unknown: u64,
    /// Those that were closed before it was known whose they are, by the state that they were in.
    pub waiting_of_somebody: u64,
    pub idle_of_somebody: u64,
}

impl Found {
    pub fn connections(&self) -> u64 {
        self.waiting + self.idle + self.unknown + self.of_somebody()
    }

    fn of_somebody(&self) -> u64 {
        self.waiting_of_somebody + self.idle_of_somebody
    }

    /// Counts those of which it is not known whose they are: as the server's, or as unknown. Returns how many of them
    /// count as the server's.
    pub fn close_account(&mut self, are_the_servers: bool) -> u64 {
        let (waiting, idle) = (take(&mut self.waiting_of_somebody), take(&mut self.idle_of_somebody));
        if are_the_servers {
            self.waiting += waiting;
            self.idle += idle;
            return waiting + idle;
        }
        self.unknown += waiting + idle;
        0
    }

    fn of(&mut self, state: State) -> &mut u64 {
        match state {
            State::Waiting => &mut self.waiting,
            State::Idle => &mut self.idle,
            State::Unknown => &mut self.unknown,
        }
    }
}

/// A connection whose state was unknown at several readings, and that a later one has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The number of the peer.
    pub peer: usize,
    /// The number of the first of these readings, and that of the first after them.
    pub from: u64,
    pub until: u64,
    pub is_waiting: bool,
}

impl Settled {
    /// Takes it over to what one of these readings has found.
    pub fn apply(&self, found: &mut [Found]) {
        if let Some(found) = found.get_mut(self.peer).filter(|found| found.unknown > 0) {
            found.unknown -= 1;
            *found.of(if self.is_waiting { State::Waiting } else { State::Idle }) += 1;
        }
    }
}

/// What is known of a peer beside the readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Whether it is at a loopback address, or a connection with it was seen to end in this network namespace.
    pub is_here: bool,
    /// Whether it was asked for anything since the readings began: something was sent or came, a connection was opened or
    /// waits for an answer. Of a Unix-domain socket that is not known, and taken to be so.
    pub is_used: bool,
    /// How often data came on a connection that was seen waiting.
    pub answered: u64,
    /// How often more was sent on one although nothing had come.
    pub not_answered: u64,
    /// The same two, where nothing had been sent for some time and only the one or the other was seen.
    pub answered_late: u64,
    pub sent_on_late: u64,
    /// Connections that were found while reading, and that are the server's.
    pub ours: u64,
    /// Connections with it that others have opened.
    pub others: u64,
    /// Connections that were closed before it was known whose they are.
    pub somebodys: u64,
}

/// The server's are enough of them to conclude from if nobody else's was found.
const OURS_LEAST: u64 = 30;
/// As many more may have been closed too early, for each that was found to be the server's.
const SOMEBODYS_EACH: u64 = 10;
/// So often more must have been sent without an answer before a peer counts as one that does not answer.
const NOT_ANSWERED_LEAST: u64 = 3;
/// After a time in which nothing was sent, it may go on without an answer once, and in one of 20 exchanges.
const SENT_ON_MOST: u64 = 1;
const SENT_ON_ONE_IN: u64 = 20;

impl Known {
    /// Notes whether data came on a connection that waited, or more was sent: at all, and after some time.
    pub fn note(&mut self, is_answered: Option<bool>, is_answered_late: Option<bool>) {
        self.answered += u64::from(is_answered == Some(true));
        self.not_answered += u64::from(is_answered == Some(false));
        self.answered_late += u64::from(is_answered_late == Some(true));
        self.sent_on_late += u64::from(is_answered_late == Some(false));
    }

    /// Returns whether connections that were closed before it was known whose they are count as the server's.
    pub fn somebodys_are_ours(&self) -> bool {
        self.others == 0 && self.ours >= OURS_LEAST && self.ours * SOMEBODYS_EACH >= self.somebodys
    }

    /// Returns whether enough of the server's connections that come and go were found for those that were not to be few.
    pub fn is_seen_enough(&self) -> bool {
        self.ours >= OURS_LEAST
    }

    /// Returns whether what is sent there waits for an answer, as far as was seen.
    pub fn answers(&self) -> bool {
        let mostly_not = self.not_answered >= NOT_ANSWERED_LEAST.max(self.answered + 1);
        let never = self.not_answered > 0 && self.answered == 0;
        let sends_on =
            self.sent_on_late > SENT_ON_MOST && self.sent_on_late * SENT_ON_ONE_IN > self.answered_late;
        !(mostly_not || never || sends_on)
    }
}

/// All peers so far, by numbers that do not change.
#[derive(Default)]
pub struct Peers {
    numbers: BTreeMap<Peer, usize>,
    known: Vec<Known>,
    /// Connections of peers beyond the most, at the present reading and at most.
    left_out: u64,
    pub left_out_max: u64,
    /// The number of the present reading, and what it has found so far, by peer.
    reading: u64,
    found: Vec<Found>,
    settled: Vec<Settled>,
}

impl Peers {
    pub fn number(&self, peer: &Peer) -> Option<usize> {
        self.numbers.get(peer).copied()
    }

    /// Returns what is known of a peer, if there was a connection with it.
    pub fn known(&mut self, peer: &Peer) -> Option<&mut Known> {
        self.number(peer).and_then(|number| self.known.get_mut(number))
    }

    /// Counts a connection with `peer` for the present reading. Returns what is known of the peer, or `None` if there
    /// are too many.
    pub fn count(&mut self, peer: &Peer, state: State) -> Option<&mut Known> {
        let number = match self.number(peer) {
            Some(number) => number,
            None if self.known.len() < MOST => {
                self.numbers.insert(peer.clone(), self.known.len());
                // A brief connection may be gone before its other end is seen.
                let is_here = matches!(peer, Peer::Tcp(address) if address.ip().is_loopback());
                self.known.push(Known { is_here, ..Known::default() });
                self.known.len() - 1
            }
            None => {
                self.left_out += 1;
                self.left_out_max = self.left_out_max.max(self.left_out);
                return None;
            }
        };
        if self.found.len() <= number {
            self.found.resize(number + 1, Found::default());
        }
        *self.found[number].of(state) += 1;
        let is_used = self.reading > 0 && (state == State::Waiting || matches!(peer, Peer::Unix(_)));
        let known = self.known.get_mut(number)?;
        known.is_used |= is_used;
        Some(known)
    }

    /// Counts a connection with a known peer that was closed before it was known whose it is.
    pub fn count_somebodys(&mut self, peer: &Peer, state: State) {
        let is_new = self.reading > 0;
        if let Some(known) = self.count(peer, state) {
            known.somebodys += 1;
            known.is_used |= is_new;
        }
        if let Some(found) = self.number(peer).and_then(|number| self.found.get_mut(number)) {
            let of_somebody = match state {
                State::Waiting => &mut found.waiting_of_somebody,
                State::Idle => &mut found.idle_of_somebody,
                State::Unknown => return,
            };
            *of_somebody += 1;
            *found.of(state) -= 1;
        }
    }

    /// Notes that a connection was found that is the server's. Those that were there at the beginning do not count: they are
    /// not like those that come and go.
    pub fn note_ours(&mut self, peer: &Peer) {
        let is_new = self.reading > 0;
        if let Some(known) = self.known(peer).filter(|_| is_new) {
            known.ours += 1;
            known.is_used = true;
        }
    }

    /// Returns the number of the present reading.
    pub fn reading(&self) -> u64 {
        self.reading
    }

    /// Notes the state in which a connection was at all readings from `from` to the last one.
    pub fn settle(&mut self, peer: &Peer, from: u64, state: State) {
        if let Some(peer) = self.number(peer) {
            let is_waiting = state == State::Waiting;
            self.settled.push(Settled { peer, from, until: self.reading, is_waiting });
        }
    }

    /// Ends the present reading. Returns what it found, by the number of the peer, and what it has told of earlier ones;
    /// peers at the end may be missing.
    pub fn take(&mut self) -> (Vec<Found>, Vec<Settled>) {
        self.left_out = 0;
        self.reading += 1;
        (take(&mut self.found), take(&mut self.settled))
    }

    /// Returns each peer with its number and what is known of it.
    pub fn all(&self) -> impl Iterator<Item = (&Peer, usize, Known)> {
        self.numbers.iter().map(|(peer, &number)| (peer, number, self.known[number]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> Peer {
        Peer::Tcp(SocketAddr::from(([10, 0, 0, 1], port)))
    }

    #[test]
    fn connections_are_counted_by_peer_and_reading() {
        let mut peers = Peers::default();
        peers.count(&peer(1), State::Waiting).unwrap().is_here = true;
        peers.count(&Peer::Unix("/run/db".into()), State::Unknown);
        peers.count(&peer(1), State::Idle);
        let one = Found { waiting: 1, idle: 1, ..Found::default() };
        assert_eq!(peers.take().0, [one, Found { unknown: 1, ..Found::default() }]);
        assert_eq!(one.connections(), 2);
        peers.count(&peer(1), State::Idle);
        assert_eq!(peers.take().0, [Found { idle: 1, ..Found::default() }]);
        let named: Vec<_> =
            peers.all().map(|(peer, number, known)| (peer.to_string(), number, known.is_here)).collect();
        assert_eq!(named, [("10.0.0.1:1".into(), 0, true), ("unix:/run/db".into(), 1, false)]);
    }

    #[test]
    fn a_peer_at_a_loopback_address_is_here_though_no_other_end_was_seen() {
        let mut peers = Peers::default();
        let at = |text: &str| Peer::Tcp(text.parse().unwrap());
        for (text, is_here) in [("127.0.0.1:1", true), ("[::1]:1", true), ("10.0.0.1:1", false)] {
            assert_eq!(peers.count(&at(text), State::Waiting).unwrap().is_here, is_here, "{text}");
        }
    }

    #[test]
    fn what_is_told_later_is_of_the_readings_before() {
        let mut peers = Peers::default();
        peers.count(&peer(1), State::Unknown);
        peers.take();
        peers.count(&peer(1), State::Unknown);
        peers.take();
        peers.settle(&peer(1), 1, State::Waiting);
        let settled = Settled { peer: 0, from: 1, until: 2, is_waiting: true };
        assert_eq!(peers.take().1, [settled]);
        let mut found = [Found { unknown: 1, ..Found::default() }];
        settled.apply(&mut found);
        assert_eq!(found, [Found { waiting: 1, ..Found::default() }]);
        // There is none left, or no such peer.
        settled.apply(&mut found);
        settled.apply(&mut []);
        assert_eq!(found[0].connections(), 1);
    }

    #[test]
    fn those_of_somebody_count_as_the_servers_only_if_all_others_are() {
        let ours = Known { ours: 30, somebodys: 300, ..Known::default() };
        assert!(ours.somebodys_are_ours());
        for other in [
            Known { others: 1, ..ours },
            Known { ours: 29, somebodys: 1, ..ours },
            Known { somebodys: 301, ..ours },
        ] {
            assert!(!other.somebodys_are_ours(), "{other:?}");
        }
        let mut peers = Peers::default();
        for state in [State::Waiting, State::Idle, State::Unknown] {
            peers.count(&peer(1), state);
            peers.count_somebodys(&peer(1), state);
        }
        assert_eq!(peers.known(&peer(1)).unwrap().somebodys, 3);
        let found = peers.take().0[0];
        assert_eq!((found.connections(), found.waiting, found.idle, found.unknown), (6, 1, 1, 2));
        let of = |are_the_servers| {
            let mut found = found;
            let inferred = found.close_account(are_the_servers);
            assert_eq!(found.connections(), 6);
            (found.waiting, found.idle, found.unknown, inferred)
        };
        assert_eq!((of(true), of(false)), ((2, 2, 2, 2), (1, 1, 4, 0)));
    }

    #[test]
    fn who_is_sent_more_without_an_answer_does_not_answer() {
        let of = |not_answered, answered| Known { not_answered, answered, ..Known::default() }.answers();
        assert!(of(0, 0) && of(3, 3) && of(2, 1));
        assert!(!of(3, 2) && !of(1, 0));
        let late = |sent_on_late, answered_late| {
            Known { answered: 900, sent_on_late, answered_late, ..Known::default() }.answers()
        };
        assert!(late(1, 0) && late(3, 60));
        assert!(!late(2, 0) && !late(3, 59));
    }

    #[test]
    fn peers_beyond_the_most_are_counted_and_not_kept() {
        let mut peers = Peers::default();
        for port in 0..300 {
            assert_eq!(peers.count(&peer(port), State::Idle).is_some(), port < 256);
        }
        assert_eq!((peers.take().0.len(), peers.left_out_max), (256, 44));
        peers.count(&peer(299), State::Idle);
        assert_eq!(peers.left_out_max, 44);
    }
}
