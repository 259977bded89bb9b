//! A ramp of users: their number rises evenly from `from` to `to`, and stays there.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    pub from: usize,
    pub to: usize,
    pub over_ns: u64,
}

impl Ramp {
    /// Returns when user `user` (from 0) begins, in nanoseconds from the beginning of the ramp: as soon as the line
    /// from `from` to `to` has reached its number.
    pub fn sets_out_after_ns(&self, user: usize) -> u64 {
        let place = (user + 1).saturating_sub(self.from);
        let rise = (self.to - self.from).max(1);
        (u128::from(self.over_ns) * place.min(rise) as u128 / rise as u128) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Returns the number of users who have begun `after_ns` into the ramp.
    fn users_at(ramp: Ramp, after_ns: u64) -> usize {
        (ramp.from..ramp.to).take_while(|&user| ramp.sets_out_after_ns(user) <= after_ns).count() + ramp.from
    }

    #[test]
    fn users_rise_along_the_line() {
        let ramp = Ramp { from: 0, to: 500, over_ns: 300 * SECOND_NS };
        for second in 0..=300 {
            let line = 500.0 * second as f64 / 300.0;
            let users = users_at(ramp, second * SECOND_NS) as f64;
            assert!((users - line).abs() < 1.0, "{users} users after {second} s");
        }
        assert_eq!(users_at(ramp, 300 * SECOND_NS), 500);
        assert_eq!(users_at(ramp, 301 * SECOND_NS), 500);
    }

    #[test]
    fn gaps_between_users_are_equal_to_the_nanosecond() {
        let ramp = Ramp { from: 20, to: 137, over_ns: 7 * SECOND_NS };
        assert!((0..20).all(|user| ramp.sets_out_after_ns(user) == 0));
        let gap_ns = ramp.over_ns / 117;
        for user in 21..137 {
            let gap = ramp.sets_out_after_ns(user) - ramp.sets_out_after_ns(user - 1);
            assert!((gap_ns..=gap_ns + 1).contains(&gap), "{gap}");
        }
        assert_eq!(ramp.sets_out_after_ns(136), ramp.over_ns);
    }

    #[test]
    fn a_ramp_that_does_not_rise_has_all_at_once() {
        let ramp = Ramp { from: 5, to: 5, over_ns: SECOND_NS };
        assert_eq!(users_at(ramp, 0), 5);
        assert!((0..5).all(|user| ramp.sets_out_after_ns(user) == 0));
    }
}
