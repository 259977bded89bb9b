//! A worker under a closed shape: who is answered asks again.

use std::cmp::Reverse;

use super::{Load, Worker};
use crate::phase::Phase;

impl Worker<'_> {
    /// Takes the next request of a closed shape, due at `due_ns`.
    #[inline]
    pub(super) fn next_request(&mut self, index: usize, due_ns: u64, now_ns: u64) {
        let Some(phase) = self.course.issue(now_ns) else {
            self.users[index].parked = true;
            return;
        };
        if self.ledger.phase() != phase {
            self.turn(phase, now_ns);
        }
        self.take(index, phase, due_ns, now_ns);
    }

    /// Users of a closed shape that have nothing to do begin, each when its turn comes.
    pub(super) fn set_parked_to_work(&mut self, phase: Phase, now_ns: u64) {
        let working = match (&self.load, phase) {
            (Load::Open(_), _) => return,
            (Load::Closed(_), Phase::WarmUp) => self.warm_up_users,
            (Load::Closed(_), Phase::Measured) => self.users.len(),
        };
        for index in 0..working {
            if std::mem::take(&mut self.users[index].parked) {
                self.set_to_work(index, phase, now_ns);
            }
        }
    }

    /// Whoever warmed up and rests or is idle as the ramp begins leaves, and comes when its turn comes.
    pub(super) fn begin_ramp(&mut self) {
        if !matches!(self.load, Load::Closed(shape) if shape.ramp.is_some()) {
            return;
        }
        for Reverse((_, index)) in std::mem::take(&mut self.resting) {
            self.users[index as usize].parked = true;
        }
        for user in self.users.iter_mut().filter(|user| user.parked) {
            user.connection.close();
        }
    }

    /// A request of the warm-up ended after the ramp had begun: its user leaves, like the others.
    #[cold]
    pub(super) fn come_anew(&mut self, index: usize, now_ns: u64) {
        self.users[index].connection.close();
        self.set_to_work(index, Phase::Measured, now_ns);
    }

    /// Whether users pause in `phase`.
    #[inline]
    pub(super) fn pauses_in(&self, phase: Phase) -> bool {
        phase == Phase::Measured || self.warm_up_pauses
    }

    fn set_to_work(&mut self, index: usize, phase: Phase, now_ns: u64) {
        let Load::Closed(shape) = self.load else {
            return;
        };
        let place = self.thread + index * self.plan.threads;
        let mut after_ns = if phase == Phase::Measured { shape.sets_out_after_ns(place) } else { 0 };
        if after_ns == 0 && self.pauses_in(phase) {
            // Who is there from the beginning is met within a pause: all at once would be a load of its own.
            after_ns = shape.pause.draw_left_ns(&mut self.random);
        }
        let due_ns = self.course.began_at_ns(phase) + after_ns;
        if after_ns > 0 && due_ns > now_ns {
            self.resting.push(Reverse((due_ns, index as u32)));
        } else {
            self.next_request(index, now_ns, now_ns);
        }
    }
}
