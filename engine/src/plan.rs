//! The plan of one trial: the `TrialSpec` after all checks, in nanoseconds, with all requests laid out. Values that
//! make no sense or are out of bounds are refused here, so that no other module has to check them again.

mod when;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use self::when::seconds;
use crate::bounds;
use crate::carried::Carried;
use crate::failure::Failure;
use crate::faults::Faults;
use crate::http::answer::Expectation;
use crate::http::deck;
use crate::http::request::{self, Message, Request};
use crate::part::Part;
use crate::phase::{Stop, Turn, WarmUp};
use crate::shape::Shape;
use crate::socket::Address;
use crate::spec::{
    self, Begins, CONTRACT_VERSION, ConnectionUse, Examples, ExpectSpec, Pacing, RequestSpec, ShapeSpec,
    StopSpec, Target, TrialSpec,
};
use crate::tls::Tls;
use crate::tunnel;

/// The lengths of turns are written in decimal fractions of a second, whose sum may be off by this, in seconds.
const SUM_OFF_S: f64 = 1e-6;

pub struct Plan {
    pub address: Address,
    pub sources: Vec<IpAddr>,
    pub tls: Option<Tls>,
    /// What asks a proxy for a tunnel, if TLS goes through one.
    pub tunnel: Option<Arc<[u8]>>,
    pub requests: Vec<Request>,
    /// Whether examples of expected answers are kept, too.
    pub keeps_all_examples: bool,
    pub shape: Shape,
    /// Which part of the load it is. Of the shape, the phases and the seed, the plan has that part alone.
    pub part: Part,
    pub connection: ConnectionUse,
    /// Whether the kernel is asked to stamp what arrives.
    pub stamped: bool,
    pub pacing: Pacing,
    /// In turns it is that of the turns that measure.
    pub warm_up: Option<WarmUp>,
    pub stop: Stop,
    /// Empty if the load is put on in one go.
    pub turns: Vec<Turn>,
    /// Whether the load begins when it is told.
    pub is_told: bool,
    /// For how long no line may come on standard input; `None`: for ever.
    pub silence: Option<Duration>,
    pub connect_timeout_ns: u64,
    pub request_timeout_ns: u64,
    pub threads: usize,
    pub cores: Vec<usize>,
    pub probe_interval_ns: u64,
    pub server_pid: Option<i32>,
    /// Where the server listens in its network namespace, if that is not where the load goes to.
    pub server_address: Option<SocketAddr>,
    /// Whether the stages of requests in flight are read.
    pub stages: bool,
    /// The root of the tree whose threads are looked at, if they are.
    pub tasks: Option<i32>,
    /// The root of the tree whose dependencies are read, if they are.
    pub dependencies: Option<i32>,
    /// The cores whose speed is read.
    pub speed_of_cores: Vec<usize>,
    pub progress_every_ns: u64,
    pub slower_than_ns: Vec<u64>,
    pub seed: u64,
}

impl TrialSpec {
    /// Checks the whole document and reports everything that is wrong with it at once.
    ///
    /// # Errors
    /// One `Failure` (exit code 2) that names each key at fault and what it may be.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let mut faults = Faults::default();
        if self.version != CONTRACT_VERSION {
            faults.add("version", format!("is {}, this engine speaks {CONTRACT_VERSION}", self.version));
        }
        let carried = Arc::new(Carried::new(&self.files, &mut faults));
        let threads = faults.within(self.threads, bounds::THREADS, "threads");
        let address = self.target.meant_address(&mut faults);
        let shape = self.shape.meant(&mut faults);
        let stop = self.stop.meant("stop", &mut faults);
        let written = self.warm_up.as_ref().map(|warm_up| warm_up.meant(&shape, &mut faults));
        let turns = self.meant_turns(&shape, written, &mut faults);
        let warm_up = turns.last().map(|turn| turn.warm_up).or(written);
        let part = self.meant_part(&shape, written, stop, &mut faults);
        let plan = Plan {
            sources: self.target.meant_sources(&address, &mut faults),
            requests: self.meant_requests(&carried, &mut faults),
            keeps_all_examples: self.examples == Examples::All,
            tls: None,
            tunnel: self.target.meant_tunnel(&mut faults),
            connection: self.connection,
            stamped: self.kernel_timestamps && address.is_tcp(),
            pacing: self.pacing,
            warm_up,
            stop,
            turns,
            is_told: self.begins == Begins::Told,
            silence: self.silence_s.map(|silence_s| {
                Duration::from_secs_f64(faults.within(silence_s, bounds::SILENCE_S, "silence_s"))
            }),
            connect_timeout_ns: seconds(self.timeouts.connect_s, "timeouts.connect_s", &mut faults),
            request_timeout_ns: seconds(self.timeouts.request_s, "timeouts.request_s", &mut faults),
            threads,
            cores: meant_cores(&self.cores, "cores", &mut faults),
            probe_interval_ns: interval_ns(self.probe.interval_ms, "probe.interval_ms", &mut faults),
            progress_every_ns: interval_ns(self.progress.every_ms, "progress.every_ms", &mut faults),
            slower_than_ns: self.progress.meant_slower_than(&mut faults),
            server_pid: self.probe.server_pid.map(|pid| faults.within(pid, bounds::PID, "probe.server_pid")),
            server_address: self.probe.meant_server_address(&mut faults),
            stages: self.probe.stages,
            tasks: self.probe.meant_tasks(&mut faults),
            dependencies: self.probe.meant_dependencies(&mut faults),
            speed_of_cores: meant_cores(&self.probe.speed_of_cores, "probe.speed_of_cores", &mut faults),
            seed: self.seed,
            address,
            shape,
            part: Part::WHOLE,
        };
        faults.none()?;
        let tls = self.target.tls.as_ref().map(|tls| Tls::new(tls, &carried)).transpose()?;
        Ok(Plan { tls, ..plan }.of(part))
    }

    /// `shape`, `written` (the warm-up) and `stop` are those of the whole load.
    fn meant_part(&self, shape: &Shape, written: Option<WarmUp>, stop: Stop, faults: &mut Faults) -> Part {
        let part = Part::meant(self.part, faults);
        let has_one_each = part.of() <= shape.connections();
        faults.unless(
            has_one_each,
            "part.of",
            "is more than the connections of the load: each part needs one",
        );
        for (stop, key) in [(Some(stop), "stop"), (written.map(|warm_up| warm_up.stop), "warm_up.stop")] {
            let by_number = stop.is_some_and(|stop| stop.requests.is_some());
            let holds = part.is_whole() || !by_number;
            faults.unless(
                holds,
                key,
                "must be a duration: parts of a load have no number of requests in common",
            );
        }
        part
    }

    /// `written`: the warm-up.
    fn meant_turns(&self, shape: &Shape, written: Option<WarmUp>, faults: &mut Faults) -> Vec<Turn> {
        if self.turns.is_empty() {
            return Vec::new();
        }
        faults.within(self.turns.len(), bounds::TURNS, "the number of turns");
        let is_closed = matches!(self.shape, ShapeSpec::Closed { pause_ms: 0.0, .. });
        faults.unless(is_closed, "turns", "are of a closed shape without pauses");
        let sum_s: f64 = self.turns.iter().map(|turn| turn.measured_s).sum();
        faults.unless(
            matches!(self.stop, StopSpec::Duration { duration_s } if (duration_s - sum_s).abs() < SUM_OFF_S),
            "turns",
            "must measure for as long, in all, as `stop` says, which is a duration",
        );
        let ends_with_measuring = self.turns.is_sorted_by_key(|turn| turn.measured_s > 0.0);
        faults.unless(
            ends_with_measuring && sum_s > 0.0,
            "turns",
            "that only warm up come before all others",
        );
        let each = self.turns.iter().enumerate();
        each.map(|(index, turn)| turn.meant(index, shape.connections(), written, faults)).collect()
    }

    fn meant_requests(&self, carried: &Arc<Carried>, faults: &mut Faults) -> Vec<Request> {
        let kinds = self.requests.len();
        if faults.within(kinds, bounds::REQUEST_KINDS, "the number of requests") != kinds {
            return Vec::new();
        }
        let weights: Vec<u32> = self.requests.iter().map(|request| request.weight).collect();
        if let Some(fault) = deck::fault(&weights) {
            faults.add("requests", fault);
        }
        let requests = self.requests.iter().enumerate();
        requests
            .map(|(index, request)| {
                let key = format!("requests[{index}]");
                Request {
                    name: request.meant_name(),
                    is_idempotent: is_idempotent(&request.method),
                    message: Message::new(request, &self.target, carried, &key, faults),
                    weight: request.weight,
                    expect: request.expect.meant(&request.method, &key, faults),
                }
            })
            .collect()
    }
}

impl Plan {
    /// Returns the plan of a part of this load, which has a connection for each part.
    fn of(self, part: Part) -> Self {
        let warm_up_of = |warm_up: WarmUp| WarmUp { connections: part.share(warm_up.connections), ..warm_up };
        let turn_of = |turn: Turn| Turn { warm_up: warm_up_of(turn.warm_up), ..turn };
        let shape = self.shape.part(part);
        Self {
            part,
            warm_up: self.warm_up.map(warm_up_of),
            turns: self.turns.into_iter().map(turn_of).collect(),
            threads: self.threads.min(shape.connections()),
            seed: part.seed(self.seed),
            shape,
            ..self
        }
    }
}

impl RequestSpec {
    fn meant_name(&self) -> String {
        if self.name.is_empty() { format!("{} {}", self.method, self.path) } else { self.name.clone() }
    }
}

fn is_idempotent(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method)
}

impl spec::ProgressSpec {
    fn meant_slower_than(&self, faults: &mut Faults) -> Vec<u64> {
        let key = "progress.slower_than_ns";
        faults.within(self.slower_than_ns.len(), bounds::SLOWER_THAN, &format!("the number of {key}"));
        let each = self.slower_than_ns.iter().enumerate();
        each.map(|(index, &ns)| faults.within(ns, bounds::INTERVAL_NS, &format!("{key}[{index}]"))).collect()
    }
}

fn meant_cores(cores: &[usize], key: &str, faults: &mut Faults) -> Vec<usize> {
    faults.within(cores.len(), bounds::CORES, &format!("the number of {key}"));
    let each = cores.iter().enumerate();
    each.map(|(index, &core)| faults.within(core, bounds::CORE, &format!("{key}[{index}]"))).collect()
}

impl spec::ProbeSpec {
    fn meant_server_address(&self, faults: &mut Faults) -> Option<SocketAddr> {
        let written = self.server_address.as_ref()?;
        let address = written.parse().ok();
        faults.unless(
            address.is_some(),
            "probe.server_address",
            "must be an IP address and a port, as 172.17.0.2:80",
        );
        address
    }

    fn meant_tasks(&self, faults: &mut Faults) -> Option<i32> {
        let key = "probe.tasks";
        faults.unless(
            !self.tasks || self.server_pid.is_some(),
            key,
            "takes probe.server_pid, whose threads are meant",
        );
        self.server_pid.filter(|_| self.tasks)
    }

    fn meant_dependencies(&self, faults: &mut Faults) -> Option<i32> {
        let key = "probe.dependencies";
        let is_whose = !self.dependencies || self.server_pid.is_some();
        faults.unless(is_whose, key, "takes probe.server_pid: whose dependencies?");
        self.server_pid.filter(|_| self.dependencies)
    }
}

impl Target {
    fn meant_address(&self, faults: &mut Faults) -> Address {
        if let Some(path) = self.address.strip_prefix("unix:") {
            match rustix::net::SocketAddrUnix::new(path) {
                Ok(address) => return Address::Unix(address),
                Err(_) => faults.add("target.address", "is too long a path for a socket (108 bytes)"),
            }
        }
        Address::Tcp(self.address.parse().unwrap_or_else(|_| {
            faults.add("target.address", "must be numeric, for instance 127.0.0.1:8080, or unix:/a/path");
            SocketAddr::from(([127, 0, 0, 1], 0))
        }))
    }

    /// Checks the proxy, if there is one. Returns what asks it for a tunnel.
    fn meant_tunnel(&self, faults: &mut Faults) -> Option<Arc<[u8]>> {
        let proxy = self.proxy.as_ref()?;
        let key = "target.proxy";
        let is_host = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        faults.unless(
            is_host(&proxy.authority) && !proxy.authority.contains(['/', '?', '#', '@']),
            &format!("{key}.authority"),
            "must be a host and its port, for instance example.org:443",
        );
        for (name, value) in &proxy.headers {
            let key = format!("{key}.headers[{name}]");
            faults.unless(request::is_header(name, value), &key, "is not a header that HTTP allows");
        }
        self.tls.is_some().then(|| tunnel::request(&proxy.authority, &proxy.headers))
    }

    fn meant_sources(&self, address: &Address, faults: &mut Faults) -> Vec<IpAddr> {
        faults.within(self.sources.len(), bounds::SOURCES, "the number of target.sources");
        let sources: Vec<IpAddr> = self.sources.iter().filter_map(|source| source.parse().ok()).collect();
        let fits = |source: &IpAddr| matches!(address, Address::Tcp(to) if to.is_ipv4() == source.is_ipv4());
        faults.unless(
            sources.len() == self.sources.len() && sources.iter().all(fits),
            "target.sources",
            "must be numeric addresses of the target's kind",
        );
        sources
    }
}

impl ExpectSpec {
    fn meant(&self, method: &str, key: &str, faults: &mut Faults) -> Expectation {
        let sha256 = self.body_sha256.as_deref().and_then(|hex| {
            let digest = decode_sha256(hex);
            faults.unless(digest.is_some(), &format!("{key}.expect.body_sha256"), "must be 64 hex digits");
            digest
        });
        let status =
            self.status.map(|status| faults.within(status, bounds::STATUS, &format!("{key}.expect.status")));
        let body_bytes = self
            .body_bytes
            .map(|bytes| faults.within(bytes, bounds::BODY_BYTES, &format!("{key}.expect.body_bytes")));
        Expectation {
            status,
            body_bytes,
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

fn interval_ns(ms: u64, key: &str, faults: &mut Faults) -> u64 {
    faults.within(ms, bounds::INTERVAL_MS, key) * 1_000_000
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
