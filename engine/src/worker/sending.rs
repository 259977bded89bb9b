//! How a worker sends: it does what its load wants done by now, over a new connection if needed.

use super::{Loop, OPENED_AT_ONCE, Seen};
use crate::connection::Step;
use crate::load::{Act, Due, Load};
use crate::net::Network;
use crate::phase::Phase;
use crate::tally::Time;

impl<N: Network, L: Load> Loop<'_, N, L> {
    /// Does what the load wants done by now. It opens a bounded number of connections at once; what goes over those that
    /// stand does not wait for the others.
    #[inline]
    pub(super) fn act(&mut self, mut now_ns: u64) {
        while let Some(phase) = self.course.phase(now_ns) {
            // Take turns, so that neither users who begin nor users who open another connection wait for all of the
            // others.
            let opening = if self.may_open() { self.to_open.pop_front() } else { None };
            if let Some(act) = opening {
                self.carry_out(act, now_ns);
            }
            self.account_for(phase, now_ns);
            let next = self.load.next(now_ns, &Seen { users: &self.users, may_open: self.may_open() });
            if let Some(act) = next {
                self.carry_out(act, now_ns);
            }
            if opening.is_none() && next.is_none() {
                return;
            }
            self.end_all();
            now_ns = self.wire.net.now_ns();
        }
    }

    fn may_open(&self) -> bool {
        self.opened < OPENED_AT_ONCE
    }

    #[inline]
    pub(super) fn carry_out(&mut self, act: Act, now_ns: u64) {
        match act {
            Act::Send { user, phase, due } => self.begin(user, phase, due, now_ns),
            Act::GiveUp { phase } => {
                self.account_for(phase, now_ns);
                self.account.tally().give_up(phase);
                self.course.end_one(phase, now_ns);
            }
            Act::Leave { user } => self.users[user as usize].connection.close(&mut self.wire),
        }
    }

    /// Begins a request of `phase`: sends it, over a new connection if needed.
    #[inline]
    pub(super) fn begin(&mut self, index: u32, phase: Phase, due: Due, mut now_ns: u64) {
        self.account_for(phase, now_ns);
        let kind = self.feed.next();
        let has_socket = self.users[index as usize].connection.has_socket();
        if !has_socket || self.feed.has_waited() {
            // The engine has opened other connections since, or has waited for requests. This time is the engine's.
            now_ns = self.wire.net.now_ns();
        }
        let tally = self.account.tally();
        tally.schedule(phase, kind);
        let due_ns = match due {
            Due::Now { since_ns } => {
                let since_ns = since_ns.max(self.course.began_at_ns(tally.phase));
                tally.counts.users_waited_ns += now_ns.saturating_sub(since_ns);
                now_ns
            }
            Due::At { due_ns, ready_ns } => {
                if phase == tally.phase {
                    tally.counts.requests_waited_ns += now_ns.saturating_sub(due_ns);
                    tally.times.record(Time::EngineLateness, now_ns.saturating_sub(ready_ns));
                    if L::IS_OPEN && has_socket {
                        tally.times.record(Time::Lateness, now_ns.saturating_sub(due_ns));
                    }
                }
                due_ns
            }
        };
        debug_assert!(self.users[index as usize].in_flight.is_none(), "one request at a time");
        self.in_flight.push(index, due_ns);
        let hash = self.samples(kind, index);
        let user = &mut self.users[index as usize];
        let may_repeat =
            user.begin(phase, due_ns, now_ns, self.plan.requests[usize::from(kind)].is_idempotent);
        let own = self.feed.bytes();
        user.connection.prepare(kind, own, may_repeat, hash);
        if has_socket {
            if let Some(board) = &self.board {
                board.sending(index);
            }
            let own = if may_repeat { None } else { own };
            let step = user.connection.send(&mut self.wire, own);
            if let Some(board) = &self.board {
                board.sent(index);
            }
            self.on_step(index, step);
        } else {
            self.connect(index, now_ns);
        }
    }

    #[cold]
    pub(super) fn connect(&mut self, index: u32, now_ns: u64) {
        self.opened += 1;
        let user = &mut self.users[index as usize];
        user.sent_ns = now_ns;
        if let Some(board) = &self.board {
            board.connecting(index);
        }
        let step = user.connection.connect(&mut self.wire, index);
        if let Some(board) = &self.board
            && let Some(local) = user.connection.local(&self.wire)
        {
            board.opened_from(index, local);
        }
        if matches!(step, Step::Pending | Step::Again) {
            self.connecting.push_back((now_ns, index));
        }
        self.on_step(index, step);
        self.see_connections();
    }

    #[cold]
    pub(super) fn repeat(&mut self, index: u32, now_ns: u64) {
        self.account.tally().counts.retried += 1;
        self.users[index as usize].connection.prepare_again();
        self.connect(index, now_ns);
    }

    /// Returns whether the next answer is hashed: the first of every connection, and one in `hash_one_in`.
    #[inline]
    pub(super) fn samples(&mut self, kind: u16, index: u32) -> bool {
        let one_in = self.plan.requests[usize::from(kind)].expect.hash_one_in;
        if one_in == 0 {
            return false;
        }
        let is_drawn = self.samples[usize::from(kind)].draws(one_in, &mut self.random);
        is_drawn || self.users[index as usize].connection.is_fresh()
    }
}
