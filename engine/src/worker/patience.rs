//! Timeouts: a worker ends requests and attempts to connect that have waited too long, and tries full backlogs again.

use super::Loop;
use crate::connection::Step;
use crate::load::Load;
use crate::net::{Network, Ready};
use crate::outcome::Outcome;

impl<N: Network, L: Load> Loop<'_, N, L> {
    /// Ends what has waited too long, and tries full backlogs again.
    #[inline]
    pub(super) fn lose_patience(&mut self, now_ns: u64) {
        if !self.connecting.is_empty() || !self.again.is_empty() {
            self.lose_patience_with_connections(now_ns);
        }
        while let Some((index, since_ns)) = self.in_flight.first() {
            if now_ns.saturating_sub(since_ns) < self.plan.request_timeout_ns {
                break;
            }
            let outcome = self.last_read(index);
            self.end(index, outcome);
            if self.in_flight.first() == Some((index, since_ns)) {
                break; // The trial is over, or the request is sent once more.
            }
        }
        self.end_all();
    }

    /// Returns the outcome of the request of user `index`, whose time is over. Its answer may have come in time and
    /// be unread. If there is none, closes the connection.
    #[cold]
    fn last_read(&mut self, index: u32) -> Outcome {
        let user = &mut self.users[index as usize];
        if !user.is_connecting() {
            let ready =
                Ready { token: user.connection.token(index), read: true, write: false, closed: false };
            if let Step::Ended(outcome) = user.connection.advance(ready, &mut self.wire) {
                return outcome;
            }
        }
        user.connection.give_up(&mut self.wire);
        Outcome::Timeout
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
                user.connection.give_up(&mut self.wire);
                self.end(index, Outcome::ConnectTimeout);
            }
        }
        // The first user finds out for all of them whether the backlog has room.
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
