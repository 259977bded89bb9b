//! When a trial begins, and each of its turns.

use crate::clock::{now_ns, unix_ahead_ns};
use crate::phase::Course;
use crate::plan::Plan;

/// In an open shape the first instant lies so far ahead: requests that are due while the threads wake up would be sent
/// late.
const OPEN_LEAD_NS: u64 = 20_000_000;

/// The first instant of a trial, on both clocks.
pub struct Beginning {
    pub at_ns: u64,
    pub unix_ns: u64,
}

impl Beginning {
    /// Returns the first instant of a trial of this plan whose threads are ready now.
    pub fn of(plan: &Plan) -> Self {
        Self::after(if plan.shape.is_open() { OPEN_LEAD_NS } else { 0 })
    }

    /// Returns the instant `lead_ns` from now.
    fn after(lead_ns: u64) -> Self {
        let at_ns = now_ns() + lead_ns;
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
        for lead_ns in [0, OPEN_LEAD_NS] {
            let beginning = Beginning::after(lead_ns);
            // The distance between the clocks is read to the microsecond.
            let about = beginning.at_ns - 1_000_000..=beginning.at_ns + 1_000_000;
            assert!(stamped_ns(beginning.unix_ns, unix_ahead_ns(), about).is_some());
            assert!(beginning.at_ns - lead_ns <= now_ns());
        }
    }
}
