//! A worker loses patience: it ends what has waited too long, and looks again at backlogs that were full.

use super::Loop;
use crate::connection::Step;
use crate::net::Network;
use crate::outcome::Outcome;
use crate::shape::Load;

impl<N: Network, L: Load> Loop<'_, N, L> {
    /// Ends what has waited too long, and looks again at backlogs that were full.
    #[inline]
    pub(super) fn lose_patience(&mut self, now_ns: u64) {
        if !self.connecting.is_empty() || !self.again.is_empty() {
            self.lose_patience_with_connections(now_ns);
        }
        while let Some(index) = self.in_flight.first() {
            let user = &mut self.users[index as usize];
            if now_ns.saturating_sub(user.since_ns) < self.plan.request_timeout_ns {
                break;
            }
            user.connection.close(&mut self.wire);
            self.end(index, Outcome::Timeout);
            if self.in_flight.first() == Some(index) {
                break; // The trial is over.
            }
        }
        self.end_all();
    }

    #[cold]
    pub(super) fn lose_patience_with_connections(&mut self, now_ns: u64) {
        while let Some(&(began_ns, index)) = self.connecting.front() {
            let user = &mut self.users[index as usize];
            let still = user.is_connecting() && user.sent_ns == began_ns;
            if still && now_ns.saturating_sub(began_ns) < self.plan.connect_timeout_ns {
                break;
            }
            self.connecting.pop_front();
            if still {
                user.connection.close(&mut self.wire);
                self.end(index, Outcome::ConnectTimeout);
            }
        }
        // One finds out for all of them whether the backlog has room.
        while self.again_at_ns <= now_ns
            && let Some((began_ns, index)) = self.again.pop_front()
        {
            let user = &mut self.users[index as usize];
            if user.in_flight.is_some() && !user.connection.has_socket() && user.sent_ns == began_ns {
                let step = user.connection.connect(&mut self.wire, index);
                self.on_step(index, step);
                if step == Step::Again {
                    break;
                }
            }
        }
    }
}
