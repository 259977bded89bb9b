//! How a thread waits for an instant: it sleeps until shortly before, and polls the clock for the rest. It learns how
//! long this rest must be from how late the machine wakes it. Pure; it does not sleep.

use std::num::NonZeroU64;

use rustix::time::Timespec;

use crate::spec::Pacing;

/// The largest share of the time in which the clock is polled. At a high rate, being a few microseconds late costs less
/// than a core that only waits and looks busy.
const MOST_OF_THE_TIME: f64 = 0.25;
/// If a machine wakes the thread later than this, polling the clock for longer does not help.
const LONGEST_MARGIN_NS: u64 = 50_000;
const SHORTEST_MARGIN_NS: u64 = 2_000;

pub struct Pacer {
    spins: bool,
    /// How late wake-ups are, smoothed.
    late_ns: f64,
    /// How far ahead the next instant is when a sleep begins, smoothed.
    ahead_ns: f64,
}

impl Pacer {
    pub fn new(pacing: Pacing) -> Self {
        Self { spins: pacing == Pacing::Spin, late_ns: 10_000.0, ahead_ns: 1e6 }
    }

    /// Returns how long to sleep for something that is due at `due_ns`, or 0 if there is no time to sleep.
    #[inline]
    pub fn sleep_ns(&mut self, now_ns: u64, due_ns: u64) -> u64 {
        let ahead_ns = due_ns.saturating_sub(now_ns);
        let sleep_ns = ahead_ns.saturating_sub(self.margin_ns());
        if self.spins || sleep_ns == 0 {
            return 0;
        }
        self.ahead_ns += (ahead_ns as f64 - self.ahead_ns) / 64.0;
        sleep_ns
    }

    /// Learns from a sleep that was to end at `due_ns` and ended at `now_ns`, and that only the clock ended.
    #[inline]
    pub fn woke(&mut self, due_ns: u64, now_ns: u64) {
        let late_ns = now_ns.saturating_sub(due_ns).min(4 * LONGEST_MARGIN_NS) as f64;
        self.late_ns += (late_ns - self.late_ns) / 16.0;
    }

    fn margin_ns(&self) -> u64 {
        let margin_ns = self.late_ns.min(self.ahead_ns * MOST_OF_THE_TIME);
        (margin_ns as u64).clamp(SHORTEST_MARGIN_NS, LONGEST_MARGIN_NS)
    }
}

/// Converts a length of time to the kernel's type.
#[inline]
pub fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// Asks the kernel to wake this thread to the nanosecond. By default it gathers wake-ups within 50 µs to save energy
/// (prctl(2), PR_SET_TIMERSLACK).
pub fn ask_for_exact_timers() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1)); // Only an older kernel refuses.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_until_shortly_before() {
        let mut pacer = Pacer::new(Pacing::Sleep);
        let sleep_ns = pacer.sleep_ns(1_000_000, 2_000_000);
        assert!((900_000..1_000_000).contains(&sleep_ns), "{sleep_ns}");
        assert_eq!(pacer.sleep_ns(1_000_000, 1_001_000), 0);
        assert_eq!(pacer.sleep_ns(1_000_000, 900_000), 0);
    }

    #[test]
    fn it_learns_how_late_it_is_woken() {
        let mut pacer = Pacer::new(Pacing::Sleep);
        (0..200).for_each(|_| pacer.woke(1_000, 4_000));
        assert!((2_900..=3_000).contains(&pacer.margin_ns()), "{}", pacer.margin_ns());
        (0..200).for_each(|_| pacer.woke(1_000, 5_000_000));
        assert_eq!(pacer.margin_ns(), LONGEST_MARGIN_NS);
    }

    #[test]
    fn at_a_high_rate_it_rather_is_late() {
        let mut pacer = Pacer::new(Pacing::Sleep);
        (0..200).for_each(|_| pacer.woke(0, 40_000));
        for _ in 0..1_000 {
            pacer.sleep_ns(0, 60_000);
        }
        assert!((14_000..=16_000).contains(&pacer.margin_ns()), "{}", pacer.margin_ns());
    }

    #[test]
    fn it_never_sleeps_where_it_spins() {
        assert_eq!(Pacer::new(Pacing::Spin).sleep_ns(0, 1_000_000_000), 0);
    }
}
