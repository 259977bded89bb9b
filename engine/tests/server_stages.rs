//! At which stage requests are found from the server's end alone, with servers that keep them where the test knows, in the
//! engine's own network namespace and in another one.

mod peer;

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use peer::tried::until_shown;
use peer::{HELLO, after, for_seconds, open, read_request, run};
use serde_json::{Value, json};

const WAIT: Duration = Duration::from_millis(100);
/// The first connections are opened and accepted in this time.
const SETTLED_NS: u64 = 300_000_000;
const USERS: usize = 16;

/// Returns a spec of some users whose requests are watched from the server's end alone.
fn watched(address: &str) -> Value {
    let mut spec = peer::watched(address, USERS);
    spec["probe"]["server_address"] = json!(address);
    spec
}

/// Returns how many requests were found at this stage, on average for each reading once the trial has settled.
fn mean(record: &Value, stage: &str) -> f64 {
    let stages = &record["probes"]["stages"];
    assert_eq!((&stages["why"], &stages["read_by"]), (&Value::Null, &json!("server-end")));
    let column = |name: &str| -> Vec<f64> { serde_json::from_value(stages[name].clone()).unwrap() };
    let (at_ns, found) = (column("at_ns"), column(stage));
    let (in_flight, drawn) = (column("in_flight"), column("drawn"));
    let settled: Vec<usize> = (0..at_ns.len()).filter(|&row| at_ns[row] >= SETTLED_NS as f64).collect();
    let all = |&row: &usize| in_flight[row] * found[row] / f64::max(drawn[row], 1.0);
    settled.iter().map(all).sum::<f64>() / settled.len() as f64
}

/// Asserts that most of the requests of all users were found at this stage, where they stay for ever or for `WAIT`.
fn most_at(stage: &str, spec: &Value) {
    until_shown(|| {
        let record = run(spec);
        let found = mean(&record, stage);
        if (0.8 * USERS as f64..=1.05 * USERS as f64).contains(&found) {
            return Ok(());
        }
        Err(format!("{found} at {stage}: {}", record["probes"]["stages"]))
    });
}

fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    rustix::net::listen(&listener, 1024).unwrap();
    let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    (listener, address)
}

fn serve(mut socket: TcpStream, wait: Duration) {
    while read_request(&mut socket) {
        thread::sleep(wait);
        if socket.write_all(HELLO).is_err() {
            return;
        }
    }
}

fn serve_all(listener: TcpListener, wait: Duration) {
    thread::spawn(move || {
        for socket in listener.incoming() {
            thread::spawn(move || serve(socket.unwrap(), wait));
        }
    });
}

#[test]
fn without_accept_all_are_not_accepted() {
    let (_listener, address) = listen();
    most_at("not_accepted", &watched(&address));
}

#[test]
fn what_is_accepted_and_not_read_is_unread() {
    let (listener, address) = listen();
    thread::spawn(move || {
        let accepted: Vec<_> = listener.incoming().take(USERS).collect();
        thread::sleep(Duration::from_secs(30));
        drop(accepted);
    });
    most_at("unread", &watched(&address));
}

#[test]
fn what_waits_in_the_server_is_inside() {
    most_at("inside", &watched(&after(WAIT)));
    let mut spec = watched(&after(WAIT));
    spec["connection"] = json!("per-request");
    most_at("inside", &spec);
}

#[test]
fn exchanges_shorter_than_a_tick_of_the_kernels_clock_are_told_apart() {
    // Of 20 ms a user pauses 18. The kernel's clock ticks each 1 to 10 ms.
    let (listener, address) = listen();
    serve_all(listener, Duration::from_millis(2));
    let mut spec = watched(&address);
    spec["shape"] = json!({"kind": "closed", "connections": 64, "pause_ms": 18.0, "pause": "fixed"});
    spec["stop"] = for_seconds(3.0);
    until_shown(|| {
        let record = run(&spec);
        // By Little's law, from the server's own wait to the time that the engine took.
        let times = &record["histograms"]["response_time"];
        let per_ns = times["count"].as_f64().unwrap() / record["measured_ns"].as_f64().unwrap();
        let (least, most) = (per_ns * 2e6, per_ns * times["mean_ns"].as_f64().unwrap());
        let untold = mean(&record, "not_told_apart");
        let found = mean(&record, "inside");
        if (0.8 * least..=1.1 * most).contains(&found) && untold < 0.1 * most {
            return Ok(());
        }
        Err(format!("{found} inside, {untold} not told apart, {least} to {most} expected"))
    });
}

/// Answers differ in length and in how often they are written, so that nothing can be counted. `parts_ms`: how long the
/// server works before each part of an answer.
fn serve_varied(mut socket: TcpStream, parts_ms: &[u64]) {
    socket.set_nodelay(true).unwrap();
    let mut random = u64::from(socket.peer_addr().unwrap().port());
    while read_request(&mut socket) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let lines = 1 + (random >> 60) as usize;
        let mut head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", lines * parts_ms.len());
        for &wait_ms in parts_ms {
            thread::sleep(Duration::from_millis(wait_ms));
            let text = head + &"x".repeat(lines);
            head = String::new();
            let (one, other) = text.as_bytes().split_at(if random >> 63 == 0 { text.len() / 2 } else { 0 });
            if socket.write_all(one).and_then(|()| socket.write_all(other)).is_err() {
                return;
            }
        }
    }
}

/// Returns how many requests were found inside, and how many were not told apart.
fn found_of_varied(parts_ms: &'static [u64], change: impl Fn(&mut Value)) -> (f64, f64) {
    let (listener, address) = listen();
    thread::spawn(move || {
        for socket in listener.incoming() {
            thread::spawn(move || serve_varied(socket.unwrap(), parts_ms));
        }
    });
    let mut spec = watched(&address);
    spec["stop"] = for_seconds(3.0);
    spec["requests"][0]["expect"]["body_bytes"] = Value::Null;
    change(&mut spec);
    let record = run(&spec);
    (mean(&record, "inside"), mean(&record, "not_told_apart"))
}

#[test]
fn a_server_that_works_on_the_second_part_of_an_answer_is_not_taken_to_have_answered() {
    for parts_ms in [&[40, 60], &[10, 15], &[2, 2]] {
        until_shown(|| {
            let (inside, untold) = found_of_varied(parts_ms, |_| ());
            // All are there at any time, in the first half of the work or in the second.
            let holds = inside < 0.75 * USERS as f64 && inside + untold > 0.8 * USERS as f64;
            if holds {
                Ok(())
            } else {
                Err(format!("{parts_ms:?}: {inside} inside, {untold} not told apart"))
            }
        });
    }
}

#[test]
fn an_answer_in_one_part_is_told_from_a_request_inside_though_nothing_can_be_counted() {
    until_shown(|| {
        let pause = |spec: &mut Value| {
            spec["shape"] =
                json!({"kind": "closed", "connections": USERS, "pause_ms": 50.0, "pause": "fixed"});
        };
        let (inside, untold) = found_of_varied(&[50], pause);
        let holds = (6.0..10.0).contains(&inside) && untold < 0.5;
        if holds { Ok(()) } else { Err(format!("{inside} inside, {untold} not told apart")) }
    });
}

#[test]
fn connections_that_wait_for_the_next_request_have_none() {
    let mut spec = watched(&after(Duration::from_millis(10)));
    spec["shape"] = open(64, 200.0);
    until_shown(|| {
        let record = run(&spec);
        // Two on average, or more on a busy machine, of the connections that are open.
        if (1.0..=10.0).contains(&mean(&record, "inside")) {
            return Ok(());
        }
        Err(format!("{}", record["probes"]["stages"]))
    });
}

#[test]
fn where_nobody_listens_there_is_a_reason() {
    let mut spec = watched(&after(WAIT));
    spec["probe"]["server_address"] = json!("127.0.0.1:1");
    let stages = run(&spec)["probes"]["stages"].clone();
    assert!(stages["why"].as_str().unwrap().contains("nobody listens at 127.0.0.1:1"), "{stages}");
}

/// Returns why nothing is said of the stages of this load; `None`: they are told.
fn why_not(spec: &Value) -> Option<String> {
    let why = run(spec)["probes"]["stages"]["why"].clone();
    why.as_str().map(str::to_owned)
}

#[test]
fn requests_that_a_full_accept_queue_keeps_out_are_not_taken_for_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 4).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for socket in listener.incoming() {
            serve_one(socket.unwrap(), Duration::from_millis(5));
        }
    });
    let mut spec = watched(&address);
    spec["connection"] = json!("per-request");
    spec["shape"]["connections"] = json!(40);
    spec["stop"] = for_seconds(3.0);
    let why = why_not(&spec).expect("most of what waits is not seen");
    assert!(why.contains("a full accept queue turned"), "{why}");
}

/// Answers one request and closes the connection.
fn serve_one(mut socket: TcpStream, wait: Duration) {
    if read_request(&mut socket) {
        thread::sleep(wait);
        let _ = socket.write_all(HELLO);
    }
}

/// Opens connections of another client, which have sent a request that is answered much later.
fn long_polls(address: &str, number: usize) -> Vec<TcpStream> {
    let opened = (0..number).map(|_| TcpStream::connect(address).unwrap());
    let ask = |mut socket: TcpStream| {
        socket.write_all(b"GET /poll HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        socket
    };
    opened.map(ask).collect()
}

/// Returns the address of a server that keeps its first `number` connections waiting, and answers on the others.
fn polled(number: usize) -> String {
    let (listener, address) = listen();
    thread::spawn(move || {
        for (nth, socket) in listener.incoming().enumerate() {
            let wait = if nth < number { Duration::from_secs(30) } else { WAIT };
            thread::spawn(move || serve(socket.unwrap(), wait));
        }
    });
    address
}

#[test]
fn what_other_clients_had_asked_before_the_load_is_left_out() {
    let address = polled(48);
    let polls = long_polls(&address, 48);
    most_at("inside", &watched(&address));
    drop(polls);
}

#[test]
fn where_other_clients_open_connections_beside_the_load_nothing_is_said() {
    let (listener, address) = listen();
    serve_all(listener, WAIT);
    let there = address.clone();
    let beside = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        let polls = long_polls(&there, 48);
        thread::sleep(Duration::from_secs(2));
        drop(polls);
    });
    let why = why_not(&watched(&address)).expect("others are not the load");
    assert!(why.contains("other clients use the server, too"), "{why}");
    beside.join().unwrap();
}

/// A network namespace with an address that this one reaches. It is removed when dropped.
struct Elsewhere {
    name: String,
    process: Child,
}

const THERE: &str = "10.213.77.2";

impl Elsewhere {
    /// `None`: that takes rights or programs that are not there.
    fn new() -> Option<Self> {
        let name = format!("crumple-stages-{}", std::process::id());
        let ip = |line: &str| {
            let done = Command::new("ip").args(line.split(' ')).stderr(Stdio::null()).status();
            done.is_ok_and(|status| status.success())
        };
        if !ip(&format!("netns add {name}")) {
            eprintln!("skipped: only root, with the program ip, may make a network namespace");
            return None;
        }
        let process =
            Command::new("ip").args(["netns", "exec", &name, "sleep", "60"]).spawn().expect("ip is there");
        let elsewhere = Self { name, process };
        let (name, pid) = (&elsewhere.name, std::process::id());
        let here = format!("cs{pid}");
        for line in [
            format!("link add {here} type veth peer name eth0 netns {name}"),
            format!("addr add 10.213.77.1/24 dev {here}"),
            format!("link set {here} up"),
            format!("-n {name} addr add {THERE}/24 dev eth0"),
            format!("-n {name} link set eth0 up"),
            format!("-n {name} link set lo up"),
        ] {
            assert!(ip(&line), "{line}");
        }
        Some(elsewhere)
    }

    fn listen(&self) -> TcpListener {
        let file = std::fs::File::open(format!("/run/netns/{}", self.name)).unwrap();
        let bind = move || {
            let kind = rustix::thread::LinkNameSpaceType::Network;
            rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), Some(kind)).unwrap();
            TcpListener::bind("0.0.0.0:0").unwrap()
        };
        thread::spawn(bind).join().unwrap()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

#[test]
fn a_server_in_another_network_namespace_is_read_there() {
    let Some(elsewhere) = Elsewhere::new() else {
        return;
    };
    let listener = elsewhere.listen();
    let address = format!("{THERE}:{}", listener.local_addr().unwrap().port());
    serve_all(listener, WAIT);
    let mut spec = watched(&address);
    spec["probe"]["server_address"] = Value::Null;
    spec["probe"]["server_pid"] = json!(elsewhere.process.id());
    most_at("inside", &spec);
    let sockets = run(&spec)["probes"]["server_sockets"].clone();
    // One listener, and the ends of the load.
    assert!(
        sockets["in_use"].as_array().unwrap().iter().any(|number| number.as_u64() > Some(1)),
        "{sockets}"
    );
}
