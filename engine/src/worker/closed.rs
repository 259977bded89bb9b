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
        let Load::Closed(shape) = self.load else {
            return;
        };
        let working = match phase {
            Phase::WarmUp => self.warm_up_users,
            Phase::Measured => self.users.len(),
        };
        for index in 0..working {
            if !std::mem::take(&mut self.users[index].parked) {
                continue;
            }
            let place = self.thread + index * self.plan.threads;
            let after_ns = if phase == Phase::Measured { shape.sets_out_after_ns(place) } else { 0 };
            if after_ns > 0 {
                let due_ns = self.course.began_at_ns(phase) + after_ns;
                self.resting.push(Reverse((due_ns, index as u32)));
            } else {
                self.next_request(index, now_ns, now_ns);
            }
        }
    }
}
