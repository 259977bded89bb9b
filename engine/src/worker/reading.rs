//! How a worker reads: what is ready, which connections are established, and how requests in flight have ended.

use super::{BACKLOG_POLL_NS, BACKOFF_NS, Loop};
use crate::connection::Step;
use crate::load::{Act, Ended, Load};
use crate::net::{Network, Ready};
use crate::outcome::Outcome;
use crate::spec::ConnectionUse;
use crate::user::User;

/// A user is fetched into the cache this many answers before its own is read.
const PREFETCHED_AHEAD: usize = 4;
/// The length of a cache line of every x86-64 processor.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

impl<N: Network, L: Load> Loop<'_, N, L> {
    /// Reads what has come. If nothing is due while the answers are read, it reads all of them before it counts the
    /// first and sends the next request. Then each part of the work finds its code, and the kernel's, in the cache.
    #[inline]
    pub(super) fn read(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for place in 0..ready.len() {
            if let Some(ahead) = ready.get(place + PREFETCHED_AHEAD) {
                prefetch(&self.users[ahead.token as u32 as usize]);
            }
            self.on_ready(ready[place]);
        }
        ready.clear();
        if self.ready.is_empty() {
            self.ready = ready; // It keeps its memory.
        }
        if self.unread.is_empty() {
            return self.end_all();
        }
        for ready in std::mem::take(&mut self.unread) {
            self.on_ready(ready);
        }
        self.end_all();
    }

    /// Counts the requests that have ended, in the order in which their answers were read.
    #[inline]
    pub(super) fn end_all(&mut self) {
        let mut place = 0;
        while let Some(&(index, outcome)) = self.ended.get(place) {
            place += 1;
            self.end(index, outcome);
        }
        self.ended.clear();
    }

    #[inline]
    pub(super) fn on_ready(&mut self, ready: Ready) {
        let step = self.advance(ready);
        if L::IS_OPEN && step != Step::Pending {
            // Do this before the next answer is read: requests that are due cannot wait, answers can, as they are
            // stamped.
            self.end_all();
            self.act(self.wire.net.now_ns());
        }
    }

    #[inline]
    pub(super) fn advance(&mut self, ready: Ready) -> Step {
        let index = ready.token as u32;
        let user = &mut self.users[index as usize];
        if !user.connection.is_named_by(ready.token) {
            return Step::Pending; // The report is about a socket that was replaced in this batch.
        }
        let mut step = user.connection.advance(ready, &mut self.wire);
        if step == Step::Connected {
            step = self.on_connected(index, ready);
        }
        if step == Step::Unread {
            self.unread.push(Ready { read: true, ..ready });
        } else {
            self.on_step(index, step);
        }
        step
    }

    /// Handles the connections that are established, and leaves what else is ready to the next turn. If a connection
    /// were handled only after all others were begun, its connect time would include their opening.
    #[cold]
    pub(super) fn see_connections(&mut self) {
        let seen = self.ready.len();
        self.wire.net.wait(&mut self.ready, 0);
        let mut place = seen;
        while let Some(&ready) = self.ready.get(place) {
            if self.users[ready.token as u32 as usize].connection.is_connecting() {
                self.ready.swap_remove(place);
                self.advance(ready);
            } else {
                place += 1;
            }
        }
    }

    #[inline]
    pub(super) fn on_step(&mut self, index: u32, step: Step) {
        match step {
            Step::Ended(outcome) => {
                if let Some(board) = &self.board {
                    board.over(index);
                }
                self.ended.push((index, outcome));
            }
            Step::Pending | Step::Connected => {}
            // Sending has failed, and of what came before there is more than one turn reads.
            Step::Unread => {
                let token = self.users[index as usize].connection.token(index);
                self.unread.push(Ready { token, read: true, write: false, closed: true });
            }
            Step::Again => {
                self.again_at_ns = self.wire.net.now_ns() + BACKLOG_POLL_NS;
                self.again.push_back((self.users[index as usize].sent_ns, index));
            }
        }
    }

    #[cold]
    pub(super) fn on_connected(&mut self, index: u32, ready: Ready) -> Step {
        let now_ns = self.wire.net.now_ns();
        let user = &mut self.users[index as usize];
        let began_ns = std::mem::replace(&mut user.sent_ns, now_ns);
        self.account.connected(user, began_ns, now_ns, L::IS_OPEN);
        if ready.read
            && let Some(step) = user.connection.read_before_sending(&mut self.wire)
        {
            return step;
        }
        let sent = user.connection.send(&mut self.wire, None);
        if let Some(board) = &self.board {
            board.sent(index);
        }
        match sent {
            // That the server has closed is not reported again.
            Step::Pending if ready.read => user.connection.advance(ready, &mut self.wire),
            step => step,
        }
    }

    /// Ends the request in flight of user `index`: counts it and goes on to the next.
    #[inline]
    pub(super) fn end(&mut self, index: u32, outcome: Outcome) {
        let now_ns = self.wire.net.now_ns();
        self.seen_ns = now_ns;
        let user = &mut self.users[index as usize];
        let Some(phase) = user.in_flight else {
            return;
        };
        if outcome != Outcome::Ok && user.is_to_be_repeated(outcome) {
            self.repeat(index, now_ns);
            return;
        }
        let Some(present) = self.course.phase(now_ns) else {
            return; // Too late: the request stays in flight and counts as unfinished.
        };
        self.account_for(present, now_ns);
        let user = &mut self.users[index as usize];
        let (outcome, freed_ns) = self.account.count(user, &mut self.wire, outcome, now_ns, L::IS_OPEN);
        user.in_flight = None;
        if let Some(board) = &self.board {
            board.ended(index);
        }
        user.since_ns = now_ns;
        self.in_flight.remove(index);
        if self.plan.connection == ConnectionUse::PerRequest {
            user.connection.close(&mut self.wire);
        }
        self.course.end_one(phase, now_ns);
        let ended = Ended {
            user: index,
            phase,
            present,
            now_ns,
            freed_ns,
            backoff_ns: if is_broken(outcome) { BACKOFF_NS } else { 0 },
            has_socket: user.connection.has_socket(),
        };
        match self.load.ended(&ended) {
            None => {}
            Some(act @ Act::Send { .. }) if !ended.has_socket => self.to_open.push_back(act),
            Some(act) => self.carry_out(act, now_ns),
        }
    }
}

/// Fetches a user into the cache, on processors for which this is implemented.
#[inline]
fn prefetch<S>(user: &User<S>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const { assert!(size_of::<User<S>>() >= 2 * LINE_BYTES) };
        let first = std::ptr::from_ref(user).cast::<i8>();
        // SAFETY: `add` stays in the user, which is at least two lines long, as asserted above. A prefetch is a hint: it
        // changes no memory and no register, whatever the address.
        unsafe {
            _mm_prefetch(first, _MM_HINT_T0);
            _mm_prefetch(first.add(LINE_BYTES), _MM_HINT_T0);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = user;
}

/// Returns whether the connection, or the attempt to connect, failed.
fn is_broken(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Refused
            | Outcome::NotSent
            | Outcome::ConnectTimeout
            | Outcome::Reset
            | Outcome::ClosedEarly
            | Outcome::Malformed
    )
}
