//! What a worker does between answers: pauses, intervals, phases, patience, and how long it may sleep.

use std::cmp::Reverse;

use super::{Load, Worker};
use crate::outcome::Outcome;
use crate::phase::Phase;
use crate::record::NotSent;
use crate::spec::Pacing;
use crate::tally::Time;

const IDLE_POLL_NS: u64 = 1_000_000;

impl Worker<'_> {
    /// All that is not an answer: the end of a pause, of an interval, of a phase, of patience.
    #[inline]
    pub(super) fn do_duties(&mut self, phase: Phase, now_ns: u64) {
        if self.ledger.phase() != phase {
            self.turn(phase, now_ns);
        }
        while let Some(&Reverse((due_ns, index))) = self.resting.peek() {
            if due_ns > now_ns {
                break;
            }
            self.resting.pop();
            match &mut self.load {
                Load::Closed(_) => self.next_request(index as usize, due_ns, now_ns),
                Load::Open(queue) => queue.release_unopened(index),
            }
        }
        self.serve_due(now_ns);
        if now_ns >= self.ledger.ends_at_ns() {
            self.hand_over(now_ns);
            self.ledger.begin_interval(phase, now_ns);
        }
        if now_ns >= self.next_sweep_ns {
            self.sweep(now_ns);
            self.next_sweep_ns = now_ns + self.sweep_every_ns;
        }
    }

    pub(super) fn set_out(&mut self, now_ns: u64) {
        let phase = self.course.phase(now_ns).unwrap_or(Phase::Measured);
        self.ledger.begin_interval(phase, now_ns);
        self.next_sweep_ns = now_ns + self.sweep_every_ns;
        for user in &mut self.users {
            user.parked = true;
        }
        self.set_parked_to_work(phase, now_ns);
    }

    /// The phase has changed under us.
    pub(super) fn turn(&mut self, phase: Phase, now_ns: u64) {
        self.hand_over(now_ns);
        self.ledger.begin_interval(phase, now_ns);
        if phase == Phase::Measured {
            self.begin_ramp();
        }
        self.set_parked_to_work(phase, now_ns);
    }

    pub(super) fn hand_over(&mut self, now_ns: u64) {
        let counts = &mut self.ledger.tally.counts;
        counts.received_bytes = std::mem::take(&mut self.wire.received_bytes);
        counts.sent_bytes = std::mem::take(&mut self.wire.sent_bytes);
        counts.not_sent += std::mem::take::<NotSent>(&mut self.wire.not_sent);
        self.ledger.tally.tls_fault.clone_from(&self.wire.tls_fault);
        let open = self.users.iter().filter(|user| user.connection.is_open()).count();
        self.ledger.hand_over(now_ns, open as u64);
    }

    /// Ends what has waited too long.
    fn sweep(&mut self, now_ns: u64) {
        for index in 0..self.users.len() {
            let user = &mut self.users[index];
            if user.in_hand.is_none() {
                continue;
            }
            let connecting = user.connection.is_connecting();
            if connecting && now_ns.saturating_sub(user.connect_began_ns) >= self.plan.connect_timeout_ns {
                user.connection.close();
                self.end(index, Outcome::ConnectTimeout, now_ns);
            } else if now_ns.saturating_sub(user.due_ns) >= self.plan.request_timeout_ns {
                user.connection.close();
                self.end(index, Outcome::Timeout, now_ns);
            }
        }
    }

    pub(super) fn finish(&mut self) {
        let ended_ns = self.course.ends_at_ns();
        if let Load::Open(queue) = &self.load
            && let Some(due_ns) = queue.unserved_ns().filter(|&due_ns| due_ns < ended_ns)
        {
            self.give_up(self.course.phase_of(due_ns), ended_ns);
        }
        let measured_from_ns = self.course.measured_from_ns();
        let tally = &mut self.ledger.tally;
        for user in &self.users {
            let Some(phase) = user.in_hand else {
                continue;
            };
            if phase == Phase::WarmUp {
                if !self.takes_over {
                    tally.stragglers.count(Outcome::Unfinished);
                    tally.times.record(Time::CarriedOver, ended_ns - measured_from_ns);
                    continue;
                }
                tally.take_over(measured_from_ns.saturating_sub(user.due_ns));
            }
            tally.outcomes.count(Outcome::Unfinished);
            tally.times.record(Time::UnfinishedAge, ended_ns.saturating_sub(user.due_ns));
        }
        tally.is_last = true;
        self.hand_over(ended_ns);
    }

    /// How long there is nothing to do but to wait for answers.
    pub(super) fn sleep_ns(&mut self, now_ns: u64) -> u64 {
        if self.plan.pacing == Pacing::Spin {
            return 0;
        }
        let mut wake_ns = self.ledger.ends_at_ns().min(self.next_sweep_ns).min(self.course.ends_at_ns());
        let mut due_ns = self.resting.peek().map(|&Reverse((due_ns, _))| due_ns);
        match &mut self.load {
            Load::Open(queue) => match queue.next_due_ns() {
                Some(next_ns) => due_ns = Some(due_ns.map_or(next_ns, |due_ns| due_ns.min(next_ns))),
                None if queue.waits_for_filler() => wake_ns = wake_ns.min(now_ns + IDLE_POLL_NS),
                None => {}
            },
            Load::Closed(_) if self.ledger.phase() == Phase::WarmUp => {
                wake_ns = wake_ns.min(self.course.measured_from_ns());
                if self.users.iter().take(self.warm_up_users).all(|user| user.parked) {
                    // Another thread's answer will end the warm-up, and nothing wakes us then.
                    wake_ns = wake_ns.min(now_ns + IDLE_POLL_NS);
                }
            }
            Load::Closed(_) => {}
        }
        let sleep_ns = wake_ns.saturating_sub(now_ns);
        due_ns.map_or(sleep_ns, |due_ns| sleep_ns.min(self.pacer.sleep_ns(now_ns, due_ns)))
    }
}
