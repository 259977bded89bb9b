//! One connection's place in the load: the request in flight, and since when.

use crate::connection::Connection;
use crate::net::Network;
use crate::outcome::Outcome;
use crate::phase::Phase;

/// A connection that was idle for so long may have been closed by the server without our knowing.
const IDLE_NS: u64 = 1_000_000;

/// Two cache lines: a request touches a user at random among all of them.
#[repr(align(64))]
pub struct User<S> {
    pub connection: Connection<S>,
    /// When the request in flight was due; without one, since when there is none.
    pub since_ns: u64,
    /// When the request was sent; while its connection is being made, since when that is.
    pub sent_ns: u64,
    /// The phase of the request in flight; `None` when there is none.
    pub in_flight: Option<Phase>,
    /// The phase in which the last request began, and the one in which the last whole answer came.
    pub asked_in: Option<Phase>,
    pub answered_in: Option<Phase>,
    /// The request in flight may be sent again, should its connection turn out to be closed: it had been idle.
    may_repeat: bool,
    /// It goes out for the second time.
    pub is_repeated: bool,
}

/// When an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    pub first_ns: u64,
    pub last_ns: u64,
    /// Whether the last is by the network's stamp.
    pub stamped: bool,
}

impl<S> User<S> {
    pub fn new() -> Self {
        Self {
            connection: Connection::new(),
            since_ns: 0,
            sent_ns: 0,
            in_flight: None,
            asked_in: None,
            answered_in: None,
            may_repeat: false,
            is_repeated: false,
        }
    }

    /// Whether the request in flight has no connection that stands: one is being made, or will be.
    pub fn is_connecting(&self) -> bool {
        self.in_flight.is_some() && (self.connection.is_connecting() || !self.connection.has_socket())
    }

    /// A request of `phase` that was due at `due_ns` is in flight from now on; true where it may have to be sent
    /// again (RFC 9112, 9.3.1).
    #[inline]
    pub fn begin(&mut self, phase: Phase, due_ns: u64, now_ns: u64, is_idempotent: bool) -> bool {
        let was_idle = self.connection.has_socket() && now_ns.saturating_sub(self.since_ns) >= IDLE_NS;
        self.may_repeat = was_idle && is_idempotent;
        self.is_repeated = false;
        self.in_flight = Some(phase);
        self.asked_in = Some(phase);
        self.since_ns = due_ns;
        self.sent_ns = now_ns;
        self.may_repeat
    }

    /// Whether the request in flight met a connection that the server had closed while it was idle, and is to be
    /// sent once more. It will not be a third time.
    pub fn is_to_be_repeated(&mut self, outcome: Outcome) -> bool {
        let closed = matches!(outcome, Outcome::Reset | Outcome::ClosedEarly);
        self.is_repeated = closed && self.connection.is_unanswered() && std::mem::take(&mut self.may_repeat);
        self.is_repeated
    }

    /// When the answer in hand came, as seen at `now_ns`; `is_stamped` says whether the network stamps what comes.
    #[inline]
    pub fn came<N: Network<Socket = S>>(&self, net: &mut N, is_stamped: bool, now_ns: u64) -> Came {
        let (first, last_stamp) = self.connection.arrivals();
        if !is_stamped {
            // As it was read: counting it may have had to wait for others of its batch.
            let first_ns = if first.seen_ns == 0 { last_stamp } else { first.seen_ns };
            return Came { first_ns, last_ns: last_stamp, stamped: false };
        }
        let possible_ns = self.sent_ns..=now_ns;
        let last = net.stamped_ns(last_stamp, possible_ns.clone());
        let last_ns = last.unwrap_or(now_ns);
        if first.seen_ns == 0 {
            return Came { first_ns: last_ns, last_ns, stamped: last.is_some() };
        }
        let first_ns = net.stamped_ns(first.stamp, possible_ns).unwrap_or(first.seen_ns).min(last_ns);
        Came { first_ns, last_ns, stamped: last.is_some() }
    }
}

const _: () = assert!(size_of::<User<crate::stream::Stream>>() == 128);

impl<S> Default for User<S> {
    fn default() -> Self {
        Self::new()
    }
}
