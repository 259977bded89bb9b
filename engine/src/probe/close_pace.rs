//! When a reading of the dependencies may be a close one. Pure: time and cost are passed in.

/// What makes readings close ones takes 0.1 % of a core at most, from the beginning on: so many times its cost must have
/// gone by.
const REST: u64 = 1_000;

#[derive(Default)]
pub struct ClosePace {
    last_ns: u64,
    due_ns: u64,
}

impl ClosePace {
    /// Returns whether a reading `at_ns` after the beginning may be a close one. `estimated_ns`: what it would take. That
    /// is asked for only if it may otherwise, as asking takes time, too.
    pub fn allows(&mut self, at_ns: u64, estimated_ns: impl FnOnce() -> u64) -> bool {
        if at_ns < self.due_ns {
            return false;
        }
        // If connections become fewer it is due sooner, so it is asked again halfway.
        let paid_ns = self.last_ns + REST * estimated_ns();
        if paid_ns > at_ns {
            self.due_ns = at_ns + (paid_ns - at_ns) / 2;
        }
        paid_ns <= at_ns
    }

    /// Accounts for a close reading that took `cost_ns` longer than another would have.
    pub fn spent(&mut self, at_ns: u64, cost_ns: u64) {
        (self.last_ns, self.due_ns) = (at_ns, at_ns + REST * cost_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_reading_is_close_if_its_cost_is_a_thousandth_of_the_time_so_far() {
        let mut pace = ClosePace::default();
        assert!(!pace.allows(100 * MS, || MS));
        assert!(pace.allows(1_000 * MS, || MS));
        // It took longer than was estimated, and then it is the other way round.
        pace.spent(1_000 * MS, 2 * MS);
        assert!(!pace.allows(2_999 * MS, || MS) && pace.allows(3_000 * MS, || MS));
        assert!(!pace.allows(3_000 * MS, || 3 * MS));
    }

    #[test]
    fn beside_thousands_of_connections_a_short_load_has_no_close_reading() {
        let (mut pace, mut asked) = (ClosePace::default(), 0);
        for at_ms in (0..10_000).step_by(70) {
            let is_close = pace.allows(at_ms * MS, || {
                asked += 1;
                43 * MS
            });
            assert!(!is_close);
        }
        assert!((1..10).contains(&asked), "{asked}");
    }

    #[test]
    fn once_connections_are_few_a_reading_is_close_again() {
        let mut pace = ClosePace::default();
        assert!(!pace.allows(2_000 * MS, || 10 * MS));
        assert!(!pace.allows(5_000 * MS, || MS));
        assert!(pace.allows(6_000 * MS, || MS));
    }
}
