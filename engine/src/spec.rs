//! What one trial is to do, as it is written: the `TrialSpec`, the only thing the engine is told. What
//! it means is `plan.rs`'s to say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of both documents; raised whenever either changes its meaning.
pub const CONTRACT_VERSION: u32 = 4;

/// One server, one workload, one load shape, one seed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialSpec {
    /// Version of this document.
    pub version: u32,
    /// Free text that comes back in the record.
    pub label: String,
    pub target: Target,
    /// What is asked; of several, each as often as its weight says.
    pub requests: Vec<RequestSpec>,
    pub shape: ShapeSpec,
    pub connection: ConnectionUse,
    /// Take the arrival of answers from the kernel's receive timestamps, where the socket offers them.
    pub kernel_timestamps: bool,
    pub pacing: Pacing,
    /// Load before the clock counts; recorded in the series, left out of every total.
    pub warm_up: Option<WarmUpSpec>,
    pub stop: StopSpec,
    pub timeouts: TimeoutSpec,
    /// Threads that send and receive, each with its own share of the connections.
    pub threads: usize,
    /// Thread i is bound to the i-th of these cores, round and round; empty leaves them unbound.
    pub cores: Vec<usize>,
    pub probe: ProbeSpec,
    pub progress: ProgressSpec,
    /// Which exchanges are kept as examples in the record.
    pub examples: Examples,
    pub seed: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Numeric address and port, for instance `127.0.0.1:8080`, or `unix:` and the path of a socket.
    pub address: String,
    /// Value of the `Host` header.
    pub host: String,
    pub tls: Option<TlsSpec>,
    /// Local addresses to connect from, in turn; empty leaves it to the kernel. Each has ports of its own.
    pub sources: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// Name that the certificate must be for, and that is sent to the server.
    pub server_name: String,
    /// Whether the certificate is verified.
    pub verify: bool,
    /// Certificates to trust (PEM); null = the system's.
    pub ca_file: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// What the record calls it; empty = its method and path.
    pub name: String,
    pub method: String,
    /// Path and query, for instance `/hello?delay_ms=5`.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    /// File that holds the body, byte by byte; instead of `body`.
    pub body_file: Option<String>,
    /// Whether `{seq}`, `{random:1-1000}` and `{line:FILE}` in path, header values and body stand for
    /// values that vary; otherwise braces are braces.
    pub varies: bool,
    /// How often beside the other requests.
    pub weight: u32,
    pub expect: ExpectSpec,
}

/// The answer that counts as `ok`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectSpec {
    /// Null = any from 200 to 299.
    pub status: Option<u16>,
    /// Length of the body, checked in every answer; null where it varies.
    pub body_bytes: Option<u64>,
    /// SHA-256 of the body in hex, checked in a sample of the answers; null where it varies.
    pub body_sha256: Option<String>,
    /// Size of that sample: the first answer of each connection and then one in so many; 0 = none.
    pub hash_one_in: u32,
}

/// When requests are due.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ShapeSpec {
    /// So many connections; on each the next request is due when the answer, and a pause, are over. Each begins
    /// within a pause.
    Closed { connections: usize, pause_ms: f64, pause: Pause },
    /// The same with a number of connections that rises evenly from the first instant of measuring on.
    Ramp { from_connections: usize, to_connections: usize, over_s: f64, pause_ms: f64, pause: Pause },
    /// One schedule that waits for no answer. A request takes the next free connection; one more is
    /// opened where none is free, up to `connections`; beyond that it queues.
    Open { connections: usize, arrivals: Arrivals, rates: Vec<RateSpec> },
}

/// How long a user pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pause {
    /// `pause_ms` every time.
    Fixed,
    /// `pause_ms` on average, exponentially distributed.
    Exponential,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Equal gaps.
    Even,
    /// Independent of one another: exponential gaps.
    Poisson,
}

/// A stretch of the schedule; its rate runs evenly from one value to the other. What follows the last
/// stretch keeps its last rate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateSpec {
    pub from_per_s: f64,
    pub to_per_s: f64,
    pub duration_s: f64,
}

/// How a thread waits for the instant at which a request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// It sleeps, and looks at the clock for the last few microseconds.
    Sleep,
    /// It never sleeps, and so has its core to itself.
    Spin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionUse {
    /// A connection serves request after request.
    KeepAlive,
    /// Every request has a connection of its own, which the engine closes after the answer.
    PerRequest,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WarmUpSpec {
    /// Connections that warm up; null = as many as the shape begins with.
    pub connections: Option<usize>,
    /// Whether they pause as the shape says; if not, each sends its next request at once.
    pub pauses: bool,
    pub stop: StopSpec,
}

/// What ends a phase.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StopSpec {
    /// So many requests answered or failed; those not sent within the time are counted `not-sent`.
    Requests {
        requests: u64,
        within_s: f64,
    },
    Duration {
        duration_s: f64,
    },
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeoutSpec {
    pub connect_s: f64,
    /// From when the request was due to the last byte of its answer.
    pub request_s: f64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    pub interval_ms: u64,
    /// Root of the server's process tree; null when the server is not on this machine.
    pub server_pid: Option<i32>,
}

/// The lines that the engine writes on standard error while the trial runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressSpec {
    pub every_ms: u64,
    /// For each of these times: how many measured answers took longer, or have been waited for so long.
    pub slower_than_ns: Vec<u64>,
}

/// Which exchanges are kept: the request, and the answer's head with the first of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Examples {
    /// Of each request, outcome and status the first, where it is not `ok`.
    Unexpected,
    /// The same, `ok` included.
    All,
}
