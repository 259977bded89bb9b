//! One reading of a process tree, and what a series of readings comes to in the record.

use serde::{Deserialize, Serialize};

use super::continued::Continued;
use super::schedstat::Used;
use super::{rise, sum};
use crate::record::{ProcessWindow, SampleColumns};

/// One reading of a process tree. CPU and switches are cumulative.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    pub at_ns: u64,
    /// When that is on the time axis of the record.
    pub row_ns: u64,
    pub late_ns: u64,
    pub cpu_user_ns: u64,
    pub cpu_kernel_ns: u64,
    pub rss_bytes: u64,
    pub pss_bytes: Option<u64>,
    pub processes: u64,
    pub threads: u64,
    pub voluntary_switches: Option<u64>,
    pub involuntary_switches: Option<u64>,
    /// Also where too many threads ended to know all.
    pub switches_at_least: Option<u64>,
    /// What the threads that were read had used, in all.
    pub used_by_threads: Option<Used>,
    /// When the threads were read.
    pub threads_at_ns: Option<u64>,
}

/// What is cumulative in the samples of a load in turns.
#[derive(Debug, Default)]
pub struct Cumulative([Continued; 4]);

impl Cumulative {
    /// Ends a turn.
    pub fn resume(&mut self) {
        self.0.iter_mut().for_each(Continued::resume);
    }

    /// Leaves out of a sample what lies between two turns.
    pub fn take(&mut self, sample: &mut Sample) {
        let [user, kernel, voluntary, involuntary] = &mut self.0;
        sample.cpu_user_ns = user.take(sample.cpu_user_ns);
        sample.cpu_kernel_ns = kernel.take(sample.cpu_kernel_ns);
        sample.voluntary_switches = voluntary.take_known(sample.voluntary_switches);
        sample.involuntary_switches = involuntary.take_known(sample.involuntary_switches);
    }
}

impl SampleColumns {
    pub fn push(&mut self, sample: &Sample) {
        self.at_ns.push(sample.row_ns);
        self.late_ns.push(sample.late_ns);
        self.cpu_user_ns.push(sample.cpu_user_ns);
        self.cpu_kernel_ns.push(sample.cpu_kernel_ns);
        self.rss_bytes.push(sample.rss_bytes);
        self.pss_bytes.push(sample.pss_bytes);
        self.processes.push(sample.processes);
        self.threads.push(sample.threads);
        self.voluntary_switches.push(sample.voluntary_switches);
        self.involuntary_switches.push(sample.involuntary_switches);
    }
}

impl ProcessWindow {
    /// Returns what happened in this turn and in another one.
    pub fn and(self, other: Self) -> Self {
        Self {
            span_ns: self.span_ns + other.span_ns,
            cpu_user_ns: self.cpu_user_ns + other.cpu_user_ns,
            cpu_kernel_ns: self.cpu_kernel_ns + other.cpu_kernel_ns,
            voluntary_switches: sum(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: sum(self.involuntary_switches, other.involuntary_switches),
            switches_at_least: sum(self.switches_at_least, other.switches_at_least),
            run_queue_ns: sum(self.run_queue_ns, other.run_queue_ns),
            run_queue_cpu_ns: sum(self.run_queue_cpu_ns, other.run_queue_cpu_ns),
            threads_span_ns: sum(self.threads_span_ns, other.threads_span_ns),
            rss_max_bytes: self.rss_max_bytes.max(other.rss_max_bytes),
            pss_max_bytes: self.pss_max_bytes.max(other.pss_max_bytes),
            processes_max: self.processes_max.max(other.processes_max),
            threads_max: self.threads_max.max(other.threads_max),
        }
    }

    /// Returns what happened between the first and the last of `samples`, or `None` if the processes were gone at
    /// either end.
    pub fn over(samples: &[Sample]) -> Option<Self> {
        let (first, last) = (samples.first()?, samples.last()?);
        if first.processes == 0 || last.processes == 0 {
            return None;
        }
        // The sum is exact. Its split into user and kernel time is estimated from ticks at each reading, so either
        // part may be less than before.
        let user_ns = |sample: &Sample| sample.cpu_user_ns;
        let cpu_ns = |sample: &Sample| sample.cpu_user_ns + sample.cpu_kernel_ns;
        let spent_ns = cpu_ns(last).saturating_sub(cpu_ns(first));
        let spent_user_ns = user_ns(last).saturating_sub(user_ns(first)).min(spent_ns);
        let max = |value: fn(&Sample) -> u64| samples.iter().map(value).max().unwrap_or(0);
        let by_threads =
            |of: fn(Used) -> u64| rise(first.used_by_threads.map(of), last.used_by_threads.map(of));
        Some(Self {
            span_ns: last.at_ns.saturating_sub(first.at_ns),
            cpu_user_ns: spent_user_ns,
            cpu_kernel_ns: spent_ns - spent_user_ns,
            voluntary_switches: rise(first.voluntary_switches, last.voluntary_switches),
            involuntary_switches: rise(first.involuntary_switches, last.involuntary_switches),
            switches_at_least: rise(first.switches_at_least, last.switches_at_least),
            run_queue_ns: by_threads(|used| used.run_queue_ns),
            run_queue_cpu_ns: by_threads(|used| used.cpu_ns),
            threads_span_ns: rise(first.threads_at_ns, last.threads_at_ns),
            rss_max_bytes: max(|sample| sample.rss_bytes),
            pss_max_bytes: samples.iter().filter_map(|sample| sample.pss_bytes).max(),
            processes_max: max(|sample| sample.processes),
            threads_max: max(|sample| sample.threads),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_window_spent_is_exact_where_its_split_goes_back() {
        let sample = |user_ms: u64, kernel_ms: u64| Sample {
            cpu_user_ns: user_ms * 1_000_000,
            cpu_kernel_ns: kernel_ms * 1_000_000,
            processes: 1,
            ..Sample::default()
        };
        let window = ProcessWindow::over(&[sample(80, 1_044), sample(3_400, 58)]).unwrap();
        assert_eq!((window.cpu_user_ns, window.cpu_kernel_ns), (2_334_000_000, 0));
        let window = ProcessWindow::over(&[sample(80, 20), sample(100, 60)]).unwrap();
        assert_eq!((window.cpu_user_ns, window.cpu_kernel_ns), (20_000_000, 40_000_000));
    }
}
