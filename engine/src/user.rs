//! The state of one user: its connection, its request in flight, and since when it has that request.

use crate::connection::Connection;
use crate::net::Network;
use crate::outcome::Outcome;
use crate::phase::Phase;

/// A request and the closing of its connection may cross if they are no further apart than this and two round trips:
/// the kernel's clock, which says when the connection ended, is as coarse as a few milliseconds.
const CROSSING_NS: u64 = 5_000_000;

/// It takes two cache lines, as a request touches a random one among all users.
#[repr(align(64))]
pub struct User<S> {
    pub connection: Connection<S>,
    /// When the request in flight was due. Without a request in flight, since when there is none.
    pub since_ns: u64,
    /// When the request was sent; or, while its connection is being opened, when that began.
    pub sent_ns: u64,
    /// The phase of the request in flight, or `None` if there is none.
    pub in_flight: Option<Phase>,
    /// The phase in which the last request began, and the one in which the last whole answer came.
    pub asked_in: Option<Phase>,
    pub answered_in: Option<Phase>,
    /// Whether the request in flight may be sent again if its connection turns out to be closed: the connection has
    /// carried an answer before, and the request is idempotent.
    may_repeat: bool,
    /// Whether the request in flight is sent for the second time.
    pub is_repeated: bool,
}

/// When an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    pub first_ns: u64,
    pub last_ns: u64,
    /// Whether `last_ns` is by the network's stamp.
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

    /// Returns whether the request in flight has no established connection: one is being opened, or will be.
    pub fn is_connecting(&self) -> bool {
        self.in_flight.is_some() && (self.connection.is_connecting() || !self.connection.has_socket())
    }

    /// Puts a request of `phase` that was due at `due_ns` in flight. Returns whether it may have to be sent again: a
    /// server may close a connection at any time after an answer (RFC 9112, 9.3.1 and 9.5).
    #[inline]
    pub fn begin(&mut self, phase: Phase, due_ns: u64, now_ns: u64, is_idempotent: bool) -> bool {
        self.may_repeat = is_idempotent && !self.connection.is_fresh();
        self.is_repeated = false;
        self.in_flight = Some(phase);
        self.asked_in = Some(phase);
        self.since_ns = due_ns;
        self.sent_ns = now_ns;
        self.may_repeat
    }

    /// Returns whether the request in flight met a connection that the server had closed after an earlier answer, and
    /// is to be sent once more. It is never sent a third time.
    pub fn is_to_be_repeated(&mut self, outcome: Outcome) -> bool {
        let unread = match outcome {
            // A kernel resets a connection that is closed while a request lies there unread.
            Outcome::Reset => true,
            Outcome::ClosedEarly => self.was_closed_first(),
            _ => false,
        };
        self.is_repeated = unread && self.connection.is_unanswered() && std::mem::take(&mut self.may_repeat);
        self.is_repeated
    }

    /// Returns whether the connection ended before the request was sent, or so soon after it that the server need not
    /// have read it: a closing crosses the request in one round trip. A server that fails while it works on a request
    /// closes later.
    fn was_closed_first(&self) -> bool {
        self.connection.ended().is_some_and(|ended| {
            ended.at_ns.saturating_sub(self.sent_ns) <= CROSSING_NS + 2 * ended.round_trip_ns
        })
    }

    /// Returns when the answer in hand came, as seen at `now_ns`. `is_stamped` says whether the network stamps what
    /// comes.
    #[inline]
    pub fn came<N: Network<Socket = S>>(&self, net: &mut N, is_stamped: bool, now_ns: u64) -> Came {
        let (first, last_stamp) = self.connection.arrivals();
        if !is_stamped {
            // Not `now_ns`: before it was counted, the answer may have had to wait for others of its batch.
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

impl<S> Default for User<S> {
    fn default() -> Self {
        Self::new()
    }
}
