//! Load shapes: when requests are due, and who sends them. No socket, no clock.

pub mod closed;
pub mod open;
pub mod pause;
pub mod ramp;
pub mod schedule;

use crate::phase::Phase;

/// The shape of a trial, as meant.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Users who wait for each answer; with a ramp where they do not all come at once.
    Closed(closed::Closed),
    /// A schedule that waits for none.
    Open(open::Open),
}

impl Shape {
    /// The most connections it may hold.
    pub fn connections(&self) -> usize {
        match self {
            Self::Closed(closed) => closed.connections,
            Self::Open(open) => open.connections,
        }
    }

    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

/// What a load wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// `user` sends a request of `phase`.
    Send { user: u32, phase: Phase, due: Due },
    /// A request of `phase` found no connection until its patience was over.
    GiveUp { phase: Phase },
    /// `user` closes its connection.
    Leave { user: u32 },
}

/// When a request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// When it is sent. `since_ns`: from when on its user would have sent it, had the engine got to it.
    Now { since_ns: u64 },
    /// At `due_ns`, as was known ahead. `ready_ns`: from when on it could have been sent, since a connection was
    /// there for it.
    At { due_ns: u64, ready_ns: u64 },
}

/// A request of `user` that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub user: u32,
    /// The phase that the request is of.
    pub phase: Phase,
    /// The phase that it ended in.
    pub present: Phase,
    pub now_ns: u64,
    /// From when on its connection was free.
    pub freed_ns: u64,
    /// How long its user has to wait at least before it sends again.
    pub backoff_ns: u64,
    /// Whether its connection stands still.
    pub has_socket: bool,
}

/// When a load has something to do although no answer comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// The next request is due.
    pub due_ns: Option<u64>,
    /// It is to be asked again then, whatever is due.
    pub look_ns: Option<u64>,
}

/// What a load may know of the users.
pub trait Users {
    fn has_socket(&self, user: u32) -> bool;
    fn is_in_flight(&self, user: u32) -> bool;
}

/// One thread's part of a load: who sends when. A shape is one implementation of it; it holds no sockets and reads
/// no clock.
pub trait Load {
    /// Whether requests are due by a schedule that waits for no answer.
    const IS_OPEN: bool;

    /// A phase begins; the first, too.
    fn begin(&mut self, phase: Phase, now_ns: u64);

    /// What is to be done at `now_ns`; `None`: nothing for now.
    fn next(&mut self, now_ns: u64, users: &impl Users) -> Option<Act>;

    /// A request has ended: what its user does at once.
    fn ended(&mut self, ended: &Ended) -> Option<Act>;

    fn wake(&mut self, now_ns: u64) -> Wake;

    /// The phase of a request that was taken from the schedule and never sent, once the trial has ended at
    /// `ended_ns`.
    fn left(&self, ended_ns: u64) -> Option<Phase>;
}

/// How long to wait before another look where nothing tells that there is something to do.
pub const IDLE_POLL_NS: u64 = 1_000_000;

/// The share of `connections` that thread `thread` of `threads` holds: those whose number leaves
/// `thread` when divided by `threads`.
pub fn share(connections: usize, thread: usize, threads: usize) -> usize {
    connections / threads + usize::from(thread < connections % threads)
}

/// A generator of random numbers for one `purpose` of a trial: the same seed gives the same numbers.
pub fn random(seed: u64, purpose: u64) -> rand_xoshiro::Xoshiro256PlusPlus {
    use rand_xoshiro::rand_core::SeedableRng;
    rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Evenly distributed from 0 to below 1.
#[inline]
pub fn uniform(random: &mut impl rand_xoshiro::rand_core::RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Exponentially distributed with mean 1, by inversion.
#[inline]
pub fn exponential(random: &mut impl rand_xoshiro::rand_core::RngCore) -> f64 {
    -(1.0 - uniform(random)).ln()
}
