//! What one trial is to do, as it is written: the `TrialSpec`, the only input of the engine. `plan.rs` checks it and
//! gives it its meaning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of both documents. It is raised whenever either changes its meaning.
pub const CONTRACT_VERSION: u32 = 5;

/// One server, one workload, one load shape, one seed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialSpec {
    /// Version of this document.
    #[schemars(extend("const" = CONTRACT_VERSION))]
    pub version: u32,
    /// Free text that is copied to the record.
    pub label: String,
    pub target: Target,
    /// The requests. Each is sent in proportion to its weight.
    pub requests: Vec<RequestSpec>,
    pub shape: ShapeSpec,
    /// Which part of the load this engine puts on, where several put it on together; null = all of it. All that is asked,
    /// and when, is said of the whole load. What an engine does it with is its own: `threads`, `cores`, `sources`.
    #[serde(default)]
    pub part: Option<PartSpec>,
    pub connection: ConnectionUse,
    /// Take the arrival of answers from the kernel's receive timestamps, if the socket offers them.
    pub kernel_timestamps: bool,
    pub pacing: Pacing,
    /// Load before the measured phase. It is recorded in the series and left out of every total.
    pub warm_up: Option<WarmUpSpec>,
    pub stop: StopSpec,
    /// The load is put on in these turns, one after the other. After each but the last the engine writes `{"held":1}` with
    /// the number of turns so far on standard error, and holds its load until it reads a line `go` on standard input. The
    /// measured phase is that of all turns together, and what lies between two turns has no place in the record. Empty =
    /// all of it in one go.
    #[serde(default)]
    pub turns: Vec<TurnSpec>,
    #[serde(default)]
    pub begins: Begins,
    /// The engine ends at once, without a record, if for so long no line came on standard input, or when that is at its
    /// end: whoever started it is lost, and nobody else would end the load. Besides `go` a line may be `beat`, which only
    /// says that somebody is there, and `end`, which ends the load early as SIGINT does. Meanwhile the engine writes
    /// `{"beat":N}` on standard error each second. Null = it reads no line but `go`, and goes on to its end.
    #[serde(default)]
    pub silence_s: Option<f64>,
    /// What is in files that this spec names: `ca_file`, `cert_file`, `key_file`, `body_file`, `file` of a part, and
    /// `{line:FILE}`. A file that is listed here is not opened. The record's copy of the spec has none of them, since
    /// there may be keys among them.
    #[serde(default)]
    pub files: Vec<FileSpec>,
    pub timeouts: TimeoutSpec,
    /// Threads that send and receive, each with its own share of the connections.
    pub threads: usize,
    /// Thread i is bound to the i-th of these cores. With more threads than cores the list begins again. If it is
    /// empty, threads are not bound.
    pub cores: Vec<usize>,
    pub probe: ProbeSpec,
    pub progress: ProgressSpec,
    /// Which exchanges are kept as examples in the record.
    pub examples: Examples,
    pub seed: u64,
}

impl TrialSpec {
    /// Whether lines follow it on standard input.
    pub fn takes_lines(&self) -> bool {
        !self.turns.is_empty() || self.begins == Begins::Told || self.silence_s.is_some()
    }
}

/// Where to connect, and what to send in the `Host` header.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Numeric address and port, for instance `127.0.0.1:8080`, or `unix:` and the path of a socket.
    pub address: String,
    /// Value of the `Host` header.
    pub host: String,
    pub tls: Option<TlsSpec>,
    /// The HTTP proxy that `address` is, if it is one; null = `address` is the server.
    pub proxy: Option<ProxySpec>,
    /// Local addresses to connect from, in turn. If empty, the kernel chooses. Each address has ports of its own.
    pub sources: Vec<String>,
}

/// How a connection is encrypted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// Name that the certificate must be for, and that is sent to the server.
    pub server_name: String,
    /// Whether the certificate is verified.
    pub verify: bool,
    /// Certificates to trust (PEM); null = those of the system.
    pub ca_file: Option<String>,
    /// The client's own certificate; null = it has none.
    pub client: Option<ClientCertificateSpec>,
}

/// A certificate that the client shows, and its key.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientCertificateSpec {
    /// The certificate (PEM), followed by those that lead to an authority.
    pub cert_file: String,
    /// Its private key (PEM), not encrypted.
    pub key_file: String,
}

/// What an HTTP proxy is asked for. Over TLS that is a tunnel (CONNECT); otherwise each request names the server
/// (RFC 9112, 3.2.2).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxySpec {
    /// The server's host, and its port. Over TLS the port must be there.
    pub authority: String,
    /// Headers for the proxy, beside those of the requests.
    pub headers: Vec<(String, String)>,
}

/// What a request sends, and the answer that it expects.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// The name of the request in the record; empty = its method and path.
    pub name: String,
    pub method: String,
    /// Path and query, for instance `/hello?delay_ms=5`.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    /// File that holds the body, byte by byte. It is given instead of `body`.
    pub body_file: Option<String>,
    /// The body in parts that follow one another, as of a form. They are given instead of `body`.
    pub body_parts: Option<Vec<BodyPartSpec>>,
    /// Whether `{seq}`, `{random:1-1000}` and `{line:FILE}` in path, header values and the text of the body stand
    /// for values that vary. If not, braces are braces.
    pub varies: bool,
    /// How often it is sent, in proportion to the other requests.
    pub weight: u32,
    pub expect: ExpectSpec,
}

/// A part of a body. One of the two is given.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BodyPartSpec {
    pub text: Option<String>,
    /// File that holds the part, byte by byte.
    pub file: Option<String>,
}

/// The answer that counts as `ok`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectSpec {
    /// Null = any status from 200 to 299.
    pub status: Option<u16>,
    /// Length of the body, checked in every answer; null if it varies.
    pub body_bytes: Option<u64>,
    /// SHA-256 of the body in hex, checked in a sample of the answers; null if it varies.
    pub body_sha256: Option<String>,
    /// Size of that sample: the first answer of each connection, and one in this many answers; 0 = none.
    pub hash_one_in: u32,
}

/// When requests are due.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ShapeSpec {
    /// A fixed number of connections. On each, the next request is due when the answer has come and a pause is over.
    /// Each connection begins within one pause.
    Closed { connections: usize, pause_ms: f64, pause: PauseKind },
    /// A closed shape whose number of connections rises evenly from the first instant of the measured phase on.
    Ramp { from_connections: usize, to_connections: usize, over_s: f64, pause_ms: f64, pause: PauseKind },
    /// One schedule that waits for no answer. A request takes the next free connection. If none is free, one more is
    /// opened, up to `connections`; beyond that the request queues.
    Open { connections: usize, arrivals: Arrivals, rates: Vec<RateSpec> },
}

/// A part of a load. Connections, even arrivals, and the requests of `{seq}` and `{line:FILE}` have numbers from 0 on: the
/// part has those whose number modulo `of` is `index`. Of Poisson arrivals it has the `of`-th part of the rate. What is
/// random in it is drawn with a seed of its own. No number of requests can end a phase of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartSpec {
    /// From 0 on.
    pub index: usize,
    /// The number of parts.
    pub of: usize,
}

/// How long a user pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PauseKind {
    /// `pause_ms` every time.
    Fixed,
    /// `pause_ms` on average, exponentially distributed.
    Exponential,
}

/// How the due times of an open shape are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Equal gaps.
    Even,
    /// Exponential gaps: arrivals are independent of one another.
    Poisson,
}

/// A stretch of the schedule. Its rate changes evenly from one value to the other. The rate at the end of the last
/// stretch goes on.
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
    /// It sleeps, and polls the clock for the last few microseconds.
    Sleep,
    /// It never sleeps, and uses all of its core.
    Spin,
}

/// What a connection is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionUse {
    /// A connection serves one request after another.
    KeepAlive,
    /// Every request has a connection of its own. The engine closes it after the answer.
    PerRequest,
}

/// Load before the measured phase.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WarmUpSpec {
    /// Connections of the warm-up; null = as many as the shape begins with.
    pub connections: Option<usize>,
    /// Whether they pause as the shape says. If not, each sends its next request at once.
    pub pauses: bool,
    pub stop: StopSpec,
}

/// One of the turns in which a load is put on. Its users connect anew.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnSpec {
    /// Load that does not count, in seconds.
    pub warm_up_s: f64,
    /// Load that does, in seconds, after it. If it is 0, the turn is a part of the warm-up, with the connections of
    /// `warm_up`. The sum of all turns is what `stop` says.
    pub measured_s: f64,
}

/// What ends a phase.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StopSpec {
    /// After this many requests were answered or failed. Those not sent within the time count as `not-sent`.
    Requests { requests: u64, within_s: f64 },
    /// After this time.
    Duration { duration_s: f64 },
}

/// When the load begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Begins {
    /// As soon as everything is ready.
    #[default]
    AtOnce,
    /// When everything is ready, the engine writes `{"held":0}` on standard error, and begins with a line `go` on standard
    /// input. `go` may be followed by an instant of this machine's monotonic clock, in nanoseconds: the engine begins at
    /// that instant, or at once if it has passed.
    Told,
}

/// A file that comes with the spec.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSpec {
    /// As the spec names it.
    pub name: String,
    /// Its bytes, in base64.
    pub base64: String,
}

/// When the engine gives up on a connection and on a request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeoutSpec {
    pub connect_s: f64,
    /// From when the request was due to the last byte of its answer.
    pub request_s: f64,
}

/// How often processes are sampled: the engine's own and, if given, those of the server.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    pub interval_ms: u64,
    /// Root of the server's process tree; null if the server is not on this machine.
    pub server_pid: Option<i32>,
    /// Where the server itself listens, in its own network namespace, if that is not the target's address: behind a
    /// published port of a container, a rule of the kernel that translates addresses, or a proxy. Null = it is.
    #[serde(default)]
    pub server_address: Option<String>,
    /// Whether to read, at random times, at which stage requests in flight are.
    pub stages: bool,
    /// Whether to read, at random times, what the server's threads do. It takes `server_pid`.
    pub tasks: bool,
    /// Whether to read, at random times, how many connections that the server has opened to others wait for an answer.
    /// It takes `server_pid`.
    pub dependencies: bool,
    /// Cores whose speed is read at random times while measured, by a fixed piece of work; empty = none.
    pub speed_of_cores: Vec<usize>,
}

/// The lines that the engine writes on standard error while the trial runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressSpec {
    pub every_ms: u64,
    /// For each of these times, lines say how many measured requests took longer or have been in flight for longer.
    pub slower_than_ns: Vec<u64>,
}

/// Which exchanges are kept: the request, and the answer's head with the beginning of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Examples {
    /// The first of each request, outcome and status, except `ok`.
    Unexpected,
    /// The first of each request, outcome and status, `ok` included.
    All,
}
