//! What is recorded of a process tree, and of the engine's own threads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unread::Unread;

/// The readings of one process tree.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessRecord {
    pub samples: SampleColumns,
    /// Over the measured phase alone; null if it could not be read at both ends.
    pub window: Option<ProcessWindow>,
    pub unread: Vec<Unread>,
}

/// One row per sample; in a long trial they are further apart. CPU and switches are cumulative. Null = not read this time.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleColumns {
    /// Since the first instant.
    pub at_ns: Vec<u64>,
    /// How much later than due the sample was taken.
    pub late_ns: Vec<u64>,
    pub cpu_user_ns: Vec<u64>,
    pub cpu_kernel_ns: Vec<u64>,
    pub rss_bytes: Vec<u64>,
    /// Null of the engine: while the kernel adds it up, no thread of the process can map memory.
    pub pss_bytes: Vec<Option<u64>>,
    pub processes: Vec<u64>,
    pub threads: Vec<u64>,
    pub voluntary_switches: Vec<Option<u64>>,
    pub involuntary_switches: Vec<Option<u64>>,
}

/// One process tree over the measured phase alone: CPU time and switches in it, and the maxima of the rest.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessWindow {
    /// From the reading at the beginning of the phase to that at its end: what the CPU times are of.
    pub span_ns: u64,
    pub cpu_user_ns: u64,
    pub cpu_kernel_ns: u64,
    pub voluntary_switches: Option<u64>,
    pub involuntary_switches: Option<u64>,
    /// All that were counted, of threads that ended up to their last reading. Null if none was read at both ends.
    pub switches_at_least: Option<u64>,
    /// Time in which threads were ready to run and did not run; of threads that ended, up to their last reading. Null if
    /// none was read at both ends, or the kernel does not count it.
    pub run_queue_ns: Option<u64>,
    /// The CPU time of what `run_queue_ns` is of. The rest of the tree's CPU time was used by threads that ended before
    /// they were read, or after they were.
    pub run_queue_cpu_ns: Option<u64>,
    /// From the reading of all threads at the beginning to that at the end, which come after those of the processes:
    /// what switches and the run queue are of. Null if they were not read at both ends.
    pub threads_span_ns: Option<u64>,
    pub rss_max_bytes: u64,
    pub pss_max_bytes: Option<u64>,
    pub processes_max: u64,
    pub threads_max: u64,
}

/// One thread: a row per sample, cumulative. Null = could not be read.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadRecord {
    /// Since the first instant.
    pub at_ns: Vec<u64>,
    pub cpu_ns: Vec<Option<u64>>,
    /// Time in which the thread was ready to run and did not run.
    pub run_queue_ns: Vec<Option<u64>>,
    /// Over the measured phase alone.
    pub window: Option<ThreadWindow>,
}

/// One thread over the measured phase alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadWindow {
    /// From the reading at the beginning of the phase to that at its end.
    pub span_ns: u64,
    pub cpu_ns: u64,
    /// Null if the kernel does not count it.
    pub run_queue_ns: Option<u64>,
}
