//! Rests between the parts of a long reading, so that no request of the load waits for all of it.

use std::thread;
use std::time::{Duration, Instant};

use super::own_cpu_ns;

/// After this much CPU time a reading rests. A request that is due waits for no longer.
const WORK_NS: u64 = 200_000;
const REST: Duration = Duration::from_millis(1);
/// If a rest takes longer, all cores are busy. Then whoever rests waits for others each time, and so does every request,
/// whether there are rests or not.
const LONGEST: Duration = Duration::from_millis(5);

pub struct Rests {
    /// Whether requests may wait.
    is_load: Box<dyn Fn() -> bool + Send>,
    from_cpu_ns: u64,
    are_over: bool,
}

impl Rests {
    /// As long as `is_load` says so there are rests.
    pub fn while_there_is(is_load: impl Fn() -> bool + Send + 'static) -> Self {
        Self { is_load: Box::new(is_load), from_cpu_ns: 0, are_over: false }
    }

    pub fn none() -> Self {
        Self { are_over: true, ..Self::while_there_is(|| false) }
    }

    /// Rests, if the calling thread has worked for long enough. It is called between two files.
    pub fn take(&mut self) {
        if self.are_over || own_cpu_ns().saturating_sub(self.from_cpu_ns) < WORK_NS {
            return;
        }
        let began = Instant::now();
        if (self.is_load)() {
            thread::sleep(REST);
        } else {
            self.are_over = true;
        }
        self.are_over |= began.elapsed() > LONGEST;
        self.from_cpu_ns = own_cpu_ns();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// Works for `cpu_ns` in small parts. Returns how often it was asked whether there is load.
    fn asked(cpu_ns: u64, answer: impl Fn() -> bool + Send + 'static) -> u64 {
        let asked = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&asked);
        let mut rests = Rests::while_there_is(move || {
            counts.fetch_add(1, Relaxed);
            answer()
        });
        let until_ns = own_cpu_ns() + cpu_ns;
        while own_cpu_ns() < until_ns {
            rests.take();
        }
        asked.load(Relaxed)
    }

    const ATTEMPTS: usize = 20;

    #[test]
    fn it_rests_after_each_part_while_there_is_load() {
        // Where others have the cores for long, the rests end: try again.
        let (mut rests, mut took) = (0, Duration::ZERO);
        for _ in 0..ATTEMPTS {
            let began = Instant::now();
            rests = asked(10 * WORK_NS, || true);
            took = began.elapsed();
            if rests >= 5 {
                break;
            }
        }
        // Sleeping takes CPU time as well, and the first call may rest.
        assert!((5..=11).contains(&rests), "{rests}");
        assert!(took >= 5 * REST, "{took:?}");
    }

    #[test]
    fn without_load_and_where_all_cores_are_busy_it_does_not_rest_again() {
        assert_eq!(asked(10 * WORK_NS, || false), 1);
        let slow = || {
            thread::sleep(2 * LONGEST);
            true
        };
        assert_eq!(asked(10 * WORK_NS, slow), 1);
    }
}
