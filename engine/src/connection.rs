//! One socket's state machine: connect, send, receive. It knows nothing of schedules and keeps no
//! statistics; every call answers whether the request in hand has ended, and how.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll;
use rustix::io::Errno;

use crate::clock::now_ns;
use crate::http::answer::{Answer, Expectation, Progress};
use crate::http::head::HeadMemo;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::record::NotSent;
use crate::socket::{self, Received};
use crate::stream::Stream;
use crate::tls::Resumable;

/// Buffers that are read from one connection before the others have their turn.
const READS_AT_ONCE: usize = 4;
const INTEREST: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

/// What all connections of a thread share while they exchange.
pub struct Wire<'a> {
    pub plan: &'a Plan,
    pub epoll: OwnedFd,
    pub buffer: Box<[u8]>,
    /// The last head of each kind of request.
    pub memos: Vec<HeadMemo>,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub not_sent: NotSent,
    /// Why TLS failed, the first time.
    pub tls_fault: Option<String>,
    /// Sockets opened so far, by which the next one's local address is chosen.
    pub opened: usize,
}

impl<'a> Wire<'a> {
    pub fn new(plan: &'a Plan, epoll: OwnedFd, buffer_bytes: usize) -> Self {
        Self {
            plan,
            epoll,
            buffer: vec![0; buffer_bytes].into_boxed_slice(),
            memos: plan.requests.iter().map(|_| HeadMemo::default()).collect(),
            received_bytes: 0,
            sent_bytes: 0,
            not_sent: NotSent::default(),
            tls_fault: None,
            opened: 0,
        }
    }
}

/// What a call brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing has ended; the kernel will report when there is more to do.
    Pending,
    /// The connection stands; the request in hand may be sent.
    Connected,
    /// The request in hand has ended.
    Ended(Outcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No request in hand; the socket, if any, is at rest.
    Idle,
    Connecting,
    /// Connected, and agreeing on keys.
    Shaking,
    /// So many bytes of the request are sent.
    Sending(u32),
    Receiving,
}

/// When a piece of the answer came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// By the kernel's stamp; 0 = none.
    pub stamp_unix_ns: u64,
    /// By the engine's own clock, where the answer went on after this piece; 0 = it was the last.
    pub seen_ns: u64,
}

pub struct Connection {
    stream: Stream,
    stage: Stage,
    /// What epoll reports for this socket.
    token: u64,
    /// Requests answered on the present socket.
    pub served: u32,
    /// Which of the plan's requests is in hand.
    kind: u16,
    /// Its bytes, where they are its own and not those of its kind.
    own: Vec<u8>,
    answer: Answer,
    first: Arrival,
    last_stamp_unix_ns: u64,
    /// The TLS session before this one.
    resumable: Resumable,
}

impl Connection {
    pub fn new() -> Self {
        Self {
            stream: Stream::None,
            stage: Stage::Idle,
            token: 0,
            served: 0,
            kind: 0,
            own: Vec::new(),
            answer: Answer::default(),
            first: Arrival::default(),
            last_stamp_unix_ns: 0,
            resumable: Resumable::default(),
        }
    }

    pub fn is_open(&self) -> bool {
        self.has_socket() && !self.is_connecting()
    }

    pub fn is_connecting(&self) -> bool {
        matches!(self.stage, Stage::Connecting | Stage::Shaking)
    }

    pub fn has_socket(&self) -> bool {
        self.stream.socket().is_some()
    }

    /// Whether the answer in hand is hashed in full.
    pub fn is_hashed(&self) -> bool {
        self.answer.is_hashed()
    }

    /// Whether not a byte of the answer in hand has come.
    pub fn is_unanswered(&self) -> bool {
        self.answer.is_untouched()
    }

    /// When the first piece of the answer came, and when the last did by the kernel's stamp (0 = none).
    #[inline]
    pub fn arrivals(&self) -> (Arrival, u64) {
        (self.first, self.last_stamp_unix_ns)
    }

    /// Begins to connect. `token` is what epoll will report for this socket.
    pub fn connect(&mut self, wire: &mut Wire, token: u64) -> Step {
        self.served = 0;
        self.token = token;
        match open(wire, token) {
            Ok(socket) => {
                self.stream = match &wire.plan.tls {
                    Some(tls) => Stream::Tls(socket, Box::new(tls.session(&mut self.resumable))),
                    None => Stream::Plain(socket),
                };
                self.stage = Stage::Connecting;
                Step::Pending
            }
            Err(errno) => Step::Ended(connect_outcome(errno, &mut wire.not_sent)),
        }
    }

    /// Takes a request of kind `kind` in hand; `own`: its bytes where they are not those of its kind.
    /// `hash` says whether its answer is of the sample that is hashed.
    #[inline]
    pub fn prepare(&mut self, kind: u16, own: Option<&[u8]>, hash: bool) {
        self.kind = kind;
        if let Some(own) = own {
            self.own.clear();
            self.own.extend_from_slice(own);
        }
        self.begin(hash);
    }

    /// Takes the same request in hand again.
    pub fn prepare_again(&mut self) {
        self.begin(self.answer.is_hashed());
    }

    #[inline]
    fn begin(&mut self, hash: bool) {
        self.answer.begin(hash);
        self.first = Arrival::default();
        self.last_stamp_unix_ns = 0;
    }

    /// Sends the request over the open socket.
    #[inline]
    pub fn send(&mut self, wire: &mut Wire) -> Step {
        self.stage = Stage::Sending(0);
        self.go_on_sending(wire)
    }

    /// Acts on what epoll reported.
    #[inline]
    pub fn advance(&mut self, ready: epoll::EventFlags, wire: &mut Wire) -> Step {
        const BROKEN: epoll::EventFlags =
            epoll::EventFlags::RDHUP.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);
        match self.stage {
            Stage::Receiving => self.receive(ready.intersects(BROKEN), wire),
            Stage::Connecting => self.finish_connecting(ready, wire),
            Stage::Shaking => self.shake(wire),
            Stage::Sending(_) if ready.contains(epoll::EventFlags::OUT) => self.go_on_sending(wire),
            // Cut off while sending: an answer may be there all the same (413, say).
            Stage::Sending(_) if ready.intersects(BROKEN) => self.receive(true, wire),
            Stage::Sending(_) => Step::Pending,
            Stage::Idle => {
                // The server gave up an idle connection, which is its right, or said what nobody asked for
                // and what the next answer must not be taken for.
                if ready.intersects(BROKEN) || self.has_unasked_bytes(wire) {
                    self.close();
                }
                Step::Pending
            }
        }
    }

    /// Gives up the request in hand and the socket with it.
    pub fn close(&mut self) {
        self.stream.close();
        self.stage = Stage::Idle;
    }

    #[cold]
    fn finish_connecting(&mut self, ready: epoll::EventFlags, wire: &mut Wire) -> Step {
        if !ready.intersects(epoll::EventFlags::OUT | epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
            return Step::Pending;
        }
        let Some(socket) = self.stream.socket() else {
            return Step::Pending;
        };
        match socket::connected(socket) {
            Ok(()) if matches!(self.stream, Stream::Tls(..)) => {
                self.stage = Stage::Shaking;
                self.shake(wire)
            }
            Ok(()) => self.stand(),
            Err(errno) => self.fail(connect_outcome(errno, &mut wire.not_sent)),
        }
    }

    #[cold]
    fn shake(&mut self, wire: &mut Wire) -> Step {
        let Stream::Tls(socket, session) = &mut self.stream else {
            return Step::Pending;
        };
        match session.shake(socket.as_fd()) {
            Ok(true) => self.stand(),
            Ok(false) | Err(Errno::AGAIN) => Step::Pending,
            Err(Errno::PROTO) => {
                if wire.tls_fault.is_none() {
                    wire.tls_fault = session.why();
                }
                self.fail(Outcome::Malformed)
            }
            Err(Errno::CONNABORTED) => self.fail(Outcome::ClosedEarly),
            Err(_) => self.fail(Outcome::Reset),
        }
    }

    fn stand(&mut self) -> Step {
        self.stage = Stage::Idle;
        Step::Connected
    }

    #[inline]
    fn go_on_sending(&mut self, wire: &mut Wire) -> Step {
        let Stage::Sending(sent) = self.stage else {
            return Step::Pending;
        };
        let mut sent = sent as usize;
        let fixed = wire.plan.requests[usize::from(self.kind)].message.fixed();
        let bytes = fixed.unwrap_or(&self.own);
        while sent < bytes.len() {
            match self.stream.send(&bytes[sent..]) {
                Ok(taken) => {
                    sent += taken;
                    wire.sent_bytes += taken as u64;
                }
                Err(Errno::AGAIN) => {
                    self.stage = Stage::Sending(sent as u32);
                    return Step::Pending;
                }
                Err(Errno::INTR) => {}
                Err(_) => return self.fail(Outcome::Reset),
            }
        }
        match self.stream.flush() {
            Ok(true) => self.stage = Stage::Receiving,
            Ok(false) | Err(Errno::AGAIN) => self.stage = Stage::Sending(sent as u32),
            Err(_) => return self.fail(Outcome::Reset),
        }
        Step::Pending
    }

    fn has_unasked_bytes(&mut self, wire: &mut Wire) -> bool {
        let read = self.stream.receive(&mut wire.buffer, wire.plan.stamped);
        wire.received_bytes += read.map_or(0, |received| received.bytes as u64);
        read != Err(Errno::AGAIN) && read != Err(Errno::INTR)
    }

    /// Reads once; again only where the buffer was filled, or where the peer has closed and what it
    /// sent before must be told from its end. Edge-triggered epoll reports anything that comes later.
    #[inline]
    fn receive(&mut self, to_the_end: bool, wire: &mut Wire) -> Step {
        let kind = usize::from(self.kind);
        for _ in 0..READS_AT_ONCE {
            match self.stream.receive(&mut wire.buffer, wire.plan.stamped) {
                Ok(Received { bytes: 0, .. }) => return self.end_of_stream(wire),
                Ok(Received { bytes, stamp_unix_ns }) => {
                    wire.received_bytes += bytes as u64;
                    let is_first = self.answer.is_untouched() && self.first.seen_ns == 0;
                    self.last_stamp_unix_ns = stamp_unix_ns;
                    let expect = &wire.plan.requests[kind].expect;
                    match self.answer.feed(&wire.buffer[..bytes], expect, &mut wire.memos[kind]) {
                        Ok(Progress::Whole { excess: 0 }) => {
                            if is_first {
                                self.first = Arrival { stamp_unix_ns, seen_ns: 0 };
                            }
                            return self.whole(to_the_end, expect);
                        }
                        Ok(Progress::Whole { .. }) | Err(_) => return self.fail(Outcome::Malformed),
                        Ok(Progress::More) => {
                            if is_first {
                                self.first = Arrival { stamp_unix_ns, seen_ns: now_ns() };
                            }
                            if !(bytes == wire.buffer.len() || to_the_end || self.stream.has_more_at_hand()) {
                                return Step::Pending;
                            }
                        }
                    }
                }
                Err(Errno::AGAIN) => return Step::Pending,
                Err(Errno::INTR) => {}
                Err(Errno::PROTO) => return self.fail(Outcome::Malformed),
                Err(_) => return self.fail(Outcome::Reset),
            }
        }
        self.ask_again(wire)
    }

    /// Makes epoll report once more what it has reported: a peer that sends without end must keep
    /// neither the other connections nor the clock from being looked at.
    #[cold]
    fn ask_again(&mut self, wire: &Wire) -> Step {
        if let Some(socket) = self.stream.socket() {
            let data = epoll::EventData::new_u64(self.token);
            if epoll::modify(&wire.epoll, socket, data, INTEREST).is_err() {
                return self.fail(Outcome::Reset); // Not for a socket that is registered.
            }
        }
        Step::Pending
    }

    #[inline]
    fn whole(&mut self, closing: bool, expect: &Expectation) -> Step {
        self.served += 1;
        self.stage = Stage::Idle;
        let outcome = self.answer.outcome(expect);
        if closing || !self.answer.keeps_alive() {
            self.close();
        }
        Step::Ended(outcome)
    }

    fn end_of_stream(&mut self, wire: &Wire) -> Step {
        if !self.stream.is_cut() && self.answer.end_of_stream() {
            return self.whole(true, &wire.plan.requests[usize::from(self.kind)].expect);
        }
        self.fail(Outcome::ClosedEarly)
    }

    fn fail(&mut self, outcome: Outcome) -> Step {
        self.close();
        Step::Ended(outcome)
    }
}

impl Default for Connection {
    fn default() -> Self {
        Self::new()
    }
}

/// A socket that is being connected and watched. One registration for its whole life: with edges,
/// readiness to send costs nothing while nobody waits for it.
fn open(wire: &mut Wire, token: u64) -> Result<OwnedFd, Errno> {
    let sources = &wire.plan.sources;
    let source = (!sources.is_empty()).then(|| sources[wire.opened % sources.len()]);
    let socket = wire.plan.address.connect(source, wire.plan.stamped)?;
    wire.opened += 1;
    epoll::add(&wire.epoll, &socket, epoll::EventData::new_u64(token), INTEREST)?;
    Ok(socket)
}

/// How a failed attempt to connect counts. Running out of ports or descriptors is this side's
/// fault: such a request was never sent.
fn connect_outcome(errno: Errno, not_sent: &mut NotSent) -> Outcome {
    let cause = match errno {
        Errno::ADDRNOTAVAIL => &mut not_sent.ports,
        Errno::MFILE | Errno::NFILE => &mut not_sent.descriptors,
        Errno::NOBUFS | Errno::NOMEM => &mut not_sent.memory,
        Errno::TIMEDOUT => return Outcome::ConnectTimeout,
        Errno::CONNRESET | Errno::PIPE => return Outcome::Reset,
        _ => return Outcome::Refused,
    };
    *cause += 1;
    Outcome::NotSent
}
