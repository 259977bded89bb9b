//! The state machine of one connection: connect, send, receive. It has no schedule and keeps no statistics. Every
//! call returns whether the request in flight has ended, and how.

mod failing;
mod receiving;
mod sending;

use rustix::io::Errno;

use crate::board::Local;
use crate::http::answer::{Answer, Kept};
use crate::http::head::HeadMemo;
use crate::http::request::Request;
use crate::net::{Network, Ready};
use crate::outcome::{Outcome, Reason};
use crate::plan::Plan;
use crate::record::NotSentReason;

/// What all connections of a thread share.
pub struct Wire<'a, N> {
    pub plan: &'a Plan,
    pub net: N,
    pub buffer: Box<[u8]>,
    /// The last head, for each kind of request.
    pub memos: Box<[HeadMemo]>,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// The number of established connections.
    pub open: u64,
    /// The number of connections that the server ended.
    pub closed_by_server: u64,
    /// Why TLS failed the first time.
    pub tls_fault: Option<String>,
}

impl<'a, N: Network> Wire<'a, N> {
    pub fn new(plan: &'a Plan, net: N, buffer_bytes: usize) -> Self {
        let keep_all = plan.keeps_all_examples;
        let memo = |_: &Request| {
            let mut memo = HeadMemo::default();
            memo.keep.all = keep_all;
            memo
        };
        Self {
            plan,
            net,
            buffer: vec![0; buffer_bytes].into_boxed_slice(),
            memos: plan.requests.iter().map(memo).collect(),
            received_bytes: 0,
            sent_bytes: 0,
            open: 0,
            closed_by_server: 0,
            tls_fault: None,
        }
    }
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing has ended. The network will report when there is more to do.
    Pending,
    /// The connection is established. The request in hand may be sent.
    Connected,
    /// There is more to read than one turn allows, and the network will not report it again.
    Unread,
    /// The server's backlog is full. The caller is to connect again soon.
    Again,
    /// The request in flight has ended.
    Ended(Outcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No request in flight; the socket, if any, is idle.
    Idle,
    Connecting,
    /// The request is not sent in full.
    Sending,
    Receiving,
}

/// When a piece of the answer came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// The network's stamp, or 0 if it gave none. If nothing is stamped, the time on the engine's own clock.
    pub stamp: u64,
    /// The time on the engine's own clock, or 0 if this was the last piece of the answer.
    pub seen_ns: u64,
}

/// When a connection ended, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ended {
    pub at_ns: u64,
    pub round_trip_ns: u64,
}

pub struct Connection<S> {
    socket: Option<S>,
    answer: Answer,
    first: Arrival,
    last_stamp: u64,
    /// The number of the attempt to connect. A report with another number is about an earlier socket.
    attempt: u32,
    /// The index of the request in hand among the plan's requests.
    kind: u16,
    stage: Stage,
    /// Whether no answer has come over the present socket yet.
    is_fresh: bool,
    /// Whether the network was told to wait for a piece of the answer.
    waits_for_piece: bool,
    /// Why the request in hand was not sent, if that is how it ended.
    not_sent: NotSentReason,
    /// Why the request in hand failed, if it did.
    reason: Option<Reason>,
    more: Option<Box<More>>,
}

/// State that only some requests need.
#[derive(Default)]
struct More {
    /// The request's bytes, if they are not those of its kind. All of them are kept while they may have to be sent
    /// again, otherwise only the first of them, for an example.
    request: Vec<u8>,
    /// The number of these bytes that are sent.
    sent: usize,
    /// How the last socket ended that the server reset, or closed early.
    ended: Ended,
}

impl<S> Connection<S> {
    pub fn new() -> Self {
        Self {
            socket: None,
            answer: Answer::default(),
            first: Arrival::default(),
            last_stamp: 0,
            attempt: 0,
            kind: 0,
            stage: Stage::Idle,
            is_fresh: true,
            waits_for_piece: false,
            not_sent: NotSentReason::TooLate,
            reason: None,
            more: None,
        }
    }

    pub fn is_connecting(&self) -> bool {
        self.stage == Stage::Connecting
    }

    pub fn has_socket(&self) -> bool {
        self.socket.is_some()
    }

    /// Returns whether no answer has come over the present socket.
    pub fn is_fresh(&self) -> bool {
        self.is_fresh || self.socket.is_none()
    }

    pub fn kind(&self) -> u16 {
        self.kind
    }

    /// Returns whether the answer in hand is hashed in full.
    pub fn is_hashed(&self) -> bool {
        self.answer.is_hashed()
    }

    /// Returns whether no byte of the answer in hand has come.
    pub fn is_unanswered(&self) -> bool {
        self.answer.is_untouched()
    }

    /// Returns when the server reset the last socket, or closed it early; `None` if it never did.
    pub fn ended(&self) -> Option<Ended> {
        Some(self.more.as_ref()?.ended)
    }

    /// Returns why the request in hand was not sent. It must have ended so.
    pub fn why_not_sent(&self) -> NotSentReason {
        self.not_sent
    }

    /// Returns why the request in hand failed, or `None` if a whole answer came, or it was not sent.
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// Returns the status of the answer in hand, or `None` if no whole head has come.
    pub fn status(&self) -> Option<u16> {
        self.answer.status()
    }

    /// Returns whether the beginning of the answer in hand is kept for an example.
    pub fn is_kept(&self) -> bool {
        self.answer.is_kept()
    }

    /// Takes the beginning of the answer in hand, as far as it was kept.
    pub fn take_kept(&mut self) -> Kept {
        self.answer.take_kept()
    }

    /// Returns when the first piece of the answer came, and the network's stamp of the last piece (0 = none).
    #[inline]
    pub fn arrivals(&self) -> (Arrival, u64) {
        (self.first, self.last_stamp)
    }

    /// Returns the local end of the present socket; `None` if it has none, or no port.
    pub fn local<N: Network<Socket = S>>(&self, wire: &Wire<N>) -> Option<Local> {
        wire.net.local(self.socket.as_ref()?)
    }

    /// Returns the token of the present socket of user `index`.
    pub fn token(&self, index: u32) -> u64 {
        u64::from(self.attempt) << 32 | u64::from(index)
    }

    /// Returns whether a report with `token` is about the present socket of this user.
    #[inline]
    pub fn is_named_by(&self, token: u64) -> bool {
        (token >> 32) as u32 == self.attempt
    }

    /// Takes a request of kind `kind` in hand. `own` is its bytes if they are not those of its kind. All of them are
    /// kept if `may_repeat` says that the request may have to be sent again. `hash` says whether its answer is in the
    /// sample that is hashed.
    #[inline]
    pub fn prepare(&mut self, kind: u16, own: Option<&[u8]>, may_repeat: bool, hash: bool) {
        self.kind = kind;
        if let Some(own) = own {
            self.keep_request(own, may_repeat || self.socket.is_none());
        }
        self.begin(hash);
    }

    /// Takes the present request in hand again.
    pub fn prepare_again(&mut self) {
        self.begin(self.answer.is_hashed());
    }

    #[inline]
    fn begin(&mut self, hash: bool) {
        self.answer.begin(hash);
        self.first = Arrival::default();
        self.last_stamp = 0;
        self.reason = None;
    }

    /// Begins to connect user `index`.
    #[cold]
    pub fn connect<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>, index: u32) -> Step {
        self.attempt = self.attempt.wrapping_add(1);
        self.is_fresh = true;
        self.waits_for_piece = false;
        match wire.net.connect(self.token(index)) {
            Ok(socket) => {
                self.socket = Some(socket);
                self.stage = Stage::Connecting;
                Step::Pending
            }
            Err(Errno::AGAIN) => Step::Again,
            Err(errno) => Step::Ended(self.not_begun(errno)),
        }
    }

    /// Acts on what the network reported.
    #[inline]
    pub fn advance<N: Network<Socket = S>>(&mut self, ready: Ready, wire: &mut Wire<N>) -> Step {
        match self.stage {
            Stage::Receiving => self.receive(ready.closed, wire),
            Stage::Connecting => self.finish_connecting(ready, wire),
            Stage::Sending => self.advance_sending(ready, wire),
            Stage::Idle => {
                self.look_after_idle(ready, wire);
                Step::Pending
            }
        }
    }

    /// Gives up the request in flight and closes the socket.
    pub fn close<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) {
        if let Some(socket) = self.socket.take() {
            wire.open -= u64::from(self.stage != Stage::Connecting);
            wire.net.close(socket);
        }
        self.stage = Stage::Idle;
    }

    fn closed_by_server<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) {
        wire.closed_by_server += 1;
        self.close(wire);
    }

    #[cold]
    fn finish_connecting<N: Network<Socket = S>>(&mut self, ready: Ready, wire: &mut Wire<N>) -> Step {
        let Some(socket) = self.socket.as_mut().filter(|_| ready.write || ready.read) else {
            return Step::Pending;
        };
        match wire.net.stands(socket) {
            Ok(true) => {
                self.stage = Stage::Idle;
                wire.open += 1;
                Step::Connected
            }
            Ok(false) => Step::Pending,
            Err(errno) => {
                let place = wire.net.connecting(socket);
                self.keep_fault(wire);
                let outcome = self.not_connected(errno, place);
                self.fail(outcome, wire)
            }
        }
    }
}

impl<S> Default for Connection<S> {
    fn default() -> Self {
        Self::new()
    }
}
