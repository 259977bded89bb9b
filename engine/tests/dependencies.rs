//! What trials read of a server's dependencies. Server and dependencies are played by the test, which knows how long each
//! question waits.

mod peer;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use peer::{HELLO, after, engine, for_seconds, listen, play, read_request, run, spec};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Value, json};

const USERS: usize = 8;
const WAIT: Duration = Duration::from_millis(20);

/// Connections of other tests are connections of this process, too. Where they come and go, there are fewer readings.
static TURN: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A dependency that answers each question of one byte after `WAIT`.
struct Dependency {
    address: SocketAddr,
    /// How long questions have been with it, in total.
    held_ns: Arc<AtomicU64>,
}

impl Dependency {
    fn play() -> Self {
        let held_ns = Arc::new(AtomicU64::new(0));
        let held = Arc::clone(&held_ns);
        let address = play(move |mut socket| {
            while socket.read_exact(&mut [0]).is_ok() {
                let came = Instant::now();
                thread::sleep(WAIT);
                held.fetch_add(came.elapsed().as_nanos() as u64, Relaxed);
                if socket.write_all(b"!").is_err() {
                    return;
                }
            }
        });
        Self { address: address.parse().unwrap(), held_ns }
    }
}

/// A server that asks a dependency for each request, after it has worked for 5 to 35 ms. Each of its connections has one
/// to the dependency, or one for each question.
struct Server {
    address: String,
    /// How long it waited for the dependency, in total.
    waited_ns: Arc<AtomicU64>,
}

impl Server {
    fn play(dependency: SocketAddr, asks_over_new_ones: bool) -> Self {
        let (waited_ns, begun) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(1)));
        let waited = Arc::clone(&waited_ns);
        let address = play(move |mut socket| {
            let mut random = begun.fetch_add(1, Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut pooled = TcpStream::connect(dependency).unwrap();
            while read_request(&mut socket) {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                thread::sleep(Duration::from_millis(5 + (random >> 33) % 31));
                let asked = Instant::now();
                let is_answered = if asks_over_new_ones {
                    ask(&mut TcpStream::connect(dependency).unwrap())
                } else {
                    ask(&mut pooled)
                };
                waited.fetch_add(asked.elapsed().as_nanos() as u64, Relaxed);
                if !is_answered || socket.write_all(HELLO).is_err() {
                    return;
                }
            }
        });
        Self { address, waited_ns }
    }
}

fn ask(dependency: &mut TcpStream) -> bool {
    dependency.write_all(b"?").is_ok() && dependency.read_exact(&mut [0]).is_ok()
}

fn watched(address: &str, seconds: f64) -> Value {
    let mut spec = spec(address, 0);
    spec["probe"]["dependencies"] = json!(true);
    spec["shape"]["connections"] = json!(USERS);
    spec["threads"] = json!(1);
    spec["stop"] = for_seconds(seconds);
    spec
}

fn column(of: &Value, name: &str) -> Vec<u64> {
    serde_json::from_value(of[name].clone()).unwrap()
}

fn mean(of: &Value, name: &str) -> f64 {
    let column = column(of, name);
    column.iter().sum::<u64>() as f64 / column.len() as f64
}

/// Returns the peer at this address, whose columns must be as long as those of the readings and add up.
fn peer_at(record: &Value, address: &str) -> Value {
    let dependencies = &record["probes"]["dependencies"];
    assert_eq!(dependencies["why"], Value::Null);
    let readings = column(dependencies, "at_ns");
    assert!(readings.is_sorted() && !readings.is_empty());
    assert_eq!(column(dependencies, "late_ns").len(), readings.len());
    assert!(column(dependencies, "cost_ns").iter().all(|&cost_ns| cost_ns > 0));
    let peers = dependencies["peers"].as_array().unwrap();
    let peer = peers.iter().find(|peer| peer["address"] == address);
    let peer = peer.unwrap_or_else(|| panic!("{address} is not among {peers:?}")).clone();
    let [all, waiting, idle, unknown] =
        ["connections", "waiting", "idle", "unknown"].map(|name| column(&peer, name));
    assert_eq!(all.len(), readings.len());
    for (row, &connections) in all.iter().enumerate() {
        assert_eq!(waiting[row] + idle[row] + unknown[row], connections);
    }
    assert_eq!(peer["connections_max"], json!(all.iter().max()));
    peer
}

/// By Little's law as many connections wait on average as questions have waited in total, over the time. Both sides of
/// this are measured: the dependency's time is less than what the kernel sees, the server's is more.
fn assert_agrees_with_what_server_and_dependency_measure(asks_over_new_ones: bool) {
    let _turn = alone();
    let dependency = Dependency::play();
    let server = Server::play(dependency.address, asks_over_new_ones);
    let record = run(&watched(&server.address, 10.0));
    let measured_ns = record["measured_ns"].as_f64().unwrap();
    let least = dependency.held_ns.load(Relaxed) as f64 / measured_ns;
    let most = server.waited_ns.load(Relaxed) as f64 / measured_ns;
    let peer = peer_at(&record, &dependency.address.to_string());
    let readings = column(&peer, "waiting").len() as f64;
    assert!(readings >= 4.0, "{readings}");
    // Of eight users, each waits or does not, and they sleep for random times, so they are independent of one another.
    // The number that waits has a variance of two at most; eight standard errors do not happen by chance.
    let error = 8.0 * (2.0 / readings).sqrt();
    let (waiting, unknown) = (mean(&peer, "waiting"), mean(&peer, "unknown"));
    assert!(waiting <= most + error, "{waiting} of {most}, {readings} readings");
    assert!(waiting + unknown >= least - error, "{waiting} and {unknown} of {least}, {readings} readings");
    let connections = if asks_over_new_ones { 2 * USERS } else { USERS };
    assert!(column(&peer, "connections").iter().all(|&open| open <= connections as u64), "{peer}");
    assert_eq!(peer["listener"]["pid"], json!(std::process::id()));
}

#[test]
fn over_a_pool_as_many_wait_as_little_s_law_says() {
    assert_agrees_with_what_server_and_dependency_measure(false);
}

#[test]
fn with_a_connection_for_each_question_as_many_wait_as_little_s_law_says() {
    assert_agrees_with_what_server_and_dependency_measure(true);
}

#[test]
fn a_pool_that_nobody_uses_is_idle_and_a_question_without_an_answer_waits() {
    let _turn = alone();
    let (listener, address) = listen();
    let mut pool: Vec<TcpStream> = (0..12).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let accepted: Vec<_> = (0..12).map(|_| listener.accept().unwrap()).collect();
    pool[..5].iter_mut().for_each(|connection| connection.write_all(b"?").unwrap());
    let record = run(&watched(&after(WAIT), 1.5));
    let peer = peer_at(&record, &address);
    assert!(column(&peer, "waiting").iter().all(|&waiting| waiting == 5), "{peer}");
    assert!(column(&peer, "idle").iter().all(|&idle| idle == 7), "{peer}");
    drop((pool, accepted));
}

#[test]
fn what_the_server_sends_on_and_on_without_an_answer_is_not_said_to_wait() {
    let _turn = alone();
    let (listener, address) = listen();
    thread::spawn(move || {
        let mut log = listener.accept().unwrap().0;
        while log.read(&mut [0; 64]).is_ok_and(|bytes| bytes > 0) {}
    });
    let mut log = TcpStream::connect(&address).unwrap();
    thread::spawn(move || {
        while log.write_all(b"a line\n").is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    let record = run(&watched(&after(WAIT), 4.0));
    let peer = peer_at(&record, &address);
    assert!(column(&peer, "waiting").iter().all(|&waiting| waiting == 0), "{peer}");
    let unread = record["probes"]["dependencies"]["unread"].as_array().unwrap();
    assert!(unread.iter().any(|each| each["field"] == format!("{address} waiting")), "{unread:?}");
}

#[test]
fn a_database_at_a_unix_socket_is_named_with_what_is_not_known_of_it() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    let listener = UnixListener::bind(&path).unwrap();
    let pool: Vec<_> = (0..3).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let accepted: Vec<_> = (0..3).map(|_| listener.accept().unwrap()).collect();
    let record = run(&watched(&after(WAIT), 1.0));
    let address = format!("unix:{}", path.display());
    let peer = peer_at(&record, &address);
    assert!(column(&peer, "unknown").iter().all(|&unknown| unknown == 3), "{peer}");
    assert_eq!(peer["listener"]["pid"], json!(std::process::id()));
    let unread = record["probes"]["dependencies"]["unread"].as_array().unwrap();
    assert!(unread.iter().any(|each| each["field"] == format!("{address} waiting")), "{unread:?}");
    drop((pool, accepted));
}

#[test]
fn nothing_is_read_unless_it_was_asked_for() {
    let _turn = alone();
    let mut spec = watched(&after(WAIT), 0.2);
    spec["probe"]["dependencies"] = json!(false);
    assert_eq!(run(&spec)["probes"]["dependencies"], Value::Null);
}

#[test]
fn what_cannot_be_read_has_its_reason_and_no_rows() {
    let _turn = alone();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let mut spec = watched(&after(WAIT), 0.2);
    spec["probe"]["server_pid"] = json!(child.id());
    let record = run(&spec);
    let dependencies = &record["probes"]["dependencies"];
    assert!(dependencies["why"].as_str().unwrap().contains("is not there"), "{dependencies}");
    assert_eq!((&dependencies["at_ns"], &dependencies["peers"]), (&json!([]), &json!([])));
}

#[test]
fn the_load_s_own_connections_are_no_dependency() {
    let _turn = alone();
    let listener = TcpListener::bind("[::]:0").unwrap();
    let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    let other = Dependency::play();
    thread::spawn(move || {
        for socket in listener.incoming() {
            thread::spawn(move || {
                let (mut socket, mut pooled) = (socket.unwrap(), TcpStream::connect(other.address).unwrap());
                while read_request(&mut socket) && ask(&mut pooled) && socket.write_all(HELLO).is_ok() {}
            });
        }
    });
    let record = run(&watched(&address, 1.0));
    let peers = record["probes"]["dependencies"]["peers"].as_array().unwrap();
    assert!(peers.iter().all(|peer| peer["address"] != json!(address)), "{peers:?}");
    peer_at(&record, &other.address.to_string());
}

/// The null server as a process of its own that is no descendant of this one, as its parent has ended.
struct Orphan {
    address: SocketAddr,
    pid: Pid,
}

impl Orphan {
    fn start(core: usize) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let program = engine().get_program().to_str().unwrap().to_owned();
        // It ends with its input, so this is a pipe that it holds open itself.
        let folder = tempfile::tempdir().unwrap();
        let (pipe, port) = (folder.path().join("pipe"), free.port());
        let pipe = pipe.to_str().unwrap();
        let serves = format!("'{program}' null-server --port {port} --cores {core} <>'{pipe}' >&2 & echo $!");
        let command = format!("mkfifo '{pipe}' && {serves}");
        let said = Command::new("sh").args(["-c", &command]).stderr(Stdio::null()).output().unwrap().stdout;
        let pid = String::from_utf8(said).unwrap().trim().parse().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(free).is_err() {
            assert!(Instant::now() < deadline, "the null server does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        Self { address: free, pid: Pid::from_raw(pid).unwrap() }
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        let _ = kill_process(self.pid, Signal::KILL);
    }
}

/// Asks the null server a hundred times.
fn ask_much(dependency: &mut TcpStream) -> bool {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: 512\r\n\r\n";
    let mut answers = vec![0; 100 * (head.len() + 512)];
    dependency.write_all(&b"GET / HTTP/1.1\r\n\r\n".repeat(100)).is_ok()
        && dependency.read_exact(&mut answers).is_ok()
        && answers.starts_with(head.as_bytes())
}

#[test]
fn how_long_those_who_serve_a_dependency_waited_for_a_core_is_known() {
    let _turn = alone();
    let core = (0..1_024).find(|&core| sched_getaffinity(None).unwrap().is_set(core)).unwrap();
    let dependency = Orphan::start(core);
    let upstream = dependency.address;
    let server = play(move |mut socket| {
        let mut pooled = TcpStream::connect(upstream).unwrap();
        while read_request(&mut socket) && ask_much(&mut pooled) && socket.write_all(HELLO).is_ok() {}
    });
    // It has to share its core.
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let busy = thread::spawn(move || {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(None, &set).unwrap();
        while !ends.load(Relaxed) {}
    });
    let record = run(&watched(&server, 1.0));
    is_over.store(true, Relaxed);
    busy.join().unwrap();
    let read = &record["probes"]["dependencies"];
    let of = |field: &str| read[field].as_f64().unwrap_or_else(|| panic!("{field}: {read}"));
    assert!(of("serving_cpu_ns") > 0.0 && of("serving_run_queue_ns") > 0.0, "{read}");
    assert!(of("serving_run_queue_ns") <= 1.5 * of("serving_span_ns"), "{read}");
    // None of its threads has ended. Of one that runs, the kernel counts up to its last tick.
    let off_ns = (of("serving_run_queue_cpu_ns") - of("serving_cpu_ns")).abs();
    assert!(off_ns < 0.1 * of("serving_cpu_ns") + 20e6, "{read}");
}
