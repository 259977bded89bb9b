//! What is recorded of the server's dependencies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unread::Unread;

/// The connections that the server's process tree has opened to others: a row per reading, at random times. Where readings
/// are further apart, each stands for a longer time.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DependencyRecord {
    /// Since the first instant.
    pub at_ns: Vec<u64>,
    /// How much later than due the reading began.
    pub late_ns: Vec<u64>,
    /// CPU time of the reading.
    pub cost_ns: Vec<u64>,
    /// Those with the most connections, at most sixteen, the most first.
    pub peers: Vec<PeerRecord>,
    /// CPU time, in the measured phase, of the processes of this machine that serve the dependencies which were used: those
    /// that listen there, and their descendants. The server's and the engine's own are not among them. Null if it was not
    /// read at both ends of the phase.
    #[serde(default)]
    pub serving_cpu_ns: Option<u64>,
    /// From the reading of all processes at the beginning of the phase to that at its end: what these CPU times are of.
    pub serving_span_ns: Option<u64>,
    /// Time in which threads of those who serve were ready to run and did not run, of the threads that were there at its
    /// end. Null if it may not be read, if there are too many threads on this machine, or if the kernel does not count it.
    pub serving_run_queue_ns: Option<u64>,
    /// The CPU time of the same threads. The rest of `serving_cpu_ns` was used by threads that have ended.
    pub serving_run_queue_cpu_ns: Option<u64>,
    /// The processes that serve, as far as they used a tick or more.
    pub serving_pids: Vec<i32>,
    /// How much CPU time at most further processes may have used that serve such a dependency: those that could not be
    /// found, which are among all processes whose sockets this user may not read, and those that listen where
    /// connections led that were closed before it was known whose they were, if no dependency was seen to be asked. 0 if
    /// there are none of either, null if it is not known.
    #[serde(default)]
    pub unfound_cpu_ns: Option<u64>,
    /// The further processes that may serve, as far as they used a tick or more.
    pub unfound_pids: Vec<i32>,
    /// What of it could not be read, by its column, or by a peer's address and its column.
    pub unread: Vec<Unread>,
    /// Why nothing could be read; null if it could. Then there are no rows.
    pub why: Option<String>,
}

/// One dependency, with a row for each reading of the record. `connections` is the sum of the columns after it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerRecord {
    /// Address and port, or `unix:` and the path of a socket.
    pub address: String,
    /// Null if it is not on this machine, or cannot be read.
    pub listener: Option<ListenerRecord>,
    pub connections_max: u64,
    /// Open ones, and those that were closed before it was known whose they are.
    pub connections: Vec<u64>,
    /// Those on which the server has sent something later than something came, or that are not established yet. It is
    /// the number of connections: on one that carries several requests at a time, more than one may wait.
    pub waiting: Vec<u64>,
    /// Those on which nothing was sent since something came, or whose answer is there and not read, or that the
    /// dependency has closed.
    pub idle: Vec<u64>,
    /// Those of which this could not be told.
    pub unknown: Vec<u64>,
    /// Of those that wait or are idle, how many were closed before it was known whose they are. They count as the server's,
    /// as all others were that were opened to this dependency meanwhile.
    #[serde(default)]
    pub inferred: Vec<u64>,
}

/// The process that listens at an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListenerRecord {
    /// Of several that share the socket, the lowest.
    pub pid: i32,
    pub name: String,
    /// Whether it is a process of the server itself.
    #[serde(default)]
    pub own: bool,
}
