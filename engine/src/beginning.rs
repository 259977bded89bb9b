//! When a trial begins, and each of its turns.

use crate::clock::{now_ns, unix_ahead_ns};
use crate::phase::Course;
use crate::plan::Plan;

/// So long before its first instant a load begins to wake up its threads: what is due meanwhile would be sent late.
pub const LEAD_NS: u64 = 20_000_000;

/// The first instant of a trial, on both clocks.
pub struct Beginning {
    pub at_ns: u64,
    pub unix_ns: u64,
}

impl Beginning {
    /// Returns the first instant of a trial of this plan whose threads are ready now: `told_ns`, unless that has passed. Then
    /// users begin at once, and a schedule as soon as nothing of it would be late.
    pub fn of(plan: &Plan, told_ns: u64) -> Self {
        Self::at(told_ns, if plan.shape.is_open() { LEAD_NS } else { 0 })
    }

    /// Returns the instant `told_ns`, or `lead_ns` from now if it has passed.
    fn at(told_ns: u64, lead_ns: u64) -> Self {
        let now_ns = now_ns();
        let at_ns = if told_ns > now_ns { told_ns } else { now_ns + lead_ns };
        Self { at_ns, unix_ns: at_ns.wrapping_add(unix_ahead_ns()) }
    }
}

/// Begins the course at `at_ns`, or the turn of this number.
pub fn begin(plan: &Plan, turn: usize, course: &Course, at_ns: u64) {
    match plan.turns.get(turn) {
        Some(turn) => course.begin_turn(at_ns, turn),
        None => course.begin(at_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::stamped_ns;

    #[test]
    fn both_clocks_name_the_same_first_instant() {
        for lead_ns in [0, LEAD_NS] {
            let beginning = Beginning::at(0, lead_ns);
            // The distance between the clocks is read to the microsecond.
            let about = beginning.at_ns - 1_000_000..=beginning.at_ns + 1_000_000;
            assert!(stamped_ns(beginning.unix_ns, unix_ahead_ns(), about).is_some());
            assert!(beginning.at_ns - lead_ns <= now_ns());
        }
    }

    #[test]
    fn an_instant_that_is_told_is_the_first_unless_it_has_passed() {
        for lead_ns in [0, LEAD_NS] {
            let (before_ns, told_ns) = (now_ns(), now_ns() + 3_600_000_000_000);
            assert_eq!(Beginning::at(told_ns, lead_ns).at_ns, told_ns);
            assert!(Beginning::at(before_ns, lead_ns).at_ns >= before_ns + lead_ns);
        }
    }
}
