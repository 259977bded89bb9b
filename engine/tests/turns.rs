//! A load that is put on in turns: what happens between two of them, and what the record of all of them says.

mod peer;

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crumple_engine::clock::now_ns;
use peer::held::Held;
use peer::record::{assert_consistent, busy_connections, count, series};
use peer::witness::{Witness, witnessed};
use peer::{HELLO, answering, refusal, spec};
use serde_json::{Value, json};

const MS: u64 = 1_000_000;
/// How long the load is held between two turns.
const HELD: Duration = Duration::from_millis(400);

/// A load of four users in two turns that warm up and three that measure.
fn in_turns(address: &str) -> Value {
    let mut spec = spec(address, 0);
    let turn = |warm_up_s: f64, measured_s: f64| json!({"warm_up_s": warm_up_s, "measured_s": measured_s});
    spec["shape"]["connections"] = json!(4);
    spec["stop"] = json!({"kind": "duration", "duration_s": 1.05});
    spec["turns"] =
        json!([turn(0.1, 0.0), turn(0.1, 0.0), turn(0.15, 0.35), turn(0.15, 0.35), turn(0.15, 0.35)]);
    spec["probe"]["tasks"] = json!(true);
    spec["probe"]["stages"] = json!(true);
    spec["probe"]["dependencies"] = json!(true);
    spec
}

/// Returns the record of a load that is held between its turns, and what a process of this test used meanwhile.
fn run(spec: &Value, between: impl Fn(usize)) -> Value {
    let mut held = Held::start(spec);
    for turn in 1..spec["turns"].as_array().unwrap().len() {
        assert_eq!(held.says(), json!({"held": turn}));
        between(turn);
        held.tell("go");
    }
    held.record()
}

#[test]
fn between_turns_nothing_is_sent_and_the_books_are_those_of_one_load() {
    let (address, witness): (String, Witness) = witnessed(|_| thread::sleep(Duration::from_millis(10)));
    let record = run(&in_turns(&address), |_| {
        thread::sleep(Duration::from_millis(100)); // What was on its way has come by now.
        let before = witness.asked();
        thread::sleep(HELD);
        assert_eq!(witness.asked(), before);
    });
    assert_consistent(&record);
    assert_eq!((&record["warm_up_ns"], &record["measured_ns"]), (&json!(350 * MS), &json!(1_050 * MS)));
    // Each turn cuts off what is in flight at its end, and takes over what its warm-up has left.
    assert_eq!(count(&record, "unfinished"), 12);
    assert_eq!(record["histograms"]["taken_over"]["count"], 12);
    assert_eq!((&record["users"], &record["users_unanswered"]), (&json!(4), &json!(0)));
    assert_eq!(record["connections_opened"], 12);
    assert!((busy_connections(&record) - 4.0).abs() < 0.1, "{}", busy_connections(&record));
    let (asked, warmed_up) = (witness.asked(), &record["warm_up"]["scheduled"]);
    assert_eq!(asked, record["scheduled"].as_u64().unwrap() + warmed_up.as_u64().unwrap());
}

#[test]
fn what_lies_between_turns_has_no_place_on_the_time_axis() {
    let record = run(&in_turns(&answering(HELLO)), |_| thread::sleep(HELD));
    let (at_ns, long_ns): (Vec<u64>, Vec<u64>) = (series(&record, "at_ns"), series(&record, "duration_ns"));
    let mut ends_ns = 0;
    for (at_ns, long_ns) in at_ns.into_iter().zip(long_ns) {
        // A thread may end an interval a little late.
        assert!(at_ns.abs_diff(ends_ns) < 30 * MS, "{at_ns} after {ends_ns}");
        ends_ns = at_ns + long_ns;
    }
    assert_eq!(ends_ns, 1_400 * MS);
    let phases: Vec<String> = series(&record, "phase");
    assert!(phases.is_sorted_by(|one, next| one >= next), "warm-up, then measured: {phases:?}");
    assert_eq!(record["log"]["at_ns"], json!([0, 350 * MS, 700 * MS]));
    for rows in ["/stages", "/tasks", "/dependencies", "/sockets", "/server/samples", "/threads/0"] {
        let at_ns = &record["probes"].pointer(rows).unwrap()["at_ns"];
        let at_ns: Vec<u64> = serde_json::from_value(at_ns.clone()).unwrap();
        assert!(at_ns.is_sorted() && at_ns.iter().all(|&ns| ns <= 1_400 * MS), "{rows}: {at_ns:?}");
    }
}

#[test]
fn what_is_used_between_turns_is_not_in_the_record() {
    let record = run(&in_turns(&answering(HELLO)), |_| burn(Duration::from_millis(800)));
    let (probes, cores) = (&record["probes"], thread::available_parallelism().unwrap().get() as u64);
    let server = &probes["server"]["window"];
    let span_ns = server["span_ns"].as_u64().unwrap();
    let used_ns = server["cpu_user_ns"].as_u64().unwrap() + server["cpu_kernel_ns"].as_u64().unwrap();
    let tasks = &probes["tasks"];
    // Readings may come late, but not as late as a turn that is held is long.
    for span_ns in [
        span_ns,
        tasks["window_ns"].as_u64().unwrap(),
        probes["machine"]["window"]["span_ns"].as_u64().unwrap(),
    ] {
        assert!((700 * MS..2_000 * MS).contains(&span_ns), "{span_ns}");
    }
    assert!(used_ns <= cores * span_ns, "{used_ns} in {span_ns}");
    let by_threads = tasks["cpu_ns"].as_u64().unwrap() + tasks["ended_cpu_ns"].as_u64().unwrap();
    assert!(by_threads <= cores * tasks["window_ns"].as_u64().unwrap(), "{tasks}");
    // Between two turns this process used 0.8 s: from one row to the next there cannot be as much.
    let column = |name: &str| -> Vec<u64> {
        serde_json::from_value(probes["server"]["samples"][name].clone()).unwrap()
    };
    let used: Vec<u64> = column("cpu_user_ns")
        .iter()
        .zip(column("cpu_kernel_ns"))
        .map(|(user, kernel)| user + kernel)
        .collect();
    let at_ns = column("at_ns");
    for (used, at_ns) in used.windows(2).zip(at_ns.windows(2)) {
        let rose_ns = used[1].saturating_sub(used[0]);
        assert!(rose_ns <= cores * (at_ns[1] - at_ns[0]) + 300 * MS, "{rose_ns}: {used:?} at {at_ns:?}");
    }
    assert_eq!(server["pss_max_bytes"], Value::Null, "others share its memory");
}

/// Uses a core for this long.
fn burn(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_load_that_is_not_told_to_go_on_ends_without_a_record() {
    let mut held = Held::start(&in_turns(&answering(HELLO)));
    assert_eq!(held.says(), json!({"held": 1}));
    drop(held.engine.stdin.take());
    assert!(held.says()["error"].as_str().unwrap().contains("after turn 1"));
    let output = held.engine.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

#[test]
fn after_a_load_in_one_go_no_more_text_is_expected() {
    let mut engine: Command = peer::engine();
    let mut engine = engine.arg("run").stdin(Stdio::piped()).spawn().unwrap();
    let text = format!("{} go", spec(&answering(HELLO), 1));
    engine.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = engine.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("more text follows it"));
    let mut bad = in_turns(&answering(HELLO));
    bad["stop"]["duration_s"] = json!(2.0);
    let (code, fault) = refusal(&bad);
    assert_eq!(code, Some(2));
    assert!(fault["error"].as_str().unwrap().contains("must measure for as long"), "{fault}");
}

#[test]
fn a_turn_begins_at_the_instant_that_it_is_told() {
    let (address, witness) = witnessed(|_| ());
    let mut held = Held::start(&in_turns(&address));
    for turn in 1..5 {
        assert_eq!(held.says(), json!({"held": turn}));
        thread::sleep(Duration::from_millis(100)); // What was on its way has come by now.
        let (told, ahead) = (Instant::now(), Duration::from_millis(200));
        held.tell(&format!("go {}", now_ns() + ahead.as_nanos() as u64));
        while witness.exchanges().last().unwrap().read < told {
            thread::sleep(Duration::from_millis(1));
        }
        let first = witness.exchanges().into_iter().find(|exchange| exchange.read > told).unwrap();
        assert!(first.read >= told + ahead, "{:?}", first.read - told);
    }
    assert_consistent(&held.record());
}

#[test]
fn an_interrupt_while_the_load_is_held_ends_it_with_its_record() {
    let (address, _) = witnessed(|_| thread::sleep(Duration::from_millis(10)));
    let mut held = Held::start(&in_turns(&address));
    assert_eq!(held.says(), json!({"held": 1}));
    let pid = rustix::process::Pid::from_raw(i32::try_from(held.engine.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let record = held.record();
    assert_eq!(record["outcomes"]["ok"], 0); // Only a part of the warm-up had been put on.
}
