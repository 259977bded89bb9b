//! One connection's place in the load: the request it has in hand, and since when.

use crate::clock::stamped_ns;
use crate::connection::Connection;
use crate::outcome::Outcome;
use crate::phase::Phase;

/// A connection that was at rest for so long may have been closed by the server without our knowing.
const IDLE_NS: u64 = 1_000_000;

pub struct User {
    pub connection: Connection,
    /// The phase of the request in hand; `None` when there is none.
    pub in_hand: Option<Phase>,
    /// Asked for a request and got none; waits for the next phase.
    pub parked: bool,
    pub due_ns: u64,
    /// When the request was sent, or its connection begun.
    pub sent_ns: u64,
    pub connect_began_ns: u64,
    /// When the last request ended.
    pub freed_ns: u64,
    /// The request in hand met a connection that had been idle.
    was_idle: bool,
}

/// When an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    pub first_ns: u64,
    pub last_ns: u64,
    /// Whether the last is by the kernel's stamp.
    pub stamped: bool,
}

impl User {
    pub fn new() -> Self {
        Self {
            connection: Connection::new(),
            in_hand: None,
            parked: false,
            due_ns: 0,
            sent_ns: 0,
            connect_began_ns: 0,
            freed_ns: 0,
            was_idle: false,
        }
    }

    /// Takes a request in hand that was due at `due_ns`; it is about to be sent.
    #[inline]
    pub fn take(&mut self, phase: Phase, due_ns: u64, now_ns: u64) {
        self.in_hand = Some(phase);
        self.due_ns = due_ns;
        self.sent_ns = now_ns;
        self.was_idle = self.connection.has_socket() && now_ns.saturating_sub(self.freed_ns) >= IDLE_NS;
    }

    /// Whether the request in hand met a connection that the server had given up while it was idle, and
    /// is to go out once more. It will not do so twice.
    pub fn met_a_closed_door(&mut self, outcome: Outcome) -> bool {
        let closed = matches!(outcome, Outcome::Reset | Outcome::ClosedEarly);
        closed && self.connection.is_unanswered() && std::mem::take(&mut self.was_idle)
    }

    /// When the answer in hand came, as seen at `now_ns`.
    #[inline]
    pub fn came(&self, unix_ahead_ns: u64, now_ns: u64) -> Came {
        let (first, last_stamp_unix_ns) = self.connection.arrivals();
        let at = |stamp_unix_ns| stamped_ns(stamp_unix_ns, unix_ahead_ns, self.sent_ns..=now_ns);
        let last = at(last_stamp_unix_ns);
        let last_ns = last.unwrap_or(now_ns);
        let seen_ns = if first.seen_ns == 0 { last_ns } else { first.seen_ns };
        Came {
            first_ns: at(first.stamp_unix_ns).unwrap_or(seen_ns).min(last_ns),
            last_ns,
            stamped: last.is_some(),
        }
    }
}

impl Default for User {
    fn default() -> Self {
        Self::new()
    }
}
