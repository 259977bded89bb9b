//! The hot loop over simulated sockets: what it counts, whatever a peer does. Times are exact, as the clock moves
//! only while the loop waits.

mod board;
mod patience;
mod phases;
mod shown;
mod trying_again;

use std::sync::mpsc;

use rustix::io::Errno;
use serde_json::{Value, json};

use super::*;
use crate::beginning::{Beginning, LEAD_NS};
use crate::board::Board;
use crate::collector::Collector;
use crate::http::feed;
use crate::jobs::Jobs;
use crate::net::simulated::{Reply, Script, Simulated};
use crate::outcome::{Outcomes, Reason};
use crate::readers::Readers;
use crate::record::{Probes, TrialRecord};
use crate::shape::Shape;
use crate::shape::closed::ClosedLoad;
use crate::shape::open::OpenLoad;
use crate::shape::timetable::{Filler, Timetable};
use crate::spec::TrialSpec;
use crate::watches::Watches;

const BEGAN_NS: u64 = 5_000_000_000;
const MS: u64 = 1_000_000;
const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const BYE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbye";
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy";

/// Returns the spec of a closed load of `users` for `ms` milliseconds, changed by `change`.
fn closed(users: usize, ms: u64, change: impl FnOnce(&mut Value)) -> TrialSpec {
    spec(json!({"kind": "closed", "connections": users, "pause_ms": 0.0, "pause": "fixed"}), ms, change)
}

/// Returns the spec of an open load with even arrivals.
fn open(connections: usize, per_s: f64, ms: u64, change: impl FnOnce(&mut Value)) -> TrialSpec {
    let rate = json!({"from_per_s": per_s, "to_per_s": per_s, "duration_s": 1.0});
    let shape = json!({"kind": "open", "connections": connections, "arrivals": "even", "rates": [rate]});
    spec(shape, ms, change)
}

fn spec(shape: Value, ms: u64, change: impl FnOnce(&mut Value)) -> TrialSpec {
    let mut spec: Value = serde_json::from_str(include_str!("../../../contract/golden/spec.json")).unwrap();
    spec["shape"] = shape;
    spec["warm_up"] = Value::Null;
    spec["threads"] = json!(1);
    spec["stop"] = json!({"kind": "duration", "duration_s": ms as f64 / 1e3});
    spec["timeouts"] = json!({"connect_s": 0.2, "request_s": 0.5});
    spec["requests"][0]["expect"] =
        json!({"status": 200, "body_bytes": null, "body_sha256": null, "hash_one_in": 0});
    change(&mut spec);
    serde_json::from_value(spec).unwrap()
}

/// Returns the record of `spec` against a peer that behaves by `script`.
fn run(spec: TrialSpec, script: Script) -> TrialRecord {
    run_on(spec, script, None)
}

fn run_on(spec: TrialSpec, script: Script, board: Option<Arc<Board>>) -> TrialRecord {
    let plan = spec.plan().map_err(|failure| failure.error).unwrap();
    let course = Course::new(plan.warm_up.map(|warm_up| warm_up.stop), plan.stop);
    course.begin(BEGAN_NS);
    // An open load, and one that is told when to begin, have a moment before the first instant.
    let is_ahead = plan.shape.is_open() || plan.is_told;
    let now_ns = if is_ahead { BEGAN_NS - LEAD_NS } else { BEGAN_NS };
    let mut collector = Collector::new(&plan);
    let (outbox, inbox) = mpsc::channel();
    let (_returned, spent) = mpsc::channel();
    let (mut feeds, _) = feed::feeds(&plan.requests, 1, plan.part, plan.seed);
    let place = Place { course: &course, thread: 0, feed: feeds.remove(0), outbox, spent, board };
    let net = Simulated::new(script, plan.shape.connections(), now_ns);
    match &plan.shape {
        Shape::Closed(shape) => {
            let load = ClosedLoad::new(shape, &course, plan.warm_up.as_ref(), (0, 1), plan.seed);
            Loop::new(&plan, place, net, load).run();
            inbox.iter().for_each(|tally| collector.add(&tally));
            collector.count_never_issued(&course);
        }
        Shape::Open(shape) => {
            let table = Timetable::new(shape);
            let warm_up_ns = plan.warm_up.map_or(0, |warm_up| warm_up.stop.within_ns);
            let mut filler = Filler::new(shape, BEGAN_NS, warm_up_ns, plan.stop.requests, plan.seed);
            filler.fill(&table);
            let by_number = plan.stop.requests.is_some();
            let users = shape.connections;
            let load = OpenLoad::new(&table, &course, users, plan.request_timeout_ns, by_number);
            Loop::new(&plan, place, net, load).run();
            inbox.iter().for_each(|tally| collector.add(&tally));
            let scheduled = collector.scheduled();
            let (measured_from_ns, ends_at_ns) = (course.measured_from_ns(), course.ends_at_ns());
            collector.count_left(filler.count_left(&table, measured_from_ns, ends_at_ns, scheduled));
        }
    }
    collector.end_turn(&course);
    let record =
        collector.record(spec, &course, &Beginning { at_ns: BEGAN_NS, unix_ns: 0 }, no_probes(&plan));
    assert_consistent(&record);
    record
}

fn no_probes(plan: &Plan) -> Probes {
    let jobs = || Jobs::begin("idle", || {}).unwrap();
    let readers = Readers { aside: jobs(), reader: jobs(), must_rest: false };
    Watches::new(&[], None, None, readers, plan).record()
}

/// The outcomes that have reasons.
const FAILURES: [Outcome; 6] = [
    Outcome::Refused,
    Outcome::Reset,
    Outcome::ClosedEarly,
    Outcome::ConnectTimeout,
    Outcome::Timeout,
    Outcome::Malformed,
];

fn assert_each_failure_has_its_reason(mut ends: Outcomes, reasons: impl Iterator<Item = (Outcome, u64)>) {
    let mut counted = Outcomes::default();
    reasons.for_each(|(outcome, count)| *counted.of(outcome) += count);
    for outcome in FAILURES {
        assert_eq!(counted.of(outcome), ends.of(outcome), "{outcome:?}");
    }
    let sum: u64 = FAILURES.iter().map(|&outcome| *ends.of(outcome)).sum();
    assert_eq!(counted.total(), sum, "no other outcome has a reason");
}

/// Checks what must hold whatever a peer does.
fn assert_consistent(record: &TrialRecord) {
    assert_eq!(record.scheduled, record.outcomes.total(), "{:?}", record.outcomes);
    assert_eq!(record.warm_up.scheduled, record.warm_up.outcomes.total());
    let why = record.not_sent;
    let reasons = why.too_late + why.ports + why.descriptors + why.memory + why.forbidden + why.route;
    assert_eq!(reasons, record.outcomes.not_sent, "every request not sent has its reason: {why:?}");
    assert_each_failure_has_its_reason(
        record.outcomes,
        record.reasons.iter().map(|each| (each.outcome, each.count)),
    );
    let kinds = || record.requests.iter();
    assert_eq!(kinds().map(|kind| kind.outcomes.ok).sum::<u64>(), record.outcomes.ok);
    for kind in kinds() {
        assert_eq!(kind.scheduled, kind.outcomes.total(), "{}", kind.name);
    }
    assert_eq!(record.histograms.response_time.count, record.outcomes.ok);
    assert_eq!(record.histograms.unfinished_age.count, record.outcomes.unfinished);
    let measured = record.series.phase.iter().zip(&record.series.ok);
    let ok: u64 = measured.filter(|(phase, _)| **phase == Phase::Measured).map(|(_, ok)| ok).sum();
    assert_eq!(ok, record.outcomes.ok, "the series adds up");
    let logged = record.log.response_time.iter().map(|text| crate::record::decoded(text).len());
    assert_eq!(logged.sum::<u64>(), record.outcomes.ok, "and so does the log");
    assert!(record.log.at_ns.is_sorted_by(|one, next| one < next), "{:?}", record.log.at_ns);
}

/// Returns the mean number of busy users, without pauses.
fn users_accounted_for(record: &TrialRecord) -> f64 {
    let times = &record.histograms;
    let all =
        [&times.response_time, &times.failed, &times.timed_out, &times.unfinished_age, &times.carried_over];
    let spent_ns = |of: &crate::record::HistogramRecord| of.count as f64 * of.mean_ns.unwrap_or(0.0);
    let sum_ns: f64 = all.into_iter().map(spent_ns).sum::<f64>() - spent_ns(&times.taken_over);
    let engine_ns = (record.arrivals.held_ns + record.users_waited_ns) as f64;
    (sum_ns + engine_ns) / record.measured_ns as f64
}

/// The replies to requests, by their number.
type Answers = fn(u64) -> Reply;

fn answering(answer_ns: u64, answer: Answers) -> Script {
    Script { answer_ns, answer, ..Script::default() }
}

#[test]
fn every_user_asks_again_when_it_is_answered() {
    let record = run(closed(10, 1_000, |_| {}), answering(10 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(record.outcomes.ok, 990, "the last ten are answered as the trial ends");
    assert_eq!((record.outcomes.unfinished, record.connections_opened), (10, 10));
    assert_eq!((record.users, record.users_unanswered), (10, 0));
    assert_eq!(record.requests[0].statuses.get(&200), Some(&990));
    let times = &record.histograms.response_time;
    assert!(times.min_ns >= Some(9_990_000) && times.max_ns <= Some(10_010_000), "{times:?}");
    assert!((users_accounted_for(&record) - 10.0).abs() < 0.01, "{}", users_accounted_for(&record));
}

/// A queue in front of a server counts as the server's, however its connections end.
#[test]
fn the_engine_is_not_late_where_connections_end() {
    let ways: [(&str, Answers, &str); 5] = [
        ("closed by the server", |_| Reply::BytesAndClose(BYE), "keep-alive"),
        ("closed by the client", |_| Reply::Bytes(HELLO), "per-request"),
        ("reset", |number| if number % 3 == 0 { Reply::Reset } else { Reply::Bytes(HELLO) }, "keep-alive"),
        (
            "closed early",
            |number| if number % 3 == 0 { Reply::Close } else { Reply::Bytes(HELLO) },
            "keep-alive",
        ),
        (
            "timed out",
            |number| if number % 3 == 0 { Reply::Silence } else { Reply::Bytes(HELLO) },
            "keep-alive",
        ),
    ];
    for (way, answer, connection) in ways {
        // Five connections with answers of 50 ms serve 100 requests per second; 300 are due.
        let spec = open(5, 300.0, 1_000, |spec| spec["connection"] = json!(connection));
        let record = run(spec, answering(50 * MS, answer));
        let lateness = record.histograms.lateness.as_ref().unwrap();
        assert!(lateness.max_ns > Some(300 * MS), "{way}: {lateness:?}");
        let engine = &record.histograms.engine_lateness;
        assert!(engine.max_ns <= Some(MS), "{way}: {engine:?}");
        assert!(record.outcomes.not_sent > 0, "{way}: {:?}", record.outcomes);
    }
}

/// Returns how long all requests waited for the engine or for a connection, and the sums of the lateness and of the
/// connect times, in ms.
fn waited_ms(record: &TrialRecord) -> (f64, f64, f64) {
    let sum_ms = |of: &crate::record::HistogramRecord| of.count as f64 * of.mean_ns.unwrap_or(0.0) / 1e6;
    let times = &record.histograms;
    let late_ms = times.lateness.as_ref().map_or(0.0, sum_ms);
    (record.requests_waited_ns as f64 / 1e6, late_ms, sum_ms(&times.connect_time))
}

#[test]
fn the_wait_for_a_connection_is_that_of_the_measured_phase_alone() {
    let script = || Script { connect_ns: 100 * MS, ..answering(40 * MS, |_| Reply::Bytes(HELLO)) };
    // One connection at 20 requests a second: what the warm-up's connect delays is made up for before it ends.
    let kept = open(1, 20.0, 1_000, |spec| {
        let stop = json!({"kind": "duration", "duration_s": 1.0});
        spec["warm_up"] = json!({"connections": null, "pauses": false, "stop": stop});
    });
    let (waited, late, connecting) = waited_ms(&run(kept, script()));
    assert!(connecting > 99.0 && late < 1.0 && (waited - late).abs() < 0.5, "{waited} {late} {connecting}");
    // With a connection for each, of 140 ms, a request is due every 125 ms: one waits 15 ms longer than the last.
    let renewed = open(1, 8.0, 1_000, |spec| spec["connection"] = json!("per-request"));
    let (waited, late, connecting) = waited_ms(&run(renewed, script()));
    assert!(waited > 200.0 && connecting > 500.0, "{waited} {connecting}");
    // The last of them has waited for 105 ms, and is not sent.
    assert!((waited + connecting - late - 105.0).abs() < 2.0, "{waited} {late} {connecting}");
    // Without pauses a request of a closed load is due when it is begun.
    let (waited, ..) = waited_ms(&run(closed(4, 500, |_| {}), script()));
    assert_eq!(waited, 0.0);
}

#[test]
fn a_request_that_is_sent_again_has_waited_once() {
    // Of a connection that was idle the server closes every third, and the request goes over a new one.
    let spec = open(1, 5.0, 2_000, |_| {});
    let reply: Answers = |number| if number % 3 == 2 { Reply::Close } else { Reply::Bytes(HELLO) };
    let script = Script { connect_ns: 100 * MS, ..answering(10 * MS, reply) };
    let record = run(spec, script);
    let (waited, late, connecting) = waited_ms(&record);
    assert!(record.retried >= 2 && connecting > 200.0, "{} {connecting}", record.retried);
    assert!(waited < 1.0, "one connection is enough: {waited} {late}");
}

#[test]
fn a_request_is_given_up_in_the_queue_without_the_engine_being_late() {
    // One connection, with answers of 400 ms. Requests time out after 500 ms.
    let record = run(open(1, 100.0, 1_000, |_| {}), answering(400 * MS, |_| Reply::Bytes(HELLO)));
    assert!(record.outcomes.not_sent > 40, "{:?}", record.outcomes);
    assert!(record.histograms.engine_lateness.max_ns <= Some(MS));
}

#[test]
fn an_early_answer_is_read_while_the_request_is_sent() {
    const NO: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
    for answer in [(|_| Reply::Bytes(NO)) as Answers, |_| Reply::BytesAndClose(NO)] {
        let spec = closed(1, 1_000, |spec| {
            spec["requests"][0]["method"] = json!("POST");
            spec["requests"][0]["body"] = json!("x".repeat(100_000));
            spec["stop"] = json!({"kind": "requests", "requests": 4, "within_s": 1.0});
        });
        let script = Script { takes_bytes: 10_000, ..answering(10 * MS, answer) };
        let record = run(spec, script);
        assert_eq!(record.outcomes.wrong_status, 4, "{:?}", record.outcomes);
        assert_eq!(record.requests[0].statuses.get(&404), Some(&4));
        assert_eq!(record.connections_opened, 4, "what is left of a request cannot be followed by another");
    }
}

#[test]
fn an_early_answer_is_read_to_its_end_though_sending_has_failed() {
    // It is longer than a turn reads.
    static NO: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let head = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3000000\r\n\r\n".as_slice();
    NO.get_or_init(|| [head, &[b'x'; 3_000_000]].concat());
    let spec = closed(1, 1_000, |spec| {
        spec["requests"][0]["method"] = json!("POST");
        spec["requests"][0]["body"] = json!("x".repeat(100_000));
        spec["stop"] = json!({"kind": "requests", "requests": 4, "within_s": 1.0});
    });
    let answer: Answers = |_| Reply::BytesAndClose(NO.get().unwrap().as_slice());
    let record = run(spec, Script { takes_bytes: 10_000, ..answering(10 * MS, answer) });
    assert_eq!(record.requests[0].statuses.get(&413), Some(&4), "{:?}", record.outcomes);
}

#[test]
fn a_long_request_is_sent_in_parts() {
    let spec = closed(2, 1_000, |spec| {
        spec["requests"][0]["body"] = json!("x".repeat(100_000));
        spec["stop"] = json!({"kind": "requests", "requests": 6, "within_s": 1.0});
    });
    let script =
        Script { takes_bytes: 10_000, request_bytes: 100_000, ..answering(MS, |_| Reply::Bytes(HELLO)) };
    let record = run(spec, script);
    assert_eq!((record.outcomes.ok, record.connections_opened), (6, 2), "{:?}", record.outcomes);
    assert!(record.sent_bytes > 600_000);
}

#[test]
fn a_request_that_met_a_closed_connection_is_sent_again_where_it_may_be() {
    for (method, retried) in [("GET", 1), ("PUT", 1), ("POST", 0), ("PATCH", 0)] {
        let spec = closed(1, 1_000, |spec| {
            spec["requests"][0]["method"] = json!(method);
            spec["shape"]["pause_ms"] = json!(20.0);
            spec["stop"] = json!({"kind": "requests", "requests": 4, "within_s": 1.0});
        });
        let closing = |number| if number == 1 { Reply::Close } else { Reply::Bytes(HELLO) };
        let record = run(spec, answering(MS, closing));
        assert_eq!(record.retried, retried, "{method} (RFC 9110, 9.2.2)");
        assert_eq!(record.outcomes.closed_early, 1 - retried, "{method}");
    }
}

#[test]
fn a_request_on_which_the_server_failed_is_not_sent_again() {
    // A reset says that the request lay there unread.
    for (reply, failed) in [
        ((|number| if number == 1 { Reply::Close } else { Reply::Bytes(HELLO) }) as Answers, 1),
        (|number| if number == 1 { Reply::Reset } else { Reply::Bytes(HELLO) }, 0),
    ] {
        let spec = closed(1, 1_000, |spec| {
            spec["stop"] = json!({"kind": "requests", "requests": 4, "within_s": 1.0});
        });
        let record = run(spec, answering(20 * MS, reply));
        assert_eq!((record.retried, record.outcomes.ok), (1 - failed, 4 - failed));
        assert_eq!((record.outcomes.closed_early, record.outcomes.reset), (failed, 0));
    }
}

#[test]
fn that_the_engine_was_late_to_see_a_closing_makes_no_failure() {
    // It reads for 10 ms, so the last of eight users sees its connection closed 80 ms after that was.
    let spec = closed(8, 2_000, |spec| {
        spec["stop"] = json!({"kind": "requests", "requests": 32, "within_s": 2.0});
    });
    let closing = |number| if number % 16 >= 8 { Reply::Close } else { Reply::Bytes(HELLO) };
    let record = run(spec, Script { read_ns: 10 * MS, ..answering(MS, closing) });
    assert!(record.retried >= 8, "{}", record.retried);
    assert_eq!(record.outcomes.closed_early, 0);
}

#[test]
fn why_a_request_was_not_sent_goes_with_the_request() {
    type Count = fn(&crate::record::NotSent) -> u64;
    let reasons: [(Errno, Count); 7] = [
        (Errno::ADDRNOTAVAIL, |why| why.ports),
        (Errno::MFILE, |why| why.descriptors),
        (Errno::NOSPC, |why| why.memory),
        (Errno::PERM, |why| why.forbidden),
        (Errno::NETUNREACH, |why| why.route),
        (Errno::HOSTUNREACH, |why| why.route),
        (Errno::INVAL, |why| why.route),
    ];
    let connects: [fn(u32) -> Result<(), Errno>; 7] = [
        |_| Err(Errno::ADDRNOTAVAIL),
        |_| Err(Errno::MFILE),
        |_| Err(Errno::NOSPC),
        |_| Err(Errno::PERM),
        |_| Err(Errno::NETUNREACH),
        |_| Err(Errno::HOSTUNREACH),
        |_| Err(Errno::INVAL),
    ];
    for ((errno, of), connect) in reasons.into_iter().zip(connects) {
        let spec = open(1, 50.0, 500, |spec| {
            spec["warm_up"] = json!({"connections": null, "pauses": true,
                "stop": {"kind": "duration", "duration_s": 0.3}});
        });
        let record = run(spec, Script { connect, ..Script::default() });
        assert_eq!(record.outcomes.refused, 0, "{errno}");
        assert!(of(&record.not_sent) > 0, "{errno}: {:?}", record.not_sent);
    }
}

#[test]
fn each_request_that_was_not_sent_in_a_turn_has_its_own_reason() {
    // The backlog is full for both users, so both try again in one turn.
    let connect = |number| match number {
        0 | 1 => Err(Errno::AGAIN),
        2 => Err(Errno::ADDRNOTAVAIL),
        _ => Err(Errno::MFILE),
    };
    let spec = closed(2, 1_000, |spec| {
        spec["stop"] = json!({"kind": "requests", "requests": 2, "within_s": 1.0});
    });
    let record = run(spec, Script { connect, ..Script::default() });
    assert_eq!((record.not_sent.ports, record.not_sent.descriptors), (1, 1), "{:?}", record.not_sent);
}

#[test]
fn what_comes_before_a_request_is_not_its_answer() {
    let spec = closed(2, 1_000, |spec| {
        spec["stop"] = json!({"kind": "requests", "requests": 10, "within_s": 1.0});
    });
    let script = Script { greeting: HELLO, ..answering(MS, |_| Reply::Bytes(HELLO)) };
    let record = run(spec, script);
    assert_eq!(record.outcomes.malformed, 10, "{:?}", record.outcomes);
    let [unasked] = record.reasons[..] else { panic!("{:?}", record.reasons) };
    assert_eq!((unasked.reason, unasked.count), (Reason::Unasked, 10));
    assert_eq!((record.sent_bytes, record.connections_closed_by_server), (0, 0));
}

#[test]
fn users_without_an_answer_are_counted() {
    // The first two requests are never answered, and do not time out.
    let spec = closed(8, 400, |_| {});
    let answer = |number| if number < 2 { Reply::Silence } else { Reply::Bytes(HELLO) };
    let record = run(spec, answering(10 * MS, answer));
    assert_eq!((record.users, record.users_unanswered), (8, 2));
    assert!(record.histograms.unfinished_age.max_ns > Some(390 * MS));
}

#[test]
fn kinds_have_figures_and_samples_of_their_own() {
    let spec = closed(4, 1_000, |spec| {
        spec["requests"][0]["expect"] = json!({"status": 200, "body_bytes": 5, "hash_one_in": 64,
            "body_sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"});
        let mut other = spec["requests"][0].clone();
        other["name"] = json!("cart");
        other["expect"]["hash_one_in"] = json!(1);
        other["weight"] = json!(3);
        spec["requests"].as_array_mut().unwrap().push(other);
    });
    let record = run(spec, answering(MS, |_| Reply::Bytes(HELLO)));
    let [light, heavy] = &record.requests[..] else {
        panic!("two kinds: {:?}", record.requests);
    };
    assert_eq!(heavy.name, "cart");
    assert_eq!(heavy.bodies_hashed, heavy.outcomes.ok, "of this kind every answer is hashed");
    let expected = light.outcomes.ok / 64;
    assert!(
        (expected..=expected + 5).contains(&light.bodies_hashed),
        "{} of {}",
        light.bodies_hashed,
        expected
    );
    let ratio = heavy.outcomes.ok as f64 / light.outcomes.ok as f64;
    assert!((ratio - 3.0).abs() < 0.2, "{ratio}");
    assert_eq!(light.response_time.count, light.outcomes.ok);
}

#[test]
fn a_connection_that_the_server_closes_is_counted() {
    let record = run(closed(2, 1_000, |_| {}), answering(10 * MS, |_| Reply::BytesAndClose(BYE)));
    let (ended, ok) = (record.connections_closed_by_server, record.outcomes.ok);
    assert!((ok..=ok + 2).contains(&ended), "two as the trial ended: {ended} of {ok}");
    let kept = run(closed(2, 1_000, |_| {}), answering(10 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(kept.connections_closed_by_server, 0);
}

#[test]
fn what_was_closed_behind_a_long_body_is_seen_in_a_later_turn() {
    // The answer is longer than a turn reads and lasts until the end of the stream. It is hashed, so it is looked at.
    const LONG: &[u8] = &[b'x'; 900_000];
    static WHOLE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    WHOLE.get_or_init(|| [b"HTTP/1.1 200 OK\r\n\r\n", LONG].concat());
    let spec = closed(1, 2_000, |spec| {
        spec["requests"][0]["expect"]["hash_one_in"] = json!(1);
        spec["requests"][0]["expect"]["body_sha256"] = json!("0".repeat(64));
        spec["stop"] = json!({"kind": "requests", "requests": 3, "within_s": 2.0});
    });
    let record = run(spec, answering(MS, |_| Reply::BytesAndClose(WHOLE.get().unwrap().as_slice())));
    assert_eq!(record.outcomes.wrong_body, 3, "{:?}", record.outcomes);
}
