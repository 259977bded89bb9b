//! A network whose peers behave as drawn, and which keeps the promises of the kernel's: it reports what changes, once
//! for each change, and hands out what has come. It watches what the engine does with what it got.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::rc::Rc;

use crumple_engine::board::Local;
use crumple_engine::net::{self, Network, Ready, Received};
use crumple_engine::outcome::{Fault, Reason};
use rustix::io::Errno;

use super::answers::{End, Reply, Whole, delay_ns};
use super::draws::Draws;

/// The duration of a turn of the loop that neither sleeps nor finds anything ready.
const TURN_NS: u64 = 5_000;
/// How long the engine takes to open a connection.
const OPEN_NS: u64 = 20_000;
/// An answer that has come is read after this time at the latest.
const READ_WITHIN_NS: u64 = 5_000_000;

/// What went over the network, for comparison with what the engine counted.
#[derive(Default)]
pub struct Seen {
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// Connections that were established, and those of them that are not closed.
    pub opened: u64,
    pub open: u64,
    /// Requests of which a byte was sent.
    pub asked: u64,
    /// Answers that are right in form and of which the engine has read all, and those made of drawn bytes.
    pub whole: u64,
    pub unknown: u64,
    /// Connections that were closed before the engine read a byte of the answer.
    pub unanswered: u64,
}

/// The token of a connection: the user, and the number of the attempt.
pub struct Socket(u64);

enum Event {
    Stands(Result<(), Errno>),
    Bytes(Vec<u8>),
    End(End),
    Room,
}

/// The peer's side of a user's present connection.
#[derive(Default)]
struct Peer {
    token: u64,
    stands: Option<Result<(), Errno>>,
    has_stood: bool,
    unread: Vec<u8>,
    came_ns: u64,
    end: Option<End>,
    /// How many bytes have to wait before the network reports them.
    low: usize,
    is_full: bool,
    /// Whether it was given a request of which it has taken no byte.
    has_refused: bool,
    /// The bytes of the present request that are still to be sent.
    left: usize,
    exchange: Option<Exchange>,
}

/// What is still to come of the answer to the present request.
struct Exchange {
    whole: Whole,
    /// The number of bytes that have not come, and of those that the engine has not read.
    to_come: usize,
    to_read: usize,
    is_untouched: bool,
}

pub struct Played {
    draws: Draws,
    now_ns: u64,
    peers: Vec<Peer>,
    /// By time, and by number for those at the same time.
    events: BTreeMap<(u64, u64), (u64, Event)>,
    number: u64,
    /// The sockets on which something changed that is not reported yet, each once.
    changed: Vec<u64>,
    /// Whether its sockets behave as those with TLS: they may keep bytes that `wait` does not report.
    is_tls: bool,
    seen: Rc<RefCell<Seen>>,
}

impl Played {
    pub fn new(mut draws: Draws, users: usize, now_ns: u64, seen: Rc<RefCell<Seen>>) -> Self {
        let is_tls = draws.rarely(3);
        let peers = (0..users).map(|_| Peer::default()).collect();
        let (events, changed) = (BTreeMap::new(), Vec::new());
        Self { draws, now_ns, peers, events, number: 0, changed, is_tls, seen }
    }

    fn peer(&mut self, token: u64) -> &mut Peer {
        let peer = &mut self.peers[token as u32 as usize];
        assert_eq!(peer.token, token, "a socket that is closed is not used");
        peer
    }

    fn after(&mut self, ns: u64, token: u64, event: Event) -> u64 {
        self.number += 1;
        self.events.insert((self.now_ns + ns, self.number), (token, event));
        ns
    }

    /// Lets what is due happen. It is reported by the next `wait`.
    fn happen(&mut self) {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= self.now_ns) {
            let at_ns = entry.key().0;
            let (token, event) = entry.remove();
            let peer = &mut self.peers[token as u32 as usize];
            if peer.token == token && peer.takes(event, at_ns) && !self.changed.contains(&token) {
                self.changed.push(token);
            }
        }
    }

    fn ready(&self, token: u64) -> Ready {
        let peer = &self.peers[token as u32 as usize];
        let has_failed = matches!(peer.stands, Some(Err(_)));
        Ready {
            token,
            read: peer.is_readable() || has_failed,
            write: !peer.is_full && peer.stands.is_some(),
            closed: peer.end.is_some() || has_failed,
        }
    }

    /// Begins the answer to a request, of which the first byte has come.
    fn answer(&mut self, token: u64) {
        let reply = Reply::draw(&mut self.draws);
        let bytes = reply.pieces.iter().map(|(_, bytes)| bytes.len()).sum();
        self.seen.borrow_mut().asked += 1;
        self.seen.borrow_mut().unknown += u64::from(reply.whole == Whole::Unknown);
        let exchange = Exchange { whole: reply.whole, to_come: bytes, to_read: bytes, is_untouched: true };
        let peer = self.peer(token);
        // What came without a request, and is not read yet, is taken for the beginning of the answer.
        let is_clean = peer.unread.is_empty();
        peer.exchange =
            Some(Exchange { whole: if is_clean { exchange.whole } else { Whole::Unknown }, ..exchange });
        self.seen.borrow_mut().unknown += u64::from(!is_clean);
        let mut at_ns = 0;
        for (after_ns, bytes) in reply.pieces {
            at_ns += after_ns;
            self.after(at_ns, token, Event::Bytes(bytes));
        }
        if let Some((after_ns, end)) = reply.end {
            self.after(at_ns + after_ns, token, Event::End(end));
        }
    }
}

impl Peer {
    fn is_readable(&self) -> bool {
        self.unread.len() >= self.low.max(1) || self.end.is_some()
    }

    /// Returns whether the network reports what happened.
    fn takes(&mut self, event: Event, at_ns: u64) -> bool {
        match event {
            Event::Stands(result) => {
                self.stands = Some(result);
                true
            }
            Event::Bytes(bytes) => {
                if self.end.is_some() {
                    return false;
                }
                if !bytes.is_empty() {
                    self.came_ns = at_ns;
                }
                if let Some(exchange) = &mut self.exchange {
                    exchange.to_come = exchange.to_come.saturating_sub(bytes.len());
                }
                self.unread.extend(bytes);
                self.is_readable()
            }
            Event::End(end) => {
                self.came_ns = at_ns;
                self.end.get_or_insert(end);
                true
            }
            Event::Room => std::mem::take(&mut self.is_full),
        }
    }

    /// Asserts that no answer that has come, and that is right in form, was left unread for long.
    fn assert_attended(&self, now_ns: u64) {
        let Some(exchange) = &self.exchange else {
            return;
        };
        let has_come = match exchange.whole {
            Whole::LastByte => exchange.to_come == 0 && exchange.to_read > 0,
            Whole::EndOfStream => exchange.to_come == 0 && self.end.is_some(),
            Whole::Never | Whole::Unknown => false,
        };
        let waited_ns = now_ns.saturating_sub(self.came_ns);
        assert!(!has_come || waited_ns <= READ_WITHIN_NS, "an answer lay unread for {waited_ns} ns");
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.peers.iter().for_each(|peer| peer.assert_attended(self.now_ns));
        }
    }
}

impl Network for Played {
    type Socket = Socket;

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn stamped_ns(&mut self, stamp: u64, possible_ns: RangeInclusive<u64>) -> Option<u64> {
        possible_ns.contains(&stamp).then_some(stamp)
    }

    fn wait(&mut self, ready: &mut Vec<Ready>, sleep_ns: u64) {
        let ends_ns = self.now_ns + sleep_ns.max(TURN_NS);
        loop {
            self.happen();
            let changed = std::mem::take(&mut self.changed);
            let is_open = |&token: &u64| self.peers[token as u32 as usize].token == token;
            let before = ready.len();
            ready.extend(changed.into_iter().filter(is_open).map(|token| self.ready(token)));
            if ready.len() > before {
                return;
            }
            let next_ns = self.events.first_key_value().map_or(u64::MAX, |(&(at_ns, _), _)| at_ns);
            self.now_ns = self.now_ns.max(next_ns.min(ends_ns));
            if next_ns > ends_ns {
                return;
            }
        }
    }

    fn connect(&mut self, token: u64) -> Result<Socket, Errno> {
        self.now_ns += OPEN_NS;
        let refusals =
            [Errno::AGAIN, Errno::ADDRNOTAVAIL, Errno::MFILE, Errno::NETUNREACH, Errno::CONNREFUSED];
        if self.draws.rarely(8) {
            return Err(self.draws.one_of(&refusals));
        }
        self.peers[token as u32 as usize] = Peer { token, ..Peer::default() };
        let failures =
            [Errno::CONNREFUSED, Errno::TIMEDOUT, Errno::CONNRESET, Errno::PROTO, Errno::CONNABORTED];
        let stands = if self.draws.rarely(8) { Err(self.draws.one_of(&failures)) } else { Ok(()) };
        let after_ns = delay_ns(&mut self.draws);
        let stands_ns = self.after(after_ns, token, Event::Stands(stands));
        if self.draws.rarely(12) {
            let greeting = self.draws.raw();
            self.after(stands_ns, token, Event::Bytes(greeting));
        }
        Ok(Socket(token))
    }

    fn stands(&mut self, socket: &mut Socket) -> Result<bool, Errno> {
        let stands = self.peer(socket.0).stands.unwrap_or(Err(Errno::NOTCONN));
        if self.is_tls && self.draws.rarely(4) {
            self.after(OPEN_NS, socket.0, Event::Stands(stands)); // Another part of the handshake.
            return Ok(false);
        }
        stands?;
        self.peer(socket.0).has_stood = true;
        let mut seen = self.seen.borrow_mut();
        seen.opened += 1;
        seen.open += 1;
        Ok(true)
    }

    fn send(&mut self, socket: &mut Socket, bytes: &[u8]) -> Result<usize, Errno> {
        let token = socket.0;
        self.happen();
        let how = self.draws.below(16);
        let place = if how == 12 { self.draws.place(bytes.len()) } else { bytes.len() };
        let peer = self.peer(token);
        peer.has_refused |= peer.left == 0;
        let taken = match (peer.end, how) {
            (Some(End::Reset), _) => return Err(Errno::CONNRESET),
            (Some(End::Closed), 0..8) => return Err(Errno::PIPE),
            (Some(End::Broken), _) => return Err(Errno::PROTO),
            (_, 14) => return Err(Errno::INTR),
            _ if peer.is_full => return Err(Errno::AGAIN),
            (_, 13) => 0,
            _ => place,
        };
        peer.is_full = taken < bytes.len();
        let is_first = peer.left == 0 && taken > 0;
        if taken > 0 {
            peer.has_refused = false;
            peer.left = bytes.len() - taken;
        }
        if peer.is_full {
            let after_ns = delay_ns(&mut self.draws);
            self.after(after_ns, token, Event::Room);
        }
        self.seen.borrow_mut().sent_bytes += taken as u64;
        if is_first {
            self.answer(token);
        }
        if taken == 0 { Err(Errno::AGAIN) } else { Ok(taken) }
    }

    fn flush(&mut self, socket: &mut Socket) -> Result<bool, Errno> {
        if !self.is_tls || !self.draws.rarely(6) {
            return Ok(true);
        }
        self.peer(socket.0).is_full = true;
        self.after(OPEN_NS, socket.0, Event::Room);
        Ok(false)
    }

    fn receive(&mut self, socket: &mut Socket, buffer: &mut [u8]) -> Result<Received, Errno> {
        self.happen();
        if self.draws.rarely(16) {
            return Err(Errno::INTR);
        }
        let most = if self.is_tls { buffer.len() / 2 } else { buffer.len() };
        // A socket with TLS hands out a record at a time.
        let most = if self.is_tls && self.draws.rarely(3) { most.min(7) } else { most };
        let peer = self.peer(socket.0);
        let bytes = peer.unread.len().min(most);
        let is_whole = |exchange: &Exchange, whole| exchange.whole == whole;
        if bytes == 0 {
            let is_ended = peer
                .exchange
                .as_ref()
                .is_some_and(|exchange| is_whole(exchange, Whole::EndOfStream) && exchange.to_read == 0);
            return match peer.end {
                None => Err(Errno::AGAIN),
                Some(End::Reset) => Err(Errno::CONNRESET),
                Some(End::Broken) => Err(Errno::PROTO),
                Some(End::Closed) => {
                    if is_ended {
                        peer.exchange = None;
                        self.seen.borrow_mut().whole += 1;
                    }
                    Ok(Received { bytes: 0, stamp: 0 })
                }
            };
        }
        let rest = peer.unread.split_off(bytes);
        buffer[..bytes].copy_from_slice(&std::mem::replace(&mut peer.unread, rest));
        let stamp = peer.came_ns;
        let mut is_read = false;
        if let Some(exchange) = &mut peer.exchange {
            exchange.is_untouched = false;
            exchange.to_read = exchange.to_read.saturating_sub(bytes);
            is_read = exchange.to_read == 0 && is_whole(exchange, Whole::LastByte) && peer.unread.is_empty();
        }
        if is_read {
            peer.exchange = None;
        }
        let mut seen = self.seen.borrow_mut();
        seen.whole += u64::from(is_read);
        seen.received_bytes += bytes as u64;
        Ok(Received { bytes, stamp: if self.draws.rarely(8) { 0 } else { stamp } })
    }

    fn discards(&self, _socket: &Socket) -> bool {
        !self.is_tls
    }

    fn discard(&mut self, socket: &mut Socket, buffer: &mut [u8]) -> Result<Received, Errno> {
        self.receive(socket, buffer)
    }

    fn wake_at(&mut self, socket: &mut Socket, bytes: usize) {
        let peer = self.peer(socket.0);
        peer.low = bytes;
        // The kernel looks at once whether as much waits (`tcp_set_rcvlowat`).
        if !peer.unread.is_empty() && peer.is_readable() {
            self.after(0, socket.0, Event::Bytes(Vec::new()));
        }
    }

    fn has_more_at_hand(&self, socket: &Socket) -> bool {
        let peer = &self.peers[socket.0 as u32 as usize];
        self.is_tls && (!peer.unread.is_empty() || peer.end.is_some())
    }

    fn is_cut(&self, _socket: &Socket) -> bool {
        false
    }

    fn end(&self, socket: &Socket) -> net::End {
        let ago_ns = self.now_ns.saturating_sub(self.peers[socket.0 as u32 as usize].came_ns);
        net::End { ago_ns, round_trip_ns: 0 }
    }

    fn connecting(&self, _socket: &Socket) -> Reason {
        Reason::Connecting
    }

    fn why(&self, _socket: &Socket) -> Option<Fault> {
        None
    }

    fn local(&self, _socket: &Socket) -> Option<Local> {
        None
    }

    fn close(&mut self, socket: Socket) {
        let now_ns = self.now_ns;
        let peer = std::mem::take(self.peer(socket.0));
        peer.assert_attended(now_ns);
        let is_unanswered = peer.has_refused || peer.exchange.is_some_and(|exchange| exchange.is_untouched);
        let mut seen = self.seen.borrow_mut();
        seen.unanswered += u64::from(is_unanswered);
        seen.open -= u64::from(peer.has_stood);
    }
}
