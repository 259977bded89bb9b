//! One connection's state machine: connect, send, receive. It knows nothing of schedules and keeps no
//! statistics; every call answers whether the request in flight has ended, and how.

use rustix::io::Errno;

use crate::http::answer::{Answer, Expectation, Kept, Progress};
use crate::http::head::HeadMemo;
use crate::net::{Network, Ready, Received};
use crate::outcome::Outcome;
use crate::plan::{Plan, Request};
use crate::record::NotSentReason;

/// Reads from one connection before the others have their turn. A full buffer that is looked at ends it sooner: to
/// parse and hash one takes as long as to serve some hundred other answers.
const READS_AT_ONCE: usize = 8;
/// Read at once where the body is long, so that little more than the head is copied.
const HEAD_READ_BYTES: usize = 2 * 1024;
/// A rest of a body that nobody looks at is not copied, if it is as long as that.
const DISCARD_FROM_BYTES: u64 = 8 * 1024;
/// Where so much of it is still to come, it is waited for in pieces of this size at most. Less would wake us more
/// often than there is something to do; more would not fit in the kernel's buffer (bench/experiments.md).
const LONG_REST_BYTES: u64 = 64 * 1024;
const PIECE_BYTES: u64 = 512 * 1024;
/// Of a request whose bytes are its own, what an example shows.
const KEPT_REQUEST_BYTES: usize = 4 * 1024;

/// What all connections of a thread share while they exchange.
pub struct Wire<'a, N> {
    pub plan: &'a Plan,
    pub net: N,
    pub buffer: Box<[u8]>,
    /// The last head of each kind of request.
    pub memos: Box<[HeadMemo]>,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// Connections that stand.
    pub open: u64,
    /// Connections that the server ended.
    pub closed_by_server: u64,
    /// Why the last request that ended as `not-sent` was not.
    pub not_sent: NotSentReason,
    /// Why TLS failed, the first time.
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
            not_sent: NotSentReason::TooLate,
            tls_fault: None,
        }
    }
}

/// What a call brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing has ended; the network will report when there is more to do.
    Pending,
    /// The connection stands; the request in hand may be sent.
    Connected,
    /// There is more to read than one turn allows, and the network tells no more of it.
    Unread,
    /// The server's backlog is full; to be connected again soon.
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
    /// By the network's stamp; 0 = none. Where nothing is stamped, by the engine's own clock.
    pub stamp: u64,
    /// By the engine's own clock, where the answer went on after this piece; 0 = it was the last.
    pub seen_ns: u64,
}

pub struct Connection<S> {
    socket: Option<S>,
    answer: Answer,
    first: Arrival,
    last_stamp: u64,
    /// Which attempt to connect this is: reports about an earlier socket are not for the present one.
    attempt: u32,
    /// Which of the plan's requests is in hand.
    kind: u16,
    stage: Stage,
    /// No answer came over the present socket yet.
    is_fresh: bool,
    /// The network is to wait for a piece of the answer.
    waits_for_piece: bool,
    more: Option<Box<More>>,
}

/// What only some requests need.
#[derive(Default)]
struct More {
    /// The request's bytes, where they are its own and not those of its kind: all while they may have to be sent
    /// again, the first of them for an example.
    request: Vec<u8>,
    /// How many bytes of it are sent.
    sent: usize,
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
            more: None,
        }
    }

    pub fn is_connecting(&self) -> bool {
        self.stage == Stage::Connecting
    }

    pub fn has_socket(&self) -> bool {
        self.socket.is_some()
    }

    /// Whether no answer has come over the present socket.
    pub fn is_fresh(&self) -> bool {
        self.is_fresh || self.socket.is_none()
    }

    pub fn kind(&self) -> u16 {
        self.kind
    }

    /// Whether the answer in hand is hashed in full.
    pub fn is_hashed(&self) -> bool {
        self.answer.is_hashed()
    }

    /// Whether not a byte of the answer in hand has come.
    pub fn is_unanswered(&self) -> bool {
        self.answer.is_untouched()
    }

    /// Status of the answer in hand; `None` where no whole head has come.
    pub fn status(&self) -> Option<u16> {
        self.answer.status()
    }

    /// Whether the beginning of the answer in hand is kept for an example.
    pub fn is_kept(&self) -> bool {
        self.answer.is_kept()
    }

    /// The beginning of the answer in hand, as far as it was kept.
    pub fn take_kept(&mut self) -> Kept {
        self.answer.take_kept()
    }

    /// When the first piece of the answer came, and when the last did by the network's stamp (0 = none).
    #[inline]
    pub fn arrivals(&self) -> (Arrival, u64) {
        (self.first, self.last_stamp)
    }

    /// What names the present socket of user `index`.
    pub fn token(&self, index: u32) -> u64 {
        u64::from(self.attempt) << 32 | u64::from(index)
    }

    /// Whether a report with `token` is about the present socket of user `index`.
    #[inline]
    pub fn is_named_by(&self, token: u64) -> bool {
        (token >> 32) as u32 == self.attempt
    }

    /// Takes a request of kind `kind` in hand. `own`: its bytes where they are not those of its kind; they are kept
    /// whole where `may_repeat` says that it may have to be sent again. `hash` says whether its answer is of the
    /// sample that is hashed.
    #[inline]
    pub fn prepare(&mut self, kind: u16, own: Option<&[u8]>, may_repeat: bool, hash: bool) {
        self.kind = kind;
        if let Some(own) = own {
            self.keep_request(own, may_repeat || self.socket.is_none());
        }
        self.begin(hash);
    }

    fn keep_request(&mut self, own: &[u8], whole: bool) {
        let more = self.more.get_or_insert_default();
        more.request.clear();
        if more.request.capacity() > KEPT_REQUEST_BYTES {
            more.request = Vec::new(); // One long request must not hold its memory for ever.
        }
        let kept = if whole { own.len() } else { own.len().min(KEPT_REQUEST_BYTES) };
        more.request.extend_from_slice(&own[..kept]);
    }

    /// Takes the same request in hand again.
    pub fn prepare_again(&mut self) {
        self.begin(self.answer.is_hashed());
    }

    #[inline]
    fn begin(&mut self, hash: bool) {
        self.answer.begin(hash);
        self.first = Arrival::default();
        self.last_stamp = 0;
    }

    /// The request in hand as it was sent, or the beginning of it.
    pub fn request<'b>(&'b self, plan: &'b Plan) -> &'b [u8] {
        let bytes = match (plan.requests[usize::from(self.kind)].message.fixed(), &self.more) {
            (Some(fixed), _) => fixed,
            (None, Some(more)) => &more.request,
            (None, None) => &[],
        };
        &bytes[..bytes.len().min(KEPT_REQUEST_BYTES)]
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
            Err(errno) => Step::Ended(not_connected(errno, &mut wire.not_sent)),
        }
    }

    /// Sends the request in hand over the socket that stands. `own`: its bytes where they are not those of its
    /// kind; `None` where they were kept.
    #[inline]
    pub fn send<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>, own: Option<&[u8]>) -> Step {
        let fixed = wire.plan.requests[usize::from(self.kind)].message.fixed();
        let kept = || self.more.as_ref().map_or(&[][..], |more| &more.request);
        let bytes = fixed.or(own).unwrap_or_else(kept);
        let Some(socket) = &mut self.socket else {
            return Step::Pending;
        };
        let sent = match wire.net.send(socket, bytes) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(errno) => return self.broken(errno, wire),
        };
        wire.sent_bytes += sent as u64;
        if sent == bytes.len() && wire.net.flush(socket) == Ok(true) {
            self.stage = Stage::Receiving;
            return Step::Pending;
        }
        if let Some(own) = own {
            self.keep_request(own, true);
        }
        self.send_rest(wire, sent)
    }

    #[cold]
    fn send_rest<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>, sent: usize) -> Step {
        self.more.get_or_insert_default().sent = sent;
        self.stage = Stage::Sending;
        self.go_on_sending(wire)
    }

    fn go_on_sending<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) -> Step {
        let (Some(socket), Some(more)) = (&mut self.socket, &mut self.more) else {
            return Step::Pending;
        };
        let fixed = wire.plan.requests[usize::from(self.kind)].message.fixed();
        let bytes = fixed.unwrap_or(&more.request);
        while more.sent < bytes.len() {
            match wire.net.send(socket, &bytes[more.sent..]) {
                Ok(sent) => {
                    more.sent += sent;
                    wire.sent_bytes += sent as u64;
                }
                Err(Errno::AGAIN) => return Step::Pending,
                Err(Errno::INTR) => {}
                Err(errno) => return self.broken(errno, wire),
            }
        }
        match wire.net.flush(socket) {
            Ok(true) => self.stage = Stage::Receiving,
            Ok(false) | Err(Errno::AGAIN) => {}
            Err(errno) => return self.broken(errno, wire),
        }
        Step::Pending
    }

    /// Nothing more can be sent. The server may have answered all the same, before it hung up (413, say).
    #[cold]
    fn broken<N: Network<Socket = S>>(&mut self, errno: Errno, wire: &mut Wire<N>) -> Step {
        self.stage = Stage::Sending; // Whatever comes, this socket serves no other request.
        let closed_by_server = wire.closed_by_server;
        match self.receive(true, wire) {
            Step::Pending | Step::Unread => self.fail(Outcome::Reset, wire),
            // Having been told of the reset, the kernel reports no more than the end.
            Step::Ended(Outcome::ClosedEarly) if errno == Errno::CONNRESET => {
                wire.closed_by_server = closed_by_server;
                Step::Ended(Outcome::Reset)
            }
            step => step,
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
                // The server gave up an idle connection, which is its right, or said what nobody asked for
                // and what the next answer must not be taken for.
                if self.socket.is_some() && (ready.closed || self.has_unasked_bytes(wire)) {
                    self.closed_by_server(wire);
                }
                Step::Pending
            }
        }
    }

    /// Reads while it sends: a server may answer before it has the whole request, and mean by it that it wants no
    /// more (RFC 9112, 9.5).
    #[cold]
    fn advance_sending<N: Network<Socket = S>>(&mut self, ready: Ready, wire: &mut Wire<N>) -> Step {
        if ready.read || ready.closed {
            let step = self.receive(ready.closed, wire);
            if step != Step::Pending {
                return step;
            }
        }
        if ready.write { self.go_on_sending(wire) } else { Step::Pending }
    }

    /// Gives up the request in flight and the socket with it.
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
                if wire.tls_fault.is_none() {
                    wire.tls_fault = wire.net.why(socket);
                }
                let outcome = not_connected(errno, &mut wire.not_sent);
                self.fail(outcome, wire)
            }
        }
    }

    fn has_unasked_bytes<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) -> bool {
        let Some(socket) = &mut self.socket else {
            return false;
        };
        let read = wire.net.receive(socket, &mut wire.buffer);
        wire.received_bytes += read.map_or(0, |received| received.bytes as u64);
        read != Err(Errno::AGAIN) && read != Err(Errno::INTR)
    }

    /// Reads once; again only where all that was asked for came, or where the peer has closed and what it
    /// sent before must be told from its end. What comes later is reported.
    #[inline]
    fn receive<N: Network<Socket = S>>(&mut self, to_the_end: bool, wire: &mut Wire<N>) -> Step {
        let kind = usize::from(self.kind);
        let expect = &wire.plan.requests[kind].expect;
        for _ in 0..READS_AT_ONCE {
            let Some(socket) = &mut self.socket else {
                return Step::Pending;
            };
            let ignored = self.answer.ignored_bytes();
            let discards = ignored >= DISCARD_FROM_BYTES && wire.net.discards(socket);
            let (asked, read) = if discards {
                let asked = ignored.min(wire.buffer.len() as u64) as usize;
                (asked, wire.net.discard(socket, &mut wire.buffer[..asked]))
            } else {
                let apart =
                    wire.memos[kind].is_long() && self.answer.is_untouched() && !self.answer.is_hashed();
                let apart = apart && wire.net.discards(socket);
                let asked = if apart { HEAD_READ_BYTES } else { wire.buffer.len() };
                (asked, wire.net.receive(socket, &mut wire.buffer[..asked]))
            };
            let (bytes, stamp) = match read {
                Ok(Received { bytes: 0, .. }) => return self.end_of_stream(wire),
                Ok(Received { bytes, stamp }) => (bytes, stamp),
                Err(Errno::AGAIN) => {
                    self.wait_for_piece(wire);
                    return Step::Pending;
                }
                Err(Errno::INTR) => continue,
                Err(errno) => return self.unreadable(errno, wire),
            };
            wire.received_bytes += bytes as u64;
            let is_first = self.answer.is_untouched() && self.first.seen_ns == 0;
            self.last_stamp = if wire.plan.stamped { stamp } else { wire.net.now_ns() };
            let progress = if discards {
                Ok(self.answer.skip(bytes as u64))
            } else {
                self.answer.feed(&wire.buffer[..bytes], expect, &mut wire.memos[kind])
            };
            match progress {
                Ok(Progress::Whole { excess: 0 }) => {
                    if is_first {
                        self.first = Arrival { stamp: self.last_stamp, seen_ns: 0 };
                    }
                    return self.whole(to_the_end, expect, wire);
                }
                Ok(Progress::Whole { .. }) | Err(_) => return self.malformed(bytes, wire),
                Ok(Progress::More) => {
                    if is_first {
                        self.first = Arrival { stamp: self.last_stamp, seen_ns: wire.net.now_ns() };
                    }
                    let all_came = bytes < asked && !to_the_end;
                    if all_came
                        && !self.socket.as_ref().is_some_and(|socket| wire.net.has_more_at_hand(socket))
                    {
                        self.wait_for_piece(wire);
                        return Step::Pending;
                    }
                    if !discards && bytes == wire.buffer.len() {
                        break;
                    }
                }
            }
        }
        Step::Unread
    }

    /// Of a long rest that nobody looks at, the next report is to be of a good part.
    #[inline]
    fn wait_for_piece<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) {
        let ignored = self.answer.ignored_bytes();
        if (ignored >= LONG_REST_BYTES || self.waits_for_piece)
            && let Some(socket) = self.socket.as_mut().filter(|socket| wire.net.discards(socket))
        {
            wire.net.wake_at(socket, ignored.clamp(1, PIECE_BYTES) as usize);
            self.waits_for_piece = true;
        }
    }

    #[inline]
    fn whole<N: Network<Socket = S>>(
        &mut self,
        closing: bool,
        expect: &Expectation,
        wire: &mut Wire<N>,
    ) -> Step {
        let outcome = self.answer.outcome(expect);
        self.is_fresh = false;
        if closing || !self.answer.keeps_alive() {
            self.closed_by_server(wire);
        } else if self.stage == Stage::Sending {
            self.close(wire); // The rest of the request is not wanted, and nothing else can be sent before it.
        }
        if std::mem::take(&mut self.waits_for_piece)
            && let Some(socket) = &mut self.socket
        {
            wire.net.wake_at(socket, 1);
        }
        self.stage = Stage::Idle;
        Step::Ended(outcome)
    }

    fn end_of_stream<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) -> Step {
        let is_cut = self.socket.as_ref().is_some_and(|socket| wire.net.is_cut(socket));
        if !is_cut && self.answer.end_of_stream() {
            return self.whole(true, &wire.plan.requests[usize::from(self.kind)].expect, wire);
        }
        wire.closed_by_server += 1;
        self.fail(Outcome::ClosedEarly, wire)
    }

    #[cold]
    fn unreadable<N: Network<Socket = S>>(&mut self, errno: Errno, wire: &mut Wire<N>) -> Step {
        if wire.tls_fault.is_none() {
            wire.tls_fault = self.socket.as_ref().and_then(|socket| wire.net.why(socket));
        }
        self.fail(if errno == Errno::PROTO { Outcome::Malformed } else { Outcome::Reset }, wire)
    }

    #[cold]
    fn malformed<N: Network<Socket = S>>(&mut self, bytes: usize, wire: &mut Wire<N>) -> Step {
        self.answer.keep_as_it_came(&wire.buffer[..bytes]);
        self.fail(Outcome::Malformed, wire)
    }

    fn fail<N: Network<Socket = S>>(&mut self, outcome: Outcome, wire: &mut Wire<N>) -> Step {
        self.close(wire);
        Step::Ended(outcome)
    }
}

impl<S> Default for Connection<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// How a failed attempt to connect counts. What this machine lacks or forbids is no answer of the server's:
/// such a request was never sent.
fn not_connected(errno: Errno, reason: &mut NotSentReason) -> Outcome {
    *reason = match errno {
        Errno::ADDRNOTAVAIL => NotSentReason::Ports,
        Errno::MFILE | Errno::NFILE => NotSentReason::Descriptors,
        // ENOSPC: of epoll, whose watches are limited for each user.
        Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC => NotSentReason::Memory,
        Errno::PERM | Errno::ACCESS => NotSentReason::Forbidden,
        Errno::TIMEDOUT => return Outcome::ConnectTimeout,
        Errno::CONNRESET | Errno::PIPE => return Outcome::Reset,
        // Of TLS: the two did not come to terms, or the server hung up.
        Errno::PROTO => return Outcome::Malformed,
        Errno::CONNABORTED => return Outcome::ClosedEarly,
        _ => return Outcome::Refused,
    };
    Outcome::NotSent
}
