//! Whether a server writes an answer in parts and works on between them. By the order of data a connection whose answer was
//! sent in part is like one whose answer was sent whole. What was first after such a look tells them apart: the next part, or
//! the next request. It is not known of each look, since an exchange may be shorter than the time to the next one, but it is
//! known as often of those that this hides as of those at which the request was rightly found inside. Pure.

use super::exchange::{Last, Look};

/// If the order of data hides more than this share of the requests inside, a server's answers come in parts. Stages have to
/// add up to within a tenth; this is half of it.
const HIDDEN_MOST: f64 = 0.05;
/// Fewer may be chance, as a segment that was sent again.
const HIDDEN_LEAST: u64 = 3;

#[derive(Default)]
pub struct Parts {
    /// Looks after which the next part of an answer was first, though something was sent last.
    hidden: u64,
    /// Looks after which something was sent first, and a request had come last.
    found: u64,
}

impl Parts {
    /// `before` and `now`: two looks at the same connection, one after the other.
    pub fn note(&mut self, before: &Look, now: &Look) {
        if now.is_as(before) || now.last_before(before) != Last::Received {
            return;
        }
        match before.last {
            Last::Sent => self.hidden += 1,
            Last::Received => self.found += 1,
            Last::Unknown => {}
        }
    }

    pub fn are_seen(&self) -> bool {
        let inside = self.hidden + self.found;
        self.hidden >= HIDDEN_LEAST && self.hidden as f64 >= HIDDEN_MOST * inside as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tcp_end::{End, Traffic};

    /// A look at a connection on which so many segments were sent and so many have come; `sent_last`: what was later.
    fn look(sent: u32, received: u32, sent_last: bool) -> Look {
        let traffic = Traffic {
            sent_bytes: sent.into(),
            acknowledged_bytes: sent.into(),
            received_bytes: received.into(),
            sent_segments: sent,
            received_segments: received,
            sent_ago_ms: if sent_last { 8 } else { 20 },
            received_ago_ms: if sent_last { 20 } else { 8 },
            ..Traffic::default()
        };
        Look::new(&End::QUIET, traffic, None)
    }

    fn noted(pairs: &[(Look, Look)]) -> (u64, u64) {
        let mut parts = Parts::default();
        pairs.iter().for_each(|(before, now)| parts.note(before, now));
        (parts.hidden, parts.found)
    }

    #[test]
    fn more_that_is_sent_without_a_request_was_a_part() {
        let in_part = look(5, 4, true);
        assert_eq!(noted(&[(in_part, look(6, 4, true))]), (1, 0));
        // The rest, and then the one request that has come.
        assert_eq!(noted(&[(in_part, look(6, 5, false))]), (1, 0));
    }

    #[test]
    fn after_a_whole_answer_a_request_comes_first() {
        let whole = look(5, 4, true);
        assert_eq!(noted(&[(whole, look(5, 5, false)), (whole, look(6, 5, true))]), (0, 0));
        assert_eq!(noted(&[(whole, whole), (whole, look(9, 8, true))]), (0, 0));
        assert_eq!(noted(&[(look(5, 5, false), look(6, 5, true))]), (0, 1));
    }

    #[test]
    fn parts_are_seen_if_they_hide_a_twentieth_of_the_requests_inside() {
        let are_seen = |hidden, found| Parts { hidden, found }.are_seen();
        assert!(are_seen(5, 95) && !are_seen(4, 96));
        assert!(are_seen(3, 0) && !are_seen(2, 0));
    }
}
