//! How long one thread has been on a core, and how long it was ready to run and did not run, by its `schedstat`
//! (proc(5), the kernel's sched-stats.rst). The kernel adds the CPU time of a running thread at each tick, and the time
//! in the run queue when it ends.

use std::ops::{AddAssign, Sub};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// Returns whether this kernel counts what threads use. The calling thread has run.
pub fn is_counted() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    let own = || std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    *COUNTS.get_or_init(|| own().and_then(|text| Used::parse(&text)).is_some())
}

/// What a thread has used since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    pub cpu_ns: u64,
    pub run_queue_ns: u64,
}

impl Used {
    /// Parses the three numbers of `schedstat`. Returns `None` if the third is zero: then the thread has not run yet, or
    /// the kernel does not account for run queues and writes three zeros.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        let (cpu_ns, run_queue_ns, turns) =
            (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        (turns > 0).then_some(Self { cpu_ns, run_queue_ns })
    }
}

impl AddAssign for Used {
    fn add_assign(&mut self, other: Self) {
        self.cpu_ns += other.cpu_ns;
        self.run_queue_ns += other.run_queue_ns;
    }
}

impl Sub for Used {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(other.cpu_ns),
            run_queue_ns: self.run_queue_ns.saturating_sub(other.run_queue_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_the_cpu_time_and_the_second_the_run_queue() {
        let used = |cpu_ns, run_queue_ns| Some(Used { cpu_ns, run_queue_ns });
        assert_eq!(Used::parse("31107815 67226625 402\n"), used(31_107_815, 67_226_625));
        assert_eq!(Used::parse("31107815 0 1\n"), used(31_107_815, 0));
    }

    #[test]
    fn a_kernel_that_does_not_count_is_not_taken_for_an_idle_queue() {
        for text in ["0 0 0\n", "", "12 13\n", "x 13 1\n"] {
            assert_eq!(Used::parse(text), None, "{text:?}");
        }
    }
}
