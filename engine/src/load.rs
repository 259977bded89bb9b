//! The interface above the hot loop: which user sends when. Each load shape is an implementation of `Load`, which has
//! no sockets and reads no clock.

use crate::phase::Phase;

/// What a load wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// `user` sends a request of `phase`.
    Send { user: u32, phase: Phase, due: Due },
    /// A request of `phase` found no connection before its time was over.
    GiveUp { phase: Phase },
    /// `user` closes its connection.
    Leave { user: u32 },
}

/// When a request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// When it is sent. `since_ns` is when its user would have sent it if the engine had got to it.
    Now { since_ns: u64 },
    /// At `due_ns`, which was known ahead. `ready_ns` is when it could have been sent, as a connection was there for
    /// it.
    At { due_ns: u64, ready_ns: u64 },
}

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub user: u32,
    /// The phase of the request.
    pub phase: Phase,
    /// The phase in which the request ended.
    pub present: Phase,
    pub now_ns: u64,
    /// When its connection became free.
    pub freed_ns: u64,
    /// How long its user has to wait at least before it sends again.
    pub backoff_ns: u64,
    /// Whether its connection is still established.
    pub has_socket: bool,
}

/// When a load has something to do even if no answer comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// When the next request is due.
    pub due_ns: Option<u64>,
    /// When the load is to be asked again, whatever is due.
    pub look_ns: Option<u64>,
}

/// What a load may ask about the users.
pub trait Users {
    fn has_socket(&self, user: u32) -> bool;
    fn is_in_flight(&self, user: u32) -> bool;
    /// Returns whether a connection may be opened now. If not, only users who have one can send.
    fn may_open(&self) -> bool;
}

/// One thread's part of a load: which user sends when.
pub trait Load {
    /// Whether requests are due by a schedule that waits for no answer.
    const IS_OPEN: bool;

    /// Begins a phase. The first phase is begun in this way, too.
    fn begin(&mut self, phase: Phase, now_ns: u64);

    /// Returns what is to be done at `now_ns`, or `None` if there is nothing now.
    fn next(&mut self, now_ns: u64, users: &impl Users) -> Option<Act>;

    /// Handles the end of a request. Returns what its user does at once.
    fn ended(&mut self, ended: &Ended) -> Option<Act>;

    fn wake(&mut self, now_ns: u64) -> Wake;

    /// Returns the phase of a request that was taken from the schedule and never sent. The trial has ended at
    /// `ended_ns`.
    fn left(&self, ended_ns: u64) -> Option<Phase>;
}

/// How long to wait before looking again, if no event reports that there is something to do.
pub const IDLE_POLL_NS: u64 = 1_000_000;

/// Returns how many of `connections` thread `thread` of `threads` has: those whose number modulo `threads` is
/// `thread`.
pub fn share(connections: usize, thread: usize, threads: usize) -> usize {
    connections / threads + usize::from(thread < connections % threads)
}
