//! The result of one trial: the `TrialRecord`, the only document that the engine returns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, Outcomes, Reason};
use crate::phase::Phase;
use crate::spec::{CONTRACT_VERSION, TrialSpec};

mod dependencies;
mod histograms;
mod load_hosts;
mod machine;
mod not_sent;
mod processes;
mod profile;
mod reasons;
mod speed;
mod tasks;
mod unread;

pub use dependencies::{DependencyRecord, ListenerRecord, PeerRecord};
pub use histograms::{HistogramRecord, Histograms, decoded, encoded};
pub use load_hosts::LoadHostRecord;
pub use machine::{AllProcessesWindow, CoreColumns, MachineRecord, MachineWindow, OtherProgram};
pub use not_sent::{NotSent, NotSentReason};
pub use processes::{ProcessRecord, ProcessWindow, SampleColumns, ThreadRecord, ThreadWindow};
pub use profile::{ProfileRecord, SampledBetween, SampledFunction, SampledObject};
pub use reasons::ReasonRecord;
pub use speed::SpeedRecord;
pub use tasks::{NamedThreads, PlaceRecord, TaskRecord, TaskThread};
pub use unread::Unread;

/// The result of one trial. All times are in nanoseconds. All totals are of the measured phase alone, and `scheduled`
/// is the sum of the outcomes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialRecord {
    #[schemars(extend("const" = CONTRACT_VERSION))]
    pub version: u32,
    pub engine_version: String,
    pub spec: TrialSpec,
    /// Which machine the load came from, as it was named; null = the one that the record was asked for on.
    #[serde(default)]
    pub load_host: Option<String>,
    /// What each of several load hosts did of the load; empty = it came from one machine.
    #[serde(default)]
    pub load_hosts: Vec<LoadHostRecord>,
    /// Wall clock at the first instant.
    pub began_unix_ns: u64,
    /// Monotonic clock of the load host at the first instant; null if the load came from several.
    #[serde(default)]
    pub began_monotonic_ns: Option<u64>,
    /// From the first instant to the beginning of the measured phase.
    pub warm_up_ns: u64,
    /// Length of the measured phase.
    pub measured_ns: u64,
    pub scheduled: u64,
    pub outcomes: Outcomes,
    /// Why requests were not sent. The sum is the outcome `not-sent`.
    pub not_sent: NotSent,
    /// Requests that met a connection which the server closed after an earlier answer, without announcing it and
    /// without a byte of their own answer, and that were sent again over a new connection.
    pub retried: u64,
    /// Why TLS failed the first time: in the handshake or later.
    pub tls_fault: Option<String>,
    /// Why requests failed: for each outcome but `wrong-status` and `wrong-body` its reasons, whose counts add up to it.
    pub reasons: Vec<ReasonRecord>,
    pub warm_up: WarmUpRecord,
    /// Answers whose body was hashed and found right.
    pub bodies_hashed: u64,
    /// Bytes of the answers; with TLS, bytes of their plaintext.
    pub received_bytes: u64,
    /// Bytes of the requests; with TLS, bytes of their plaintext.
    pub sent_bytes: u64,
    pub connections_opened: u64,
    /// Connections that the server ended: with an answer, after it, or while they were idle.
    pub connections_closed_by_server: u64,
    /// Connections of the shape that had a request in flight during the measured phase.
    pub users: u64,
    /// Those of these connections that got no whole answer, right or wrong, in the measured phase.
    pub users_unanswered: u64,
    /// How long users of a closed shape had nothing in flight because the engine had not got to them, in total:
    /// before their first request, and before their next connection was begun. No response time includes it.
    pub users_waited_ns: u64,
    /// How long requests had been due when the engine began to send them, or to open a connection for them, in total:
    /// of the requests due in the measured phase, without those that found no connection in time. Every response time
    /// begins with it.
    pub requests_waited_ns: u64,
    /// One record for each request of the spec, in the order of the spec.
    pub requests: Vec<RequestRecord>,
    pub arrivals: ArrivalRecord,
    pub histograms: Histograms,
    pub series: Series,
    pub log: Log,
    pub probes: Probes,
}

/// The results of one request of the spec in the measured phase.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestRecord {
    pub name: String,
    /// Requests of this kind that were sent, or that the engine tried to send. A request for which no connection was
    /// free in time has no kind, so these numbers may add up to less than the trial's.
    pub scheduled: u64,
    pub outcomes: Outcomes,
    /// Whole answers by their status, expected or not.
    pub statuses: BTreeMap<u16, u64>,
    /// From due to last byte, of the requests that ended `ok`.
    pub response_time: HistogramRecord,
    /// Answers whose body was hashed and found right.
    pub bodies_hashed: u64,
    /// For each outcome, reason and status, the first exchange whose answer was kept, or else the first exchange. They are
    /// taken from the first instant on, warm-up included. An answer that looks right until its end is kept only after
    /// an earlier one ended with the same outcome.
    pub examples: Vec<Example>,
}

/// One exchange. Bytes that are not UTF-8 are replaced. What a server sent is not escaped.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub outcome: Outcome,
    /// Null if no head came.
    pub status: Option<u16>,
    /// Why it failed; null if a whole answer came in time, or nothing was sent.
    pub reason: Option<Reason>,
    /// When the exchange ended, since the first instant.
    pub at_ns: u64,
    /// The first 4 KiB of the request, as it was sent.
    pub request: String,
    /// The first 4 KiB of the answer's head, or of what came if no head was whole.
    pub head: String,
    /// The first KiB of the body, without chunked framing.
    pub body: String,
}

/// The clock that says when an answer had arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalClock {
    /// The kernel's clock, when the last byte of the answer came in.
    Kernel,
    /// The engine's clock, when it read the answer. The engine's own delay then counts as the server's.
    Engine,
}

/// Which clock stamped the arrivals of answers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalRecord {
    pub clock: ArrivalClock,
    /// Answers without a usable timestamp of the kernel although it was asked for one. The engine's clock was used.
    pub unstamped: u64,
    /// How long answers had waited when the engine took them up, in total.
    pub held_ns: u64,
}

/// The warm-up's requests, and how they ended.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WarmUpRecord {
    pub scheduled: u64,
    pub outcomes: Outcomes,
}

/// One row per interval from the first instant on, stored by column. In each phase the first 32,768 rows are of one interval
/// each. From then on a row is of two intervals, from twice as many on of four, and so on: what it says is true of all of it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The length of one interval.
    pub interval_ms: u64,
    /// Beginning of the interval, since the first instant.
    pub at_ns: Vec<u64>,
    pub duration_ns: Vec<u64>,
    pub phase: Vec<Phase>,
    pub ok: Vec<u64>,
    pub failed: Vec<u64>,
    pub p50_ns: Vec<Option<u64>>,
    pub p99_ns: Vec<Option<u64>>,
    pub max_ns: Vec<Option<u64>>,
    /// Requests that came due.
    pub scheduled: Vec<u64>,
    /// The engine's own lateness; null if the interval has none.
    pub engine_late_p99_ns: Vec<Option<u64>>,
    /// Connections open when the interval ended.
    pub connections: Vec<u64>,
}

/// The response times of the answers that were `ok`: a histogram per interval of the measured phase. From 2,048 intervals on
/// it is of two, from twice as many on of four, and so on. Of a part of a load, each interval is that of a row of the series.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The length of one interval.
    pub interval_ms: u64,
    /// Beginning of the interval, since the measured phase began.
    pub at_ns: Vec<u64>,
    pub duration_ns: Vec<u64>,
    /// HdrHistogram, V2 compressed, base64.
    pub response_time: Vec<String>,
}

/// Readings of the engine's own processes, of the server's if its pid was given, and of the machine.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probes {
    pub engine: ProcessRecord,
    pub server: Option<ProcessRecord>,
    /// The engine's threads that send and receive.
    pub threads: Vec<ThreadRecord>,
    /// Of the machine that the load comes from.
    pub sockets: SocketRecord,
    /// The machine that the load comes from.
    pub machine: MachineRecord,
    /// The server's network namespace; null if the load comes from there, too.
    #[serde(default)]
    pub server_sockets: Option<SocketRecord>,
    /// The server's machine; null if the load comes from it, too.
    #[serde(default)]
    pub server_machine: Option<MachineRecord>,
    /// The process that read the server's machine; null if the load comes from it, too: then that is the engine.
    #[serde(default)]
    pub watch: Option<ProcessRecord>,
    /// Null if the spec does not ask for it.
    pub stages: Option<StageRecord>,
    /// Null if the spec does not ask for it.
    pub tasks: Option<TaskRecord>,
    /// Null if the spec does not ask for it.
    pub dependencies: Option<DependencyRecord>,
    /// Null if the spec does not ask for it.
    pub speed: Option<SpeedRecord>,
}

/// How it was read at which stage requests in flight were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadBy {
    /// Of requests that the engine knew to be in flight, both ends of their connections were looked up.
    #[default]
    Board,
    /// Only the server's ends of the load's connections were looked up: whether there is a request, and where, is told by
    /// that end alone. What is on its way to the server or back is not seen, so `in_flight` has only what is at the
    /// server.
    ServerEnd,
}

/// At which stage requests in flight were: a row per reading, at random times. A reading draws some of the requests in flight
/// at random, and looks up the server's end of their connections. What it drew is the sum of the columns after `drawn`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageRecord {
    #[serde(default)]
    pub read_by: ReadBy,
    /// Since the first instant.
    pub at_ns: Vec<u64>,
    /// How much later than due the reading began.
    pub late_ns: Vec<u64>,
    /// CPU time of the reading.
    pub cost_ns: Vec<u64>,
    /// All requests in flight when the reading began.
    pub in_flight: Vec<u64>,
    pub drawn: Vec<u64>,
    /// No program holds the server's end of the connection.
    pub not_accepted: Vec<u64>,
    /// The server has accepted the connection, and the engine has not sent all of the request: TLS is being agreed on,
    /// or the request is long.
    pub unsent: Vec<u64>,
    /// The server has not read all that has arrived.
    pub unread: Vec<u64>,
    /// The server has read the request, and nothing waits on the way back.
    pub inside: Vec<u64>,
    /// Some of the answer waits on the way back, the server has closed its end, or the engine has the answer and has not
    /// counted it yet.
    pub returning: Vec<u64>,
    /// The request ended while it was looked up.
    pub thrown_away: Vec<u64>,
    /// The server's end alone does not tell whether there is a request. Empty if the stages were read by the board.
    #[serde(default)]
    pub not_told_apart: Vec<u64>,
    /// Why nothing could be read; null if it could. Then there are no rows.
    pub why: Option<String>,
    /// Whether that is because another program than the one that is watched listens there, a proxy for instance.
    pub in_front: bool,
}

/// TCP of the whole machine (of its network namespace): a row per sample. Null = could not be read.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SocketRecord {
    /// Since the first instant.
    pub at_ns: Vec<u64>,
    /// Segments that were sent again; cumulative.
    pub retransmitted: Vec<Option<u64>>,
    /// Sockets that hold a port.
    pub in_use: Vec<Option<u64>>,
    /// Ports of closed connections that are not free again yet.
    pub time_wait: Vec<Option<u64>>,
    pub unread: Vec<Unread>,
}
