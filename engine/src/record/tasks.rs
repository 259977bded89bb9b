//! What is recorded of the server's threads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::ProfileRecord;
use super::unread::Unread;

/// What the threads of the server's process tree did: a row per reading, at random times, and sums over the measured phase.
/// A reading draws some of the threads at random. Those that neither ran nor waited for a disk nor were stopped slept.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRecord {
    /// Since the first instant.
    pub at_ns: Vec<u64>,
    /// How much later than due the reading began.
    pub late_ns: Vec<u64>,
    /// CPU time of the reading, and of looking for threads that began or ended after it.
    pub cost_ns: Vec<u64>,
    /// All threads, as far as they were known.
    pub threads: Vec<u64>,
    /// Those that were drawn and were still there.
    pub looked: Vec<u64>,
    /// On a core or ready to run.
    pub running: Vec<u64>,
    /// Asleep so that no signal wakes them: they wait for a disk, mostly.
    pub disk: Vec<u64>,
    /// Stopped by a signal or a debugger.
    pub stopped: Vec<u64>,
    /// Where threads were found asleep in the measured phase, waiting for a disk included: the most frequent places,
    /// most often first. A thread that woke up while it was looked at is in none.
    pub places: Vec<PlaceRecord>,
    /// The threads that used most CPU time in the measured phase, most first.
    pub threads_seen: Vec<TaskThread>,
    /// CPU time by the names of threads in the measured phase: the ten names whose threads used most, most first. Those
    /// that have ended count up to their last reading.
    pub by_name: Vec<NamedThreads>,
    /// From the reading of all threads at the beginning of the measured phase to that at its end. What follows is of
    /// this time, and null if either reading lacks a thread.
    pub window_ns: Option<u64>,
    /// Of all threads that were there at the end. Of a thread that runs, the kernel counts up to its last tick.
    pub cpu_ns: Option<u64>,
    /// Time in which these threads were ready to run and did not run.
    pub run_queue_ns: Option<u64>,
    /// Threads that were seen and have ended.
    pub ended: Option<u64>,
    /// Of the threads that have ended, up to their last reading.
    pub ended_cpu_ns: Option<u64>,
    /// Of the threads that have ended, up to their last reading.
    pub ended_run_queue_ns: Option<u64>,
    /// Threads that began and were seen.
    pub born: Option<u64>,
    /// CPU time of the readings of all threads at both ends of the measured phase.
    pub ends_cost_ns: u64,
    /// What the CPU time in user space was spent on in the measured phase; null if nothing of the threads could be read.
    pub profile: Option<ProfileRecord>,
    pub unread: Vec<Unread>,
    /// Why nothing could be read; null if it could. Then there are no rows.
    pub why: Option<String>,
}

/// A place in the kernel, and how often threads were found asleep there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceRecord {
    /// The kernel's name of it (`wchan`); empty if the kernel does not say.
    #[serde(rename = "where")]
    pub place: String,
    /// The number of looks.
    pub looked: u64,
}

/// The threads of one name over the measured phase.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedThreads {
    /// As the threads chose it, without the number at its end. It is not escaped.
    pub name: String,
    pub threads: u64,
    pub cpu_ns: u64,
}

/// A thread of the server over the measured phase.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskThread {
    pub pid: i32,
    pub tid: i32,
    /// As the thread chose it. It is not escaped.
    pub name: String,
    pub cpu_ns: u64,
    /// Time in which it was ready to run and did not run.
    pub run_queue_ns: u64,
    /// Where it was found asleep most often; null if it never was.
    pub place: Option<String>,
    /// Whether it has ended. Then its times are those of its last reading.
    pub ended: bool,
}
