//! Whole trials: phases, pauses, threads, faults of the spec, and what the guard leaves behind.

mod peer;

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use peer::record::{assert_all, busy_connections, count, series};
use peer::tried::until_shown;
use peer::witness::{Exchange, Stalls, witnessed};
use peer::{HELLO, NullServer, after, answering, refusal, run, spec};
use serde_json::{Value, json};

#[test]
fn a_warm_up_by_number_leaves_the_totals_alone() {
    let mut spec = spec(&answering(HELLO), 50);
    spec["threads"] = json!(1); // With two threads, one may be done before the other begins.
    spec["warm_up"] = json!({"connections": 1, "pauses": true, "stop": {"kind": "requests", "requests": 30, "within_s": 5.0}});
    let record = run(&spec);
    assert_all(&record, "ok", 50);
    assert_eq!(record["warm_up"]["outcomes"]["ok"], 30);
    assert_eq!(record["connections_opened"], 2, "the warm-up's connection is used on");
    assert_eq!(record["series"]["phase"][0], "warm-up");
}

#[test]
fn a_warm_up_cut_short_says_what_it_did_not_send() {
    let (address, witness) = witnessed(|_| thread::sleep(Duration::from_millis(100)));
    let mut spec = spec(&address, 4);
    spec["warm_up"] = json!({"connections": 1, "pauses": true, "stop": {"kind": "requests", "requests": 100, "within_s": 0.45}});
    let record = run(&spec);
    assert_all(&record, "ok", 4);
    let not_sent = record["warm_up"]["outcomes"]["not-sent"].as_u64().unwrap();
    // One request in each 100 ms, and one that is in flight at the end.
    assert!(not_sent >= 95, "{:#}", record["warm_up"]);
    assert_eq!(not_sent + witness.asked(), 100 + 4);
    assert_eq!(record["warm_up"]["scheduled"], 100);
}

#[test]
fn a_warm_up_by_time_takes_its_time() {
    let (address, witness) = witnessed(|_| thread::sleep(Duration::from_millis(10)));
    let mut spec = spec(&address, 0);
    spec["warm_up"] =
        json!({"connections": null, "pauses": true, "stop": {"kind": "duration", "duration_s": 0.25}});
    spec["stop"] = json!({"kind": "duration", "duration_s": 0.5});
    let record = run(&spec);
    assert_eq!(record["warm_up_ns"], 250_000_000);
    assert_eq!(record["measured_ns"], 500_000_000);
    let (ok, unfinished) = (count(&record, "ok"), count(&record, "unfinished"));
    assert!(ok <= 100 && (1..=2).contains(&unfinished), "{:#}", record["outcomes"]);
    // What the peer answered was `ok` in one phase or the other, except for answers after the end.
    let ok = ok + record["warm_up"]["outcomes"]["ok"].as_u64().unwrap();
    assert!((ok..=ok + unfinished).contains(&witness.answered()), "{ok} of {}", witness.answered());
    let phases = record["series"]["phase"].as_array().unwrap();
    assert_eq!(phases.iter().filter(|phase| *phase == "warm-up").count(), 3);
    assert_eq!(phases.iter().filter(|phase| *phase == "measured").count(), 5);
}

#[test]
fn every_connection_is_accounted_for_at_every_instant() {
    // Answers take long compared with the phase, so that many requests begin before it or end after it.
    for wait_ms in [1, 30, 170] {
        let mut spec = spec(&after(Duration::from_millis(wait_ms)), 0);
        spec["shape"]["connections"] = json!(5);
        spec["warm_up"] =
            json!({"connections": null, "pauses": true, "stop": {"kind": "duration", "duration_s": 0.25}});
        spec["stop"] = json!({"kind": "duration", "duration_s": 0.4});
        let busy = busy_connections(&run(&spec));
        assert!((4.95..=5.01).contains(&busy), "{busy} of 5 connections at {wait_ms} ms");
    }
}

#[test]
fn a_phase_by_the_clock_counts_what_ends_in_it() {
    let (mut spec, mut shown) = (spec("", 0), None);
    spec["shape"]["connections"] = json!(5);
    spec["warm_up"] =
        json!({"connections": null, "pauses": true, "stop": {"kind": "duration", "duration_s": 0.4}});
    spec["stop"] = json!({"kind": "duration", "duration_s": 0.5});
    until_shown(|| {
        let (address, witness) = witnessed(|_| thread::sleep(Duration::from_millis(250)));
        spec["target"]["address"] = json!(address);
        let record = run(&spec);
        let exchanges = witness.exchanges();
        let began = exchanges[0].read;
        let in_time = |exchange: &&Exchange| {
            exchange.answered.is_some_and(|(_, written)| written < began + Duration::from_millis(800))
        };
        let answered = exchanges.iter().filter(in_time).count();
        if answered < 15 {
            return Err(format!("the peer wrote {answered} of 15 answers in time"));
        }
        shown = Some(record);
        Ok(())
    });
    let record = shown.unwrap();
    // Each user has answers at 0.25, 0.5 and 0.75 s, and still waits at 0.9 s.
    assert_eq!((count(&record, "ok"), count(&record, "unfinished")), (10, 5), "{:#}", record["outcomes"]);
    assert_eq!((&record["warm_up"]["scheduled"], &record["scheduled"]), (&json!(5), &json!(15)));
    let histograms = &record["histograms"];
    assert!(histograms["response_time"]["mean_ns"].as_f64().unwrap() >= 250e6);
    assert_eq!(
        (&histograms["taken_over"]["count"], &histograms["carried_over"]["count"]),
        (&json!(5), &json!(0))
    );
    // By number, the phase counts the requests that were asked for, and no others.
    spec["stop"] = json!({"kind": "requests", "requests": 10, "within_s": 10.0});
    let record = run(&spec);
    assert_eq!((count(&record, "ok"), &record["scheduled"]), (10, &json!(10)));
    assert_eq!(record["histograms"]["carried_over"]["count"], 5);
}

#[test]
fn a_pause_makes_room_between_requests() {
    let stalls = Stalls::watch();
    let (address, witness) = witnessed(|_| ());
    let mut spec = spec(&address, 0);
    spec["shape"]["pause_ms"] = json!(50.0);
    spec["stop"] = json!({"kind": "duration", "duration_s": 1.02});
    let record = run(&spec);
    // Two users: each sends one request within the first 50 ms, and then one about every 50 ms.
    let ok = count(&record, "ok");
    assert!(ok <= 42 && ok == witness.answered(), "{ok} of {}", witness.answered());
    let mut gaps = witness.gaps();
    gaps.sort_unstable();
    let least = Duration::from_millis(50);
    assert!(gaps[0] >= least - Duration::from_micros(100), "{gaps:?}");
    let most = least + Duration::from_millis(10) + Duration::from_nanos(stalls.longest_ns());
    assert!(gaps[gaps.len() / 2] <= most, "{gaps:?}");
    assert_eq!(record["connections_opened"], 2);
}

/// Returns the requests that ended in each interval of the measured phase. 100 users pause for a second on average.
fn ended_along(pause: &str, warm_up: Value) -> (Value, Vec<u64>) {
    let mut spec = spec(&after(Duration::from_millis(20)), 0);
    spec["shape"] = json!({"kind": "closed", "connections": 100, "pause_ms": 1000.0, "pause": pause});
    spec["warm_up"] = warm_up;
    spec["stop"] = json!({"kind": "duration", "duration_s": 2.0});
    let record = run(&spec);
    let ok: Vec<u64> = serde_json::from_value(record["series"]["ok"].clone()).unwrap();
    let measured = ok[ok.len() - 20..].to_vec();
    (record, measured)
}

#[test]
fn who_pauses_is_met_within_a_pause() {
    for pause in ["fixed", "exponential"] {
        let (record, ended) = ended_along(pause, Value::Null);
        // Ten end in each tenth of a second on average, and 40 is more than five standard deviations above that.
        assert!(ended.iter().all(|&each| each < 40), "{pause}: {ended:?}");
        assert!((140..=240).contains(&count(&record, "ok")), "{pause}: {}", record["outcomes"]);
    }
}

#[test]
fn what_is_left_of_a_warm_up_without_pauses_is_no_part_of_a_load_that_pauses() {
    let unpaced =
        json!({"connections": null, "pauses": false, "stop": {"kind": "duration", "duration_s": 0.3}});
    let (record, ended) = ended_along("exponential", unpaced);
    assert!(record["warm_up"]["outcomes"]["ok"].as_u64().unwrap() > 500, "{}", record["warm_up"]);
    assert!(ended.iter().all(|&each| each < 40), "{ended:?}");
    let carried_over = record["histograms"]["carried_over"]["count"].as_u64().unwrap();
    assert!((90..=100).contains(&carried_over), "{carried_over}");
    assert_eq!(record["histograms"]["taken_over"]["count"], 0);
}

#[test]
fn the_response_time_is_the_servers() {
    let (address, witness) = witnessed(|_| thread::sleep(Duration::from_millis(20)));
    let record = run(&spec(&address, 40));
    let times = &record["histograms"]["response_time"];
    let mean_ns = times["mean_ns"].as_f64().unwrap();
    let took = |exchange: &Exchange| exchange.answered.unwrap().1 - exchange.read;
    let took: Duration = witness.exchanges().iter().map(took).sum();
    let theirs_ns = took.as_nanos() as f64 / 40.0;
    assert!(times["min_ns"].as_u64().unwrap() >= 20_000_000);
    assert!(mean_ns >= 20e6 && mean_ns < theirs_ns + 10e6, "{mean_ns} of {theirs_ns}");
}

#[test]
fn threads_share_the_work() {
    let mut spec = spec(&answering(HELLO), 5000);
    spec["shape"]["connections"] = json!(7);
    spec["threads"] = json!(3);
    spec["warm_up"] = json!({"connections": 1, "pauses": true, "stop": {"kind": "requests", "requests": 100, "within_s": 5.0}});
    let record = run(&spec);
    assert_all(&record, "ok", 5000);
    assert_eq!(record["connections_opened"], 7);
}

const WARM_UP: Duration = Duration::from_millis(400);

/// Returns the record of a ramp from 1 connection to 8 within 1.6 s. The warm-up has eight.
fn ramp(pauses: bool) -> Value {
    let mut spec = spec(&answering(HELLO), 0);
    spec["shape"] = json!({"kind": "ramp", "from_connections": 1, "to_connections": 8, "over_s": 1.6,
        "pause_ms": 200.0, "pause": "fixed"});
    spec["warm_up"] = json!({"connections": 8, "pauses": pauses,
        "stop": {"kind": "duration", "duration_s": WARM_UP.as_secs_f64()}});
    spec["stop"] = json!({"kind": "duration", "duration_s": 2.0});
    run(&spec)
}

/// Returns the connections open at the end of the intervals that begin in `ms`, since the first instant.
fn open_within(record: &Value, ms: Range<u64>) -> Vec<u64> {
    let (at_ns, open): (Vec<u64>, Vec<u64>) = (series(record, "at_ns"), series(record, "connections"));
    let within = at_ns.iter().zip(open).filter(|(at_ns, _)| ms.contains(&(**at_ns / 1_000_000)));
    within.map(|(_, open)| open).collect()
}

#[test]
fn who_warmed_up_for_a_ramp_comes_anew_when_its_turn_comes() {
    for pauses in [true, false] {
        let record = ramp(pauses);
        let warmed_up = open_within(&record, 200..350);
        assert!(warmed_up.iter().all(|&open| open == 8), "{warmed_up:?}");
        // One connection from the first instant on, the next after 0.23 s, the last after 1.6 s.
        let begun = open_within(&record, 400..550);
        assert!(begun.iter().all(|&open| open <= 2), "{begun:?}");
        let measured = open_within(&record, 400..2400);
        // A thread that is late at the end of an interval may have one more or less.
        assert!(measured.is_sorted_by(|one, next| *one <= next + 1), "{measured:?}");
        assert_eq!(measured.last(), Some(&8), "{measured:?}");
        assert_eq!(record["connections_opened"], 16);
    }
}

#[test]
fn a_warm_up_without_pauses_sends_at_once_and_the_ramp_pauses() {
    let sent = |pauses| {
        let record = ramp(pauses);
        (record["warm_up"]["outcomes"]["ok"].as_u64().unwrap(), record["outcomes"]["ok"].as_u64().unwrap())
    };
    let ((paced, after), (unpaced, after_too)) = (sent(true), sent(false));
    assert!((8..=24).contains(&paced), "{paced}");
    assert!(unpaced > 100, "{unpaced}");
    assert!((30..=60).contains(&after) && (30..=60).contains(&after_too), "{after} {after_too}");
}

#[test]
fn a_short_ramp_is_logged_in_shorter_pieces() {
    let record = ramp(true);
    assert_eq!(record["log"]["interval_ms"], 100);
}

#[test]
fn the_probe_sees_the_server() {
    let server = NullServer::start(&["--threads", "3"]);
    let mut spec = spec(&server.address, 0);
    spec["requests"][0]["expect"]["body_bytes"] = json!(512);
    spec["requests"][0]["expect"]["body_sha256"] = Value::Null;
    spec["shape"]["pause_ms"] = json!(5.0);
    spec["stop"] = json!({"kind": "duration", "duration_s": 0.55});
    spec["probe"]["server_pid"] = json!(server.pid());
    let record = run(&spec);
    let server = &record["probes"]["server"];
    assert!(server["samples"]["at_ns"].as_array().unwrap().len() >= 3, "{server:#}");
    assert_eq!(server["window"]["processes_max"], 1);
    assert_eq!(server["window"]["threads_max"], 4);
    assert!(server["window"]["voluntary_switches"].as_u64().unwrap() > 50, "{server:#}");
    assert_eq!(record["probes"]["engine"]["window"]["processes_max"], 1);
}

#[test]
fn a_server_that_has_gone_is_a_null_window() {
    let mut spec = spec(&answering(HELLO), 10);
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    spec["probe"]["server_pid"] = json!(gone.id());
    let record = run(&spec);
    assert_eq!(record["probes"]["server"]["window"], Value::Null);
    assert_eq!(record["probes"]["server"]["unread"][0]["field"], "cpu_user_ns");
}

#[test]
fn a_spec_without_sense_is_refused_in_one_line() {
    let mut spec = spec("127.0.0.1:1", 1);
    spec["shape"]["connections"] = json!(0);
    spec["threads"] = json!(0);
    let (exit_code, failure) = refusal(&spec);
    assert_eq!(exit_code, Some(2));
    let error = failure["error"].as_str().unwrap();
    assert!(error.contains("shape.connections") && error.contains("threads"), "{error}");
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn the_guard_leaves_nothing_even_of_those_that_left_their_session() {
    let scratch = std::env::temp_dir().join(format!("crumple-guard-{}", std::process::id()));
    let script = "setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 60' & wait";
    let mut guard = Command::new(env!("CARGO_BIN_EXE_crumple-engine"))
        .args(["guard", "--grace", "0.3", "--log"])
        .arg(scratch.join("log"))
        .arg("--scratch")
        .arg(&scratch)
        .args(["--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(guard.stdout.take().unwrap()).lines();
    let said: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let root = said["pid"].to_string();
    let deadline = Instant::now() + Duration::from_secs(5);
    let stray = loop {
        let log = std::fs::read_to_string(scratch.join("log")).unwrap_or_default();
        if log.ends_with('\n') {
            break log.trim().to_string();
        }
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(5));
    };
    assert!(is_alive(&root) && is_alive(&stray));
    drop(guard.stdin.take());
    guard.wait().unwrap();
    assert!(!is_alive(&root), "the command is gone");
    assert!(!is_alive(&stray), "and so is the child that ignored SIGTERM in a session of its own");
    assert!(!scratch.exists(), "and the scratch folder");
}

#[test]
fn a_thousand_kinds_of_requests_take_little_memory() {
    let mut spec = spec(&answering(HELLO), 3_000);
    spec["requests"] = json!(vec![spec["requests"][0].clone(); 1_000]);
    let record = run(&spec);
    assert_all(&record, "ok", 3_000);
    let kinds = record["requests"].as_array().unwrap();
    assert!(kinds.iter().all(|kind| kind["response_time"]["count"] == kind["outcomes"]["ok"]));
    let bytes = record["probes"]["engine"]["window"]["rss_max_bytes"].as_u64().unwrap();
    assert!(bytes < 60_000_000, "{bytes} bytes");
}
