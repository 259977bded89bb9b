//! The clock of a trial: monotonic, in nanoseconds, never set back. The wall clock is read only because the kernel
//! stamps what it receives with the wall clock.

use rustix::time::{ClockId, clock_gettime};

/// Returns the nanoseconds since an arbitrary instant, which is the same for all threads of this machine.
#[inline]
pub fn now_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// Returns the wall clock in nanoseconds since 1970. It may be set at any time, so no duration is measured with it.
#[inline]
pub fn unix_ns() -> u64 {
    read_ns(ClockId::Realtime)
}

#[inline]
fn read_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Returns how far the wall clock is ahead of the monotonic clock now.
#[inline]
pub fn unix_ahead_ns() -> u64 {
    let (mut ahead_ns, mut shortest_ns) = (0, u64::MAX);
    // If the kernel takes this thread off its core between the readings, the result is wrong by the time that the
    // thread was away, and every stamp with it. So the monotonic readings that are closest together count.
    for _ in 0..READINGS {
        let before_ns = now_ns();
        let unix_ns = unix_ns();
        let after_ns = now_ns();
        if after_ns - before_ns < shortest_ns {
            shortest_ns = after_ns - before_ns;
            ahead_ns = unix_ns.wrapping_sub(before_ns.midpoint(after_ns));
        }
    }
    ahead_ns
}

const READINGS: usize = 3;

/// Converts a stamp of the kernel to the monotonic clock. The stamp is by the wall clock, which is `unix_ahead_ns`
/// ahead.
///
/// Returns `None` if there is no stamp, or if it lies outside `possible_ns`, which reaches from the sending of the
/// request to now: then the wall clock was set in between.
#[inline]
pub fn stamped_ns(
    stamp_unix_ns: u64,
    unix_ahead_ns: u64,
    possible_ns: std::ops::RangeInclusive<u64>,
) -> Option<u64> {
    let at_ns = stamp_unix_ns.wrapping_sub(unix_ahead_ns);
    (stamp_unix_ns != 0 && possible_ns.contains(&at_ns)).then_some(at_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD_NS: u64 = 1_700_000_000_000_000_000;

    #[test]
    fn a_stamp_is_moved_to_the_monotonic_clock() {
        assert_eq!(stamped_ns(AHEAD_NS + 9_700, AHEAD_NS, 9_000..=10_000), Some(9_700));
        assert_eq!(stamped_ns(AHEAD_NS + 10_000, AHEAD_NS, 9_000..=10_000), Some(10_000));
    }

    #[test]
    fn no_stamp_is_no_time() {
        assert_eq!(stamped_ns(0, AHEAD_NS, 0..=u64::MAX), None);
    }

    #[test]
    fn a_wall_clock_that_was_set_makes_a_stamp_useless() {
        let hour_ns = 3_600_000_000_000;
        for set_ns in [hour_ns, 0_u64.wrapping_sub(hour_ns)] {
            let stamp = AHEAD_NS + 9_700;
            assert_eq!(stamped_ns(stamp, AHEAD_NS.wrapping_add(set_ns), 9_000..=10_000), None);
        }
        // This stamp is from before the request was sent.
        assert_eq!(stamped_ns(AHEAD_NS + 8_000, AHEAD_NS, 9_000..=10_000), None);
    }

    #[test]
    fn the_clocks_agree_on_the_present() {
        let before_ns = now_ns();
        let ahead_ns = unix_ahead_ns();
        let at_ns = stamped_ns(unix_ns(), ahead_ns, before_ns..=now_ns() + 1_000_000);
        assert!(at_ns.is_some());
    }
}
