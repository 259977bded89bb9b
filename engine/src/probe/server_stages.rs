//! How far requests have got on the server's side, from the server's ends of its connections alone. Where the load comes from
//! elsewhere nobody here knows which requests are in flight. A reading looks at the connections with the server's port, in
//! the server's network namespace. Where no request is found, it is on the network or with the client.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::counting::Counting;
use super::diag::Diag;
use super::exchange::{Last, Look};
use super::load_filter::accepted_at;
use super::namespace::Namespace;
use super::netlink::Netlink;
use super::other_clients::{Ends, OtherClients};
use super::parts::Parts;
use super::server_end::{Place, place};
use super::sockets::SocketFiles;
use super::tcp_end::End;
use super::tcp_table::{self, Connection, Listener, listeners_at};
use super::turned_away::{self, hide_too_much};
use super::{arrived_text, listening};
use crate::process_tree::Pid;

/// So many readings draw connections from a list, where these last. Listing makes the kernel walk through all sockets of the
/// machine, which takes much longer than looking up a few.
const READINGS_PER_LIST: u32 = 16;
/// Connections last if no more than this share of them was closed or opened from one list to the next.
const CHANGED_MOST: f64 = 0.05;
/// One of these times after a reading: in a short one a short exchange goes on by one step, a long one needs a longer.
const AGAIN_AFTER_MS: [u64; 3] = [1, 2, 4];
/// As many as a reading draws at least: this may double what it costs.
const AGAIN_MOST: usize = 8;

/// How many of the connections that were looked at had a request at which place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// All connections, of which some were looked at.
    pub connections: u64,
    pub looked_at: u64,
    pub not_accepted: u64,
    pub unsent: u64,
    pub unread: u64,
    pub inside: u64,
    pub returning: u64,
    /// Something was sent last: elsewhere, unless the server writes its answers in parts.
    pub sent: u64,
    pub untold: u64,
}

pub struct ServerStages {
    tables: Tables,
    server: SocketAddr,
    counting: Counting,
    parts: Parts,
    others: OtherClients,
    /// How many connections the listener had turned away when counting began, if that is known.
    turned_away: Option<u64>,
    random: Xoshiro256PlusPlus,
    /// What was found at the last look at each connection.
    looks: HashMap<Ends, Look>,
    /// All connections, when they were listed last.
    listed: Vec<Ends>,
    /// How many sockets of all programs there were in the server's namespace then.
    all: Option<u64>,
    /// How many readings may still draw from the list.
    draws: u32,
    /// Whether any connection was seen.
    has_seen: bool,
}

/// What the kernel tells.
enum Tables {
    Sockets {
        netlink: Netlink,
        diag: Diag,
        filter: Vec<u8>,
        all: SocketFiles,
    },
    /// Without the right to enter the server's namespace only what everybody may read.
    Text(Namespace),
}

impl ServerStages {
    /// `server`: where the server listens in its namespace. `request_bytes`: how long each request is, if all are equally
    /// long. `load_most`: how many connections the load opens at most. None of them is open yet.
    ///
    /// # Errors
    /// Why the connections cannot be read.
    pub fn open(
        server: SocketAddr,
        namespace: Namespace,
        request_bytes: Option<u64>,
        load_most: usize,
        random: Xoshiro256PlusPlus,
    ) -> Result<Self, String> {
        let sockets = Diag::open_in(namespace).and_then(|diag| Ok((diag, Netlink::open_in(namespace)?)));
        let mut before = HashSet::new();
        let tables = match sockets {
            Ok((diag, mut netlink)) => {
                let all = tcp_table::listeners(&mut netlink).map_err(|error| not_here(&error))?;
                let filter = accepted_at(listening_at(server, &all)?);
                let found = tcp_table::arrived(&mut netlink, &filter).map_err(|error| not_here(&error))?;
                before.extend(found.iter().map(ends));
                Tables::Sockets { netlink, diag, filter, all: SocketFiles::open(namespace) }
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !namespace.is_own() => {
                arrived_text::read(namespace, server.port()).map_err(|error| not_here(&error))?;
                Tables::Text(namespace)
            }
            Err(error) => return Err(not_here(&error)),
        };
        Ok(Self {
            tables,
            server,
            counting: Counting::new(request_bytes),
            parts: Parts::default(),
            others: OtherClients::new(before, load_most),
            turned_away: None,
            random,
            looks: HashMap::new(),
            listed: Vec::new(),
            all: None,
            draws: 0,
            has_seen: false,
        })
    }

    /// Returns the same if the connections are those of the tree of `root`, as far as that can be read.
    ///
    /// # Errors
    /// Another program listens there, in front of it.
    pub fn of_tree(self, root: Pid) -> Result<Self, String> {
        listening::check(root, self.server)?;
        Ok(self)
    }

    /// Counts from now on what is not seen.
    pub fn count(&mut self) {
        if self.turned_away.is_none() {
            self.turned_away = self.turned_away();
        }
    }

    fn turned_away(&mut self) -> Option<u64> {
        match &mut self.tables {
            Tables::Sockets { netlink, .. } => tcp_table::turned_away(netlink, self.server.port()).ok(),
            Tables::Text(namespace) => turned_away::in_all(*namespace),
        }
    }

    /// Returns why none of what was seen counts, if so: so many requests on average, in so long.
    pub fn doubt(&mut self, seen: f64, in_s: f64) -> Option<String> {
        if !self.has_seen {
            return Some(format!(
                "not to be read here: no connection with {} was seen in the server's network namespace",
                self.server
            ));
        }
        let number =
            self.turned_away.zip(self.turned_away()).map_or(0, |(before, now)| now.saturating_sub(before));
        let is_hidden = hide_too_much(number, in_s, seen);
        is_hidden.then(|| full_queue(number)).or_else(|| self.others.doubt())
    }

    /// Returns whether the server was seen to write answers in parts: where something was sent last, a request may be inside.
    pub fn writes_in_parts(&self) -> bool {
        self.parts.are_seen()
    }

    /// Looks at connections: at all, or at up to `most` that are drawn.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn read(&mut self, most: usize) -> io::Result<Places> {
        let found = self.places(most)?;
        self.has_seen |= found.connections > 0;
        if found.sent + found.untold > 0 {
            self.look_again()?;
        }
        Ok(found)
    }

    /// Looks again at some connections of which counting tells nothing: what is first after the reading tells whether answers
    /// come in parts. Until the next reading too much happens.
    fn look_again(&mut self) -> io::Result<()> {
        let Tables::Sockets { diag, .. } = &mut self.tables else {
            return Ok(());
        };
        let after_ms = AGAIN_AFTER_MS[self.random.random_range(0..AGAIN_AFTER_MS.len())];
        thread::sleep(Duration::from_millis(after_ms));
        for &(local, peer) in self.listed.iter().take(AGAIN_MOST) {
            let end = diag.end(local, peer, true)?.filter(|end| end.may_send && end.may_hear);
            let Some((before, end)) = self.looks.get(&(local, peer)).zip(end) else {
                continue;
            };
            let (_, look) = look(&end, Some(before), &self.counting, &mut self.parts);
            self.looks.extend(look.map(|look| ((local, peer), look)));
        }
        Ok(())
    }

    fn places(&mut self, most: usize) -> io::Result<Places> {
        if self.draws > 0 {
            self.draws -= 1;
            if let Some(found) = self.draw(most)? {
                return Ok(found);
            }
        }
        self.list()
    }

    fn list(&mut self) -> io::Result<Places> {
        let mut found = match &mut self.tables {
            Tables::Sockets { netlink, filter, all, .. } => {
                self.all = all.number();
                tcp_table::arrived(netlink, filter)?
            }
            Tables::Text(namespace) => {
                let ends = arrived_text::read(*namespace, self.server.port())?;
                self.others.note(ends.len());
                return Ok(Places::of(ends.len(), ends.iter().map(|end| place(end, Last::Unknown, None))));
            }
        };
        found.retain(|each| !self.others.have(&ends(each)));
        self.others.note(found.iter().filter(|each| each.end.may_send && each.end.may_hear).count());
        self.counting.learn(found.iter().map(|each| &each.end));
        let stayed = found.iter().filter(|each| self.looks.contains_key(&ends(each))).count();
        let changed = 1.0 - stayed as f64 / self.looks.len().max(found.len()).max(1) as f64;
        self.draws = if changed <= CHANGED_MOST { READINGS_PER_LIST } else { 0 };
        let (looks, parts) = (&self.looks, &mut self.parts);
        let looked: Vec<_> =
            found.iter().map(|each| look(&each.end, looks.get(&ends(each)), &self.counting, parts)).collect();
        self.listed = found.iter().map(ends).collect();
        self.looks =
            self.listed.iter().zip(&looked).filter_map(|(&ends, &(_, look))| Some((ends, look?))).collect();
        Ok(Places::of(found.len(), looked.into_iter().map(|(place, _)| place)))
    }

    /// Returns `None` if the list is too old.
    fn draw(&mut self, most: usize) -> io::Result<Option<Places>> {
        let Tables::Sockets { diag, all, .. } = &mut self.tables else {
            return Ok(None);
        };
        let more = all.number().zip(self.all).map_or(0, |(now, listed)| now.saturating_sub(listed));
        if more as f64 > CHANGED_MOST * self.listed.len() as f64 {
            return Ok(None);
        }
        let (mut looked, mut gone) = (Vec::new(), 0);
        for asked in 0..most.min(self.listed.len()) {
            let drawn = self.random.random_range(asked..self.listed.len());
            self.listed.swap(asked, drawn);
            let (local, peer) = self.listed[asked];
            // After its end a connection is in the table for a while.
            let Some(end) = diag.end(local, peer, true)?.filter(|end| end.may_send && end.may_hear) else {
                gone += 1;
                continue;
            };
            let before = self.looks.get(&(local, peer));
            let (place, look) = look(&end, before, &self.counting, &mut self.parts);
            looked.push(place);
            self.looks.extend(look.map(|look| ((local, peer), look)));
        }
        let has_lasted = f64::from(gone) <= CHANGED_MOST * looked.len() as f64;
        Ok(has_lasted.then(|| Places::of(self.listed.len(), looked.into_iter())))
    }
}

/// Returns at which place a request is, and what is to be known of this look at the next one.
fn look(end: &End, before: Option<&Look>, counting: &Counting, parts: &mut Parts) -> (Place, Option<Look>) {
    let look = end.traffic.map(|traffic| Look::new(end, traffic, before));
    if let Some((before, now)) = before.zip(look.as_ref()) {
        parts.note(before, now);
    }
    let last = look.map_or(Last::Unknown, |look| look.last);
    (place(end, last, counting.answered(end)), look)
}

/// Returns at which address the listener is that takes connections to `server`: it may take those to all addresses, and a
/// client may reach it by another than is known here.
fn listening_at(server: SocketAddr, all: &[Listener]) -> Result<SocketAddr, String> {
    if listeners_at(server, all).is_empty() {
        return Err(format!(
            "not to be read here: nobody listens at {server} in the server's network namespace"
        ));
    }
    let is_exact = all.iter().any(|listener| listener.local == server);
    Ok(if is_exact { server } else { SocketAddr::new(IpAddr::from([0_u8; 4]), server.port()) })
}

fn full_queue(turned_away: u64) -> String {
    format!(
        "not to be read here: a full accept queue turned {turned_away} connections away, and at the server's end of its \
         connections nothing is seen of requests that wait for another try"
    )
}

fn ends(connection: &Connection) -> Ends {
    (connection.local, connection.peer)
}

fn not_here(error: &io::Error) -> String {
    format!("not to be read here: {error}")
}

impl Places {
    fn of(connections: usize, places: impl Iterator<Item = Place>) -> Self {
        let mut found = Self { connections: connections as u64, ..Self::default() };
        for place in places {
            found.looked_at += 1;
            *match place {
                Place::NotAccepted => &mut found.not_accepted,
                Place::Unsent => &mut found.unsent,
                Place::Unread => &mut found.unread,
                Place::Inside => &mut found.inside,
                Place::Returning => &mut found.returning,
                Place::Sent => &mut found.sent,
                Place::Untold => &mut found.untold,
                Place::Elsewhere => continue,
            } += 1;
        }
        found
    }
}
