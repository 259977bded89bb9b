//! A worker under an open shape: what is due goes to the next free connection.

use super::{Load, Worker};
use crate::clock;
use crate::outcome::Outcome;
use crate::phase::Phase;
use crate::queue::Claim;
use crate::tally::Time;

impl Worker<'_> {
    /// Sends every request of an open shape that is due and has a connection to go over.
    #[inline]
    pub(super) fn serve_due(&mut self, mut now_ns: u64) {
        loop {
            let Load::Open(queue) = &mut self.load else {
                return;
            };
            if self.course.phase(now_ns).is_none() {
                return;
            }
            let users = &self.users;
            let has_socket = |index: u32| users[index as usize].connection.has_socket();
            let Some(claim) = queue.claim(now_ns, has_socket) else {
                return;
            };
            self.serve(claim, now_ns);
            now_ns = clock::now_ns();
        }
    }

    fn serve(&mut self, claim: Claim, now_ns: u64) {
        let phase = self.course.phase_of(claim.due_ns);
        let index = claim.connection as usize;
        if phase == Phase::Measured && self.ledger.phase() != phase {
            self.turn(phase, now_ns);
        }
        if now_ns - claim.due_ns >= self.plan.request_timeout_ns {
            self.give_up(phase, now_ns);
            if let Load::Open(queue) = &mut self.load {
                queue.release_unopened(claim.connection); // Claims it again, with its socket, if it has one.
            }
            return;
        }
        let tally = &mut self.ledger.tally;
        if phase == tally.phase {
            tally.times.record(Time::EngineLateness, now_ns - claim.ready_ns);
            if self.users[index].connection.has_socket() {
                tally.times.record(Time::Lateness, now_ns - claim.due_ns);
            }
        }
        self.take(index, phase, claim.due_ns, now_ns);
    }

    /// A request found no connection until its own patience, or the phase, was over.
    #[cold]
    pub(super) fn give_up(&mut self, phase: Phase, now_ns: u64) {
        let tally = &mut self.ledger.tally;
        tally.schedule(phase);
        if phase == tally.phase {
            tally.outcomes.count(Outcome::NotSent);
            tally.counts.not_sent.too_late += 1;
        } else {
            tally.stragglers.count(Outcome::NotSent);
        }
        self.course.end_one(phase, now_ns);
    }
}
