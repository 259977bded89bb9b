//! What one trial is to do: the `TrialSpec` as it is written, and the `Plan` as it is meant. Nonsense
//! ends here; whoever holds a `Plan` need not ask again.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::http::answer::Expectation;
use crate::http::request;
use crate::shape::closed::Closed;

/// Version of both documents; raised whenever either changes its meaning.
pub const CONTRACT_VERSION: u32 = 1;

/// One server, one workload, one load shape, one seed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialSpec {
    /// Version of this document.
    pub version: u32,
    /// Free text that comes back in the record.
    pub label: String,
    pub target: Target,
    pub request: RequestSpec,
    pub expect: ExpectSpec,
    pub shape: ShapeSpec,
    pub connection: ConnectionUse,
    /// Load before the clock counts; recorded in the series, left out of every total.
    pub warm_up: Option<WarmUpSpec>,
    pub stop: StopSpec,
    pub timeouts: TimeoutSpec,
    /// Threads that send and receive, each with its own share of the connections.
    pub threads: usize,
    /// Thread i is bound to the i-th of these cores, round and round; empty leaves them unbound.
    pub cores: Vec<usize>,
    pub probe: ProbeSpec,
    pub seed: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Numeric address and port, for instance `127.0.0.1:8080`.
    pub address: String,
    /// Value of the `Host` header.
    pub host: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    pub method: String,
    /// Path and query, for instance `/hello?delay_ms=5`.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
}

/// The answer that counts as `ok`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectSpec {
    pub status: u16,
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
    /// So many connections; on each the next request is due when the answer, and a pause, are over.
    Closed { connections: usize, pause_ms: f64 },
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
    /// Connections that warm up; null = as many as the shape has.
    pub connections: Option<usize>,
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

/// A `TrialSpec` as meant: checked, in nanoseconds, with the request's bytes laid out.
#[derive(Debug)]
pub struct Plan {
    pub address: SocketAddr,
    pub request: Vec<u8>,
    pub expect: Expectation,
    pub shape: Closed,
    pub connection: ConnectionUse,
    pub warm_up: Option<WarmUp>,
    pub stop: Stop,
    pub connect_timeout_ns: u64,
    pub request_timeout_ns: u64,
    pub threads: usize,
    pub cores: Vec<usize>,
    pub probe_interval_ns: u64,
    pub server_pid: Option<i32>,
}

#[derive(Clone, Copy, Debug)]
pub struct WarmUp {
    pub connections: usize,
    pub stop: Stop,
}

/// End of a phase: after `requests` (when given), and after `within_ns` at the latest.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    pub requests: Option<u64>,
    pub within_ns: u64,
}

impl TrialSpec {
    /// Checks the whole document and says everything that is wrong with it at once.
    ///
    /// # Errors
    /// One `Failure` (exit code 2) that names each key at fault and what it may be.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let mut faults = Faults::default();
        if self.version != CONTRACT_VERSION {
            faults.add("version", format!("is {}, this engine speaks {CONTRACT_VERSION}", self.version));
        }
        let address = self.target.address.parse().unwrap_or_else(|_| {
            faults.add("target.address", "must be numeric, for instance 127.0.0.1:8080");
            SocketAddr::from(([127, 0, 0, 1], 0))
        });
        let ShapeSpec::Closed { connections, pause_ms } = self.shape;
        faults.unless(connections > 0, "shape.connections", "must be at least 1");
        faults.unless(pause_ms >= 0.0 && pause_ms.is_finite(), "shape.pause_ms", "must be 0 or more");
        faults.unless(self.threads > 0, "threads", "must be at least 1");
        faults.unless(self.probe.interval_ms > 0, "probe.interval_ms", "must be at least 1");
        let stop = self.stop.meant("stop", &mut faults);
        let warm_up = self.warm_up.as_ref().map(|warm_up| WarmUp {
            connections: warm_up.meant_connections(connections, &mut faults),
            stop: warm_up.stop.meant("warm_up.stop", &mut faults),
        });
        let expect = self.expect.meant(&self.request.method, &mut faults);
        let plan = Plan {
            address,
            request: request::render(&self.request, &self.target.host, &mut faults),
            expect,
            shape: Closed { connections, pause_ns: (pause_ms.max(0.0) * 1e6) as u64 },
            connection: self.connection,
            warm_up,
            stop,
            connect_timeout_ns: seconds(self.timeouts.connect_s, "timeouts.connect_s", &mut faults),
            request_timeout_ns: seconds(self.timeouts.request_s, "timeouts.request_s", &mut faults),
            threads: self.threads.min(connections).max(1),
            cores: self.cores.clone(),
            probe_interval_ns: self.probe.interval_ms * 1_000_000,
            server_pid: self.probe.server_pid,
        };
        faults.none().map(|()| plan)
    }
}

impl WarmUpSpec {
    fn meant_connections(&self, all: usize, faults: &mut Faults) -> usize {
        let connections = self.connections.unwrap_or(all);
        faults.unless(
            (1..=all).contains(&connections),
            "warm_up.connections",
            "must lie between 1 and the connections of the shape",
        );
        connections
    }
}

impl StopSpec {
    fn meant(self, key: &str, faults: &mut Faults) -> Stop {
        match self {
            Self::Requests { requests, within_s } => {
                faults.unless(requests > 0, &format!("{key}.requests"), "must be at least 1");
                let within_ns = seconds(within_s, &format!("{key}.within_s"), faults);
                Stop { requests: Some(requests), within_ns }
            }
            Self::Duration { duration_s } => {
                let within_ns = seconds(duration_s, &format!("{key}.duration_s"), faults);
                Stop { requests: None, within_ns }
            }
        }
    }
}

impl ExpectSpec {
    fn meant(&self, method: &str, faults: &mut Faults) -> Expectation {
        let sha256 = self.body_sha256.as_deref().and_then(|hex| {
            let digest = decode_sha256(hex);
            faults.unless(digest.is_some(), "expect.body_sha256", "must be 64 hex digits");
            digest
        });
        Expectation {
            status: self.status,
            body_bytes: self.body_bytes,
            hash_one_in: if sha256.is_some() { self.hash_one_in } else { 0 },
            sha256: sha256.unwrap_or_default(),
            without_body: method == "HEAD",
        }
    }
}

fn decode_sha256(hex: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(hex.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

fn seconds(value: f64, key: &str, faults: &mut Faults) -> u64 {
    faults.unless(value > 0.0 && value <= 86_400.0, key, "must be above 0 and at most a day (86400)");
    (value * 1e9) as u64
}

/// Everything found wrong in a document so far.
#[derive(Default)]
pub struct Faults(Vec<String>);

impl Faults {
    pub fn add(&mut self, key: &str, what: impl std::fmt::Display) {
        self.0.push(format!("{key} {what}"));
    }

    pub fn unless(&mut self, holds: bool, key: &str, what: &str) {
        if !holds {
            self.add(key, what);
        }
    }

    fn none(self) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Failure::usage(format!("the trial makes no sense: {}", self.0.join("; ")))
            .remedy("correct these keys of the TrialSpec"))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn spec() -> TrialSpec {
        serde_json::from_str(include_str!("../../contract/golden/spec.json")).unwrap()
    }

    #[test]
    fn the_golden_spec_makes_sense() {
        let plan = spec().plan().unwrap();
        assert_eq!(plan.shape.connections, 32);
        assert_eq!(plan.warm_up.unwrap().connections, 1);
        assert_eq!(plan.stop.requests, Some(100_000));
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let mut spec = spec();
        spec.target.address = "localhost".into();
        spec.shape = ShapeSpec::Closed { connections: 0, pause_ms: -1.0 };
        spec.stop = StopSpec::Duration { duration_s: 0.0 };
        spec.timeouts.connect_s = f64::NAN;
        spec.expect.body_sha256 = Some("abc".into());
        let failure = spec.plan().unwrap_err();
        for key in [
            "target.address",
            "shape.connections",
            "shape.pause_ms",
            "stop.duration_s",
            "timeouts.connect_s",
            "expect.body_sha256",
            "warm_up.connections",
        ] {
            assert!(failure.error.contains(key), "{key} is missing in: {}", failure.error);
        }
        assert_eq!(failure.exit_code, 2);
    }

    #[test]
    fn an_unknown_key_does_not_parse() {
        let text = include_str!("../../contract/golden/spec.json").replacen("\"seed\"", "\"sede\"", 1);
        assert!(serde_json::from_str::<TrialSpec>(&text).is_err());
    }
}
