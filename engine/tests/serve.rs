//! An engine on another machine: a lab's lines go in, and a trial comes out; and whoever of them dies, freezes or falls
//! silent, the load is over soon, and no process is left.

mod peer;

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crumple_engine::clock::now_ns;
use peer::record::assert_consistent;
use peer::witness::{Witness, witnessed};
use peer::{HELLO, answering, for_seconds, spec};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A load that nobody watches must be over within this time.
const OVER: Duration = Duration::from_secs(4);
/// How often a lab says that it is there.
const BEATS: Duration = Duration::from_millis(500);

/// A lab's end of an engine that serves. It says each half second that it is there, until it is hushed.
struct Served {
    engine: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    is_hushed: Arc<AtomicBool>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.hush();
        self.close();
        let _ = self.engine.kill();
        let _ = self.engine.wait();
    }
}

impl Served {
    fn start() -> Self {
        let mut engine = peer::engine().arg("serve").stdin(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(engine.stdout.take().unwrap()).lines();
        let input = Arc::new(Mutex::new(engine.stdin.take()));
        let (is_hushed, beaten) = (Arc::new(AtomicBool::new(false)), Arc::clone(&input));
        let hushed = Arc::clone(&is_hushed);
        thread::spawn(move || {
            while !hushed.load(Relaxed) {
                beaten.lock().unwrap().as_mut().map(|input| input.write_all(b"beat\n"));
                thread::sleep(BEATS);
            }
        });
        Self { engine, input, is_hushed, lines }
    }

    fn hush(&self) {
        self.is_hushed.store(true, Relaxed);
    }

    fn close(&self) {
        drop(self.input.lock().unwrap().take());
    }

    fn tell(&self, line: &str) {
        let mut input = self.input.lock().unwrap();
        input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Returns the next line that is neither a beat nor progress.
    fn says(&mut self) -> Value {
        let mut values =
            self.lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let is_more = |value: &Value| value.get("at_s").is_none() && value.get("beat").is_none();
        values.find(is_more).unwrap_or_default()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.engine)
    }

    /// Returns the process of the trial that is going on.
    fn trial(&self) -> Pid {
        let pid = self.engine.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        Pid::from_raw(children.trim().parse().unwrap()).unwrap()
    }

    /// Begins a load of an hour, and returns what it asks of its server.
    fn load(&mut self) -> Witness {
        let (address, witness) = witnessed(|_| thread::sleep(Duration::from_millis(5)));
        let mut spec = spec(&address, 0);
        spec["stop"] = for_seconds(3_600.0);
        self.tell(&spec.to_string());
        while witness.asked() == 0 {
            thread::sleep(Duration::from_millis(10));
        }
        witness
    }

    /// Waits until the process that serves has ended.
    fn ends_by(&mut self, until: Instant) {
        while self.engine.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "it goes on");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn lives(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until the process has ended.
fn gone_by(pid: Pid, until: Instant) {
    while lives(pid) {
        assert!(Instant::now() < until, "it goes on");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether nothing more is asked.
fn is_over(witness: &Witness) -> bool {
    let asked = witness.asked();
    thread::sleep(Duration::from_millis(300));
    witness.asked() == asked
}

#[test]
fn trials_follow_one_another_and_each_begins_when_it_is_told() {
    let (address, witness) = witnessed(|_| ());
    let mut served = Served::start();
    for label in ["one", "other"] {
        let mut spec = spec(&address, 20);
        (spec["label"], spec["begins"]) = (json!(label), json!("told"));
        served.tell(&spec.to_string());
        assert_eq!(served.says(), json!({"held": 0}));
        let before = witness.asked();
        thread::sleep(Duration::from_millis(200));
        assert_eq!(witness.asked(), before);
        served.tell("go");
        assert_eq!(served.says(), json!({"over": 1}));
        let record = &served.says()["record"];
        assert_consistent(record);
        assert_eq!((&record["spec"]["label"], &record["outcomes"]["ok"]), (&json!(label), &json!(20)));
        assert_eq!(served.says(), json!({"ended": {"code": 0}}));
    }
    served.close();
    assert!(served.engine.wait().unwrap().success());
}

#[test]
fn a_load_begins_at_the_instant_of_its_clock_that_it_is_told() {
    let (address, witness) = witnessed(|_| ());
    let mut served = Served::start();
    let mut spec = spec(&address, 20);
    spec["begins"] = json!("told");
    served.tell(&spec.to_string());
    assert_eq!(served.says(), json!({"held": 0}));
    let before_ns = now_ns();
    served.tell("clock");
    let there_ns = served.says()["clock"]["monotonic_ns"].as_u64().unwrap();
    assert!((before_ns..=now_ns()).contains(&there_ns));
    let (told, ahead) = (Instant::now(), Duration::from_millis(200));
    let began_ns = now_ns() + ahead.as_nanos() as u64;
    served.tell(&format!("go {began_ns}"));
    assert_eq!(served.says(), json!({"over": 1}));
    assert_eq!(served.says()["record"]["began_monotonic_ns"], began_ns);
    assert!(witness.exchanges().iter().all(|exchange| exchange.read >= told + ahead));
}

#[test]
fn a_load_is_ended_early_with_its_record() {
    let mut served = Served::start();
    served.load();
    served.tell(&spec("127.0.0.1:1", 1).to_string());
    assert_eq!(served.says()["error"], "another trial is going on");
    assert_eq!(served.says(), json!({"ended": {"code": 2}}));
    served.tell("end");
    assert_consistent(&served.says()["record"]);
    assert_eq!(served.says(), json!({"ended": {"code": 0}}));
}

#[test]
fn a_spec_that_makes_no_sense_is_a_trial_that_has_ended() {
    let mut served = Served::start();
    for (line, what) in [
        ("{}".to_owned(), "no TrialSpec"),
        (json!({"version": 4}).to_string(), "no TrialSpec"),
        (spec("nowhere", 1).to_string(), "target.address must be numeric"),
    ] {
        served.tell(&line);
        let said = served.says();
        assert!(said["error"].as_str().unwrap().contains(what), "{said}");
        assert_eq!(served.says(), json!({"ended": {"code": 2}}));
    }
    served.tell("unheard of");
    assert!(served.says()["error"].as_str().unwrap().contains("unheard of"));
}

#[test]
fn a_file_that_comes_with_the_spec_is_in_the_request_and_not_in_the_record() {
    let mut spec = spec(&answering(HELLO), 4);
    spec["requests"][0]["method"] = json!("POST");
    spec["requests"][0]["body_file"] = json!("/nowhere/secret");
    spec["files"] = json!([{"name": "/nowhere/secret", "base64": "c2VjcmV0IGJvZHk="}]);
    spec["examples"] = json!("all");
    let mut served = Served::start();
    served.tell(&spec.to_string());
    let record = &served.says()["record"];
    let sent = record["requests"][0]["examples"][0]["request"].as_str().unwrap();
    assert!(sent.ends_with("\r\n\r\nsecret body"), "{sent}");
    assert_eq!(record["spec"]["files"], json!([]));
}

#[test]
fn it_says_what_machine_it_is_on_and_serves_for_its_ceiling_there() {
    let mut served = Served::start();
    served.tell("facts");
    let facts = &served.says()["facts"];
    assert!(facts["addresses"].as_array().unwrap().contains(&json!("127.0.0.1")), "{facts}");
    let cores = facts["cores"].as_array().unwrap().len();
    assert_eq!(cores, thread::available_parallelism().unwrap().get());
    assert!(facts["memory_available_bytes"].as_u64() < facts["memory_bytes"].as_u64());
    assert!(facts["port_range"][0].as_u64() < facts["port_range"][1].as_u64());
    served.tell("null-server --body-bytes 5");
    let port = &served.says()["null_server"]["port"];
    let mut spec = spec(&format!("127.0.0.1:{port}"), 20);
    spec["requests"][0]["expect"]["body_sha256"] = Value::Null;
    served.tell(&spec.to_string());
    let said = served.says();
    assert_eq!(said["record"]["outcomes"]["ok"], 20, "{said}");
    assert_eq!(served.says(), json!({"ended": {"code": 0}}));
    let null = served.trial();
    served.tell("null-server-end");
    gone_by(null, Instant::now() + OVER);
}

/// Does something to a load that goes on; then it is over in time, and so are both processes.
fn all_end_after(what: impl FnOnce(&mut Served, Pid)) {
    let mut served = Served::start();
    let witness = served.load();
    let (serving, trial) = (served.pid(), served.trial());
    let until = Instant::now() + OVER;
    what(&mut served, trial);
    gone_by(trial, until);
    served.ends_by(until);
    assert!(!lives(serving));
    assert!(is_over(&witness));
}

#[test]
fn a_lab_that_is_silent_ends_the_load() {
    all_end_after(|served, _| served.hush());
}

#[test]
fn a_lab_that_is_gone_ends_the_load() {
    all_end_after(|served, _| served.close());
}

#[test]
fn a_trial_ends_with_what_serves_it() {
    all_end_after(|served, _| kill_process(served.pid(), Signal::KILL).unwrap());
}

#[test]
fn what_serves_is_frozen_and_both_end() {
    all_end_after(|served, _| {
        kill_process(served.pid(), Signal::STOP).unwrap();
    });
}

#[test]
fn both_are_frozen_and_both_end() {
    all_end_after(|served, trial| {
        kill_process(served.pid(), Signal::STOP).unwrap();
        kill_process(trial, Signal::STOP).unwrap();
    });
}

#[test]
fn both_are_killed_and_nothing_is_left() {
    all_end_after(|served, trial| {
        kill_process(served.pid(), Signal::KILL).unwrap();
        let _ = kill_process(trial, Signal::KILL);
    });
}

#[test]
fn a_trial_that_is_killed_or_frozen_is_named_and_the_next_one_runs() {
    let mut served = Served::start();
    let mut pid = None;
    for signal in [Signal::KILL, Signal::STOP] {
        served.load();
        let trial = served.trial();
        assert_ne!(pid.replace(trial), Some(trial));
        kill_process(trial, signal).unwrap();
        let began = Instant::now();
        if signal == Signal::STOP {
            gone_by(trial, began + OVER);
            let said = served.says();
            assert!(said["error"].as_str().unwrap().contains("it was stopped"), "{said}");
        }
        assert_eq!(served.says(), json!({"ended": {"code": -9}}));
    }
    served.tell(&spec(&answering(HELLO), 4).to_string());
    assert_eq!(served.says()["record"]["outcomes"]["ok"], 4);
}

#[test]
fn no_secret_is_in_an_argument_or_the_environment() {
    let mut served = Served::start();
    let (address, _) = witnessed(|_| thread::sleep(Duration::from_millis(5)));
    let mut spec = spec(&address, 0);
    spec["stop"] = for_seconds(3_600.0);
    spec["requests"][0]["headers"] = json!([["Authorization", "top secret"]]);
    spec["begins"] = json!("told");
    served.tell(&spec.to_string());
    assert_eq!(served.says(), json!({"held": 0}));
    for pid in [served.pid(), served.trial()] {
        for file in ["cmdline", "environ"] {
            let text = std::fs::read(format!("/proc/{}/{file}", pid.as_raw_nonzero())).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains("secret"), "{file}");
        }
    }
}
