//! How far requests in flight have got on the server's side, without looking into the server. A reading draws some of the
//! requests in flight and looks up the server's end of their connections.
//!
//! A request is at one stage at a time. So the share of requests that is at a stage, at an instant that does not depend
//! on the requests, is on average that stage's share of the mean response time (Little's law for each stage).

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::diag::Diag;
use super::listening;
use super::server_stages::Places;
use super::tcp_end::End;
use crate::board::{Board, Flight, Local, Seen};
use crate::process_tree::Pid;
use crate::socket::Address;

/// How many users are asked, at most, for further requests in flight once one was found.
const ASKED: usize = 1_024;
/// How many are asked, at most, until one is found. A reading that finds none does not count. If that happened whenever few
/// requests are in flight, readings of long queues would weigh too much.
const ASKED_FOR_ONE: usize = 16 * ASKED;

/// How many of the requests that were drawn at one time were at which stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The requests in flight when it began.
    pub in_flight: u64,
    pub drawn: u64,
    /// No program holds the server's end of the connection.
    pub not_accepted: u64,
    /// The server has accepted the connection, and the engine has not sent all of the request.
    pub unsent: u64,
    /// The server has not read all that has arrived.
    pub unread: u64,
    /// The server has read all of the request, and nothing waits on the way back.
    pub inside: u64,
    /// Some of the answer waits on the way back, the server has closed its end, or the engine has the answer and has not
    /// counted it yet.
    pub returning: u64,
    /// The request ended while it was looked up.
    pub thrown_away: u64,
    /// It was not known whether there was a request.
    pub not_told_apart: u64,
    /// From the server's end alone: connections on which something was sent last.
    pub sent_last: u64,
    /// How many connections each that was looked at stands for.
    pub stands_for: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    NotAccepted,
    Unsent,
    Unread,
    Inside,
    Returning,
}

/// Looks up requests in flight.
pub struct Stages {
    diag: Diag,
    server: SocketAddr,
    /// The local addresses from which connections are opened, as the boards number them.
    sources: Vec<IpAddr>,
    boards: Vec<Arc<Board>>,
    random: Xoshiro256PlusPlus,
    /// Whether the server's connections end here, as far as is known: one was seen.
    is_here: bool,
    /// All users, in the order of the last reading.
    order: Vec<usize>,
}

impl Stages {
    /// `sources`: the local addresses of connections, by the index that `boards` give; empty if the kernel chooses.
    ///
    /// # Errors
    /// Why the server's end of connections to `server` cannot be looked up.
    pub fn open(
        server: &Address,
        sources: &[IpAddr],
        boards: Vec<Arc<Board>>,
        random: Xoshiro256PlusPlus,
    ) -> Result<Self, String> {
        let Address::Tcp(server) = server else {
            return Err("not to be read here: the server listens on a Unix socket".into());
        };
        let server = plain(*server);
        let mut own = server;
        own.set_port(0);
        if UdpSocket::bind(own).is_err() {
            return Err(format!("not to be read here: {} is no address of this machine", server.ip()));
        }
        let (source, server) = route(server).map_err(|error| not_here(&error))?;
        let sources = if sources.is_empty() { vec![source] } else { sources.to_vec() };
        let mut diag = Diag::open().map_err(|error| not_here(&error))?;
        match diag.waiting(server) {
            Ok(Some(_)) => {}
            Ok(None) => {
                return Err(format!(
                    "not to be read here: nobody listens at {server} in this network namespace"
                ));
            }
            Err(error) => return Err(not_here(&error)),
        }
        let users = boards.iter().map(|board| board.users()).sum();
        Ok(Self { diag, server, sources, boards, random, is_here: false, order: (0..users).collect() })
    }

    /// Returns the same if the connections are those of the tree of `root`, as far as that can be read.
    ///
    /// # Errors
    /// Another program listens there, in front of it: what is read would say how far requests have got in that one.
    pub fn of_tree(self, root: Pid) -> Result<Self, String> {
        listening::check(root, self.server)?;
        Ok(self)
    }

    /// Draws up to `most` of the requests in flight, each at most once, and says at which stage they are.
    ///
    /// # Errors
    /// If the kernel refuses a look-up.
    pub fn read(&mut self, most: usize) -> io::Result<Reading> {
        let in_flight = self.boards.iter().map(|board| board.in_flight()).sum();
        let mut reading = Reading { in_flight, ..Reading::default() };
        let most = most.min(usize::try_from(in_flight).unwrap_or(usize::MAX)) as u64;
        for asked in 0..self.order.len() {
            let enough = if reading.drawn > 0 { ASKED } else { ASKED_FOR_ONE };
            if reading.drawn >= most || asked >= enough {
                break;
            }
            let user = turn(&mut self.order, asked, &mut self.random);
            let Some((board, index)) = place(&self.boards, user) else {
                break;
            };
            let before = self.boards[board].read(index);
            if before.flight() != Flight::Nothing {
                let stage = self.stage(before)?;
                let after = self.boards[board].read(index);
                reading.count(stage.filter(|_| before.goes_on(after)));
            }
        }
        if reading.not_accepted > 0 && !self.is_here {
            self.is_here = self.diag.waiting(self.server)?.is_some_and(|waiting| waiting > 0);
        }
        Ok(reading)
    }

    /// Returns why none of what was seen counts, if so: no connection of the load was found to end here. Then a
    /// connection without a server's end is not one that waits to be accepted.
    pub fn doubt(&self) -> Option<String> {
        (!self.is_here).then(|| {
            format!(
                "not to be read here: none of the connections ends at {} in this network namespace",
                self.server
            )
        })
    }

    /// Returns the stage of a request, or `None` if its connection is gone.
    fn stage(&mut self, seen: Seen) -> io::Result<Option<Stage>> {
        match seen.flight() {
            Flight::Nothing => Ok(None),
            Flight::Connecting(None) => Ok(Some(Stage::NotAccepted)),
            Flight::Sending => Ok(Some(Stage::Unsent)),
            Flight::Over => Ok(Some(Stage::Returning)),
            Flight::Connecting(Some(local)) => self.stage_of(local, false),
            Flight::Sent(local) => self.stage_of(local, true),
        }
    }

    fn stage_of(&mut self, local: Local, is_sent: bool) -> io::Result<Option<Stage>> {
        let Some(&source) = self.sources.get(usize::from(local.source)) else {
            return Ok(None);
        };
        let (client, server) = (SocketAddr::new(source, local.port), self.server);
        let Some(end) = self.diag.end(server, client, false)? else {
            // Either the server has closed or reset the connection, and the engine has not read that yet. Or the queue
            // of connections to accept was full, and the kernel dropped the last packet of the handshake, or the first.
            let own = self.diag.end(client, server, false)?;
            let waits = own.is_some_and(|own| own.may_hear && own.unread_bytes == 0);
            return Ok(Some(if waits { Stage::NotAccepted } else { Stage::Returning }));
        };
        self.is_here = true;
        if let Some(stage) = of_server(&end, is_sent) {
            return Ok(Some(stage));
        }
        let Some(own) = self.diag.end(client, server, true)? else {
            return Ok(None);
        };
        if own.unread_bytes > 0 || !end.may_send {
            return Ok(Some(Stage::Returning));
        }
        if own.unsent_bytes.is_some_and(|bytes| bytes > 0) {
            return Ok(Some(Stage::Unsent));
        }
        if end.unacknowledged_bytes == 0 {
            return Ok(Some(Stage::Inside));
        }
        // The engine has read a part of the answer. Unless more of it waits in the kernel, only its acknowledgement
        // is delayed, and the server has not written the rest.
        let end = self.diag.end(server, client, true)?;
        let waits = end.and_then(|end| end.unsent_bytes).is_some_and(|bytes| bytes > 0);
        Ok(Some(if waits { Stage::Returning } else { Stage::Inside }))
    }
}

/// Returns the stage of a request as far as the server's end alone tells it.
fn of_server(end: &End, is_sent: bool) -> Option<Stage> {
    if !end.is_held {
        // Once it has closed, nobody holds it either.
        return Some(if end.may_send { Stage::NotAccepted } else { Stage::Returning });
    }
    if !is_sent {
        return Some(Stage::Unsent);
    }
    (end.unread_bytes > 0).then_some(Stage::Unread)
}

impl Reading {
    /// Returns what was found from the server's end alone. Only requests that are at the server are known to be in flight.
    pub fn at_server(found: &Places) -> Self {
        let &Places { not_accepted, unsent, unread, inside, returning, sent, untold, .. } = found;
        let drawn = not_accepted + unsent + unread + inside + returning + untold;
        let stands_for = found.connections as f64 / found.looked_at.max(1) as f64;
        Self {
            in_flight: (drawn as f64 * stands_for).round() as u64,
            drawn,
            not_accepted,
            unsent,
            unread,
            inside,
            returning,
            thrown_away: 0,
            not_told_apart: untold,
            sent_last: sent,
            stands_for,
        }
    }

    /// Returns the same for a server that was seen to write answers in parts: what was sent last may be a part.
    pub fn in_parts(self) -> Self {
        let drawn = self.drawn + self.sent_last;
        Self {
            in_flight: (drawn as f64 * self.stands_for).round() as u64,
            drawn,
            not_told_apart: self.not_told_apart + self.sent_last,
            ..self
        }
    }

    /// Counts a request at its stage; `None`: it ended meanwhile.
    fn count(&mut self, stage: Option<Stage>) {
        self.drawn += 1;
        *match stage {
            Some(Stage::NotAccepted) => &mut self.not_accepted,
            Some(Stage::Unsent) => &mut self.unsent,
            Some(Stage::Unread) => &mut self.unread,
            Some(Stage::Inside) => &mut self.inside,
            Some(Stage::Returning) => &mut self.returning,
            None => &mut self.thrown_away,
        } += 1;
    }
}

fn not_here(error: &io::Error) -> String {
    format!("not to be read here: {error}")
}

/// The same address; one of IPv4 as such, as the kernel's tables have it.
fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }
}

/// Returns from and to which address the kernel connects: it chooses the first, and takes 0.0.0.0 for this machine. A
/// datagram socket is not sent anything by this.
fn route(server: SocketAddr) -> io::Result<(IpAddr, SocketAddr)> {
    let any = if server.is_ipv4() { IpAddr::from([0_u8; 4]) } else { IpAddr::from([0_u8; 16]) };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(server)?;
    Ok((socket.local_addr()?.ip(), socket.peer_addr()?))
}

/// Returns a user who was not asked before in this reading, each as likely as another. Neighbours are not drawn together: their
/// requests are often served one after the other.
fn turn(order: &mut [usize], asked: usize, random: &mut Xoshiro256PlusPlus) -> usize {
    let drawn = random.random_range(asked..order.len());
    order.swap(asked, drawn);
    order[asked]
}

/// Returns the index of the board of a user, counted over all boards, and the user's index on it.
fn place(boards: &[Arc<Board>], mut user: usize) -> Option<(usize, usize)> {
    for (index, board) in boards.iter().enumerate() {
        if user < board.users() {
            return Some((index, user));
        }
        user -= board.users();
    }
    None
}

#[cfg(test)]
#[path = "stages_tests.rs"]
mod tests;
