use super::*;
use crate::spec::{Arrivals, RateSpec};
use serde_json::{Value, json};

fn spec() -> TrialSpec {
    serde_json::from_str(include_str!("../../contract/golden/spec.json")).unwrap()
}

fn fault_of(spec: &TrialSpec) -> Failure {
    spec.plan().err().expect("the spec makes no sense")
}

#[test]
fn the_golden_spec_makes_sense() {
    let plan = spec().plan().unwrap();
    assert_eq!(plan.shape.connections(), 32);
    assert_eq!(plan.warm_up.unwrap().connections, 1);
    assert_eq!(plan.stop.requests, Some(100_000));
}

#[test]
fn every_fault_is_named_at_once() {
    let mut spec = spec();
    spec.target.address = "localhost".into();
    spec.target.sources = vec!["::1".into()];
    spec.shape = ShapeSpec::Closed { connections: 0, pause_ms: -1.0, pause: spec::PauseKind::Fixed };
    spec.stop = StopSpec::Duration { duration_s: 0.0 };
    spec.timeouts.connect_s = f64::NAN;
    spec.requests[0].expect.body_sha256 = Some("abc".into());
    spec.requests[0].weight = 0;
    let failure = fault_of(&spec);
    for key in [
        "target.address",
        "target.sources",
        "shape.connections",
        "shape.pause_ms",
        "stop.duration_s",
        "timeouts.connect_s",
        "requests[0].expect.body_sha256",
        "requests must each have a weight",
    ] {
        assert!(failure.error.contains(key), "{key} is missing in: {}", failure.error);
    }
    assert_eq!(failure.exit_code, 2);
}

#[test]
fn whose_threads_and_dependencies_are_read_must_be_said() {
    let mut spec = spec();
    let plan = spec.plan().unwrap();
    assert_eq!((plan.tasks, plan.dependencies), (Some(4_711), Some(4_711)));
    spec.probe.server_pid = None;
    for key in ["probe.tasks", "probe.dependencies"] {
        assert!(fault_of(&spec).error.contains(&format!("{key} takes probe.server_pid")), "{key}");
    }
    (spec.probe.tasks, spec.probe.dependencies) = (false, false);
    let plan = spec.plan().unwrap();
    assert_eq!((plan.tasks, plan.dependencies), (None, None));
}

#[test]
fn an_open_shape_needs_a_rate_and_warms_up_by_time() {
    let mut spec = spec();
    let rate = |from_per_s, to_per_s| RateSpec { from_per_s, to_per_s, duration_s: 1.0 };
    let open = |rates| ShapeSpec::Open { connections: 4, arrivals: Arrivals::Even, rates };
    for rates in [vec![], vec![rate(0.0, 0.0)], vec![rate(5.0, 0.0)], vec![rate(-1.0, 5.0)]] {
        spec.shape = open(rates);
        assert!(fault_of(&spec).error.contains("shape.rates"));
    }
    spec.shape = open(vec![rate(100.0, 100.0)]);
    assert!(fault_of(&spec).error.contains("warm_up"));
    spec.warm_up = None;
    assert!(spec.plan().is_ok());
}

#[test]
fn a_ramp_does_not_go_backwards() {
    let mut spec = spec();
    spec.shape = ShapeSpec::Ramp {
        from_connections: 9,
        to_connections: 3,
        over_s: 1.0,
        pause_ms: 0.0,
        pause: spec::PauseKind::Fixed,
    };
    assert!(fault_of(&spec).error.contains("shape.from_connections"));
}

#[test]
fn turns_are_of_a_closed_load_by_duration_and_measure_all_of_it() {
    let turn = |warm_up_s, measured_s| spec::TurnSpec { warm_up_s, measured_s };
    let in_turns = |duration_s, turns| {
        let stop = StopSpec::Duration { duration_s };
        let shape = ShapeSpec::Closed { connections: 4, pause_ms: 0.0, pause: spec::PauseKind::Fixed };
        TrialSpec { shape, stop, turns, ..spec() }
    };
    let good = in_turns(0.6, vec![turn(0.5, 0.0), turn(0.2, 0.3), turn(0.25, 0.3)]);
    let plan = good.plan().unwrap();
    let turns: Vec<_> = plan.turns.iter().map(|turn| (turn.warm_up.connections, turn.measured_ns)).collect();
    assert_eq!(turns, [(1, 0), (4, 300_000_000), (4, 300_000_000)], "one connection warms up");
    assert_eq!(plan.warm_up.unwrap().connections, 4);
    let open = ShapeSpec::Open { connections: 4, arrivals: Arrivals::Even, rates: vec![] };
    for (spec, why) in [
        (in_turns(0.5, good.turns.clone()), "as `stop` says"),
        (
            TrialSpec { stop: StopSpec::Requests { requests: 5, within_s: 0.6 }, ..good.clone() },
            "as `stop` says",
        ),
        (TrialSpec { shape: open, ..good.clone() }, "closed shape without pauses"),
        (in_turns(0.3, vec![turn(0.2, 0.3), turn(0.5, 0.0)]), "come before all others"),
        (in_turns(0.3, vec![turn(0.0, 0.3)]), "turns[0].warm_up_s is 0"),
        (in_turns(0.3, vec![turn(0.2, 1e9), turn(0.2, 0.3 - 1e9)]), "turns[0].measured_s is "),
    ] {
        assert!(fault_of(&spec).error.contains(why), "{why} is missing in: {}", fault_of(&spec).error);
    }
}

#[test]
fn a_part_has_its_share_of_a_load_that_ends_by_time() {
    let by_time = StopSpec::Duration { duration_s: 1.0 };
    let warm_up = |stop| Some(spec::WarmUpSpec { connections: Some(5), pauses: true, stop });
    let part = |index, of| Some(spec::PartSpec { index, of });
    let whole = TrialSpec { warm_up: warm_up(by_time), stop: by_time, threads: 40, ..spec() };
    let shares = |index| {
        let plan = TrialSpec { part: part(index, 3), ..whole.clone() }.plan().unwrap();
        (plan.shape.connections(), plan.warm_up.unwrap().connections, plan.threads)
    };
    assert_eq!(
        [0, 1, 2].map(shares),
        [(11, 2, 11), (11, 2, 11), (10, 1, 10)],
        "of 32, of 5, and as many threads"
    );
    let only = TrialSpec { part: part(0, 1), ..spec() };
    assert_eq!(only.plan().unwrap().seed, spec().plan().unwrap().seed, "the only part is the whole");
    let by_number = StopSpec::Requests { requests: 5, within_s: 1.0 };
    for (spec, why) in [
        (TrialSpec { part: part(0, 33), ..whole.clone() }, "part.of is more than the connections"),
        (TrialSpec { part: part(3, 3), ..whole.clone() }, "part.index is 3"),
        (
            TrialSpec { part: part(0, 2), stop: by_number, ..whole.clone() },
            "no sense: stop must be a duration",
        ),
        (
            TrialSpec { part: part(0, 2), warm_up: warm_up(by_number), ..whole.clone() },
            "warm_up.stop must be",
        ),
    ] {
        assert!(fault_of(&spec).error.contains(why), "{why} is missing in: {}", fault_of(&spec).error);
    }
}

#[test]
fn an_unknown_key_does_not_parse() {
    let text = include_str!("../../contract/golden/spec.json").replacen("\"seed\"", "\"sede\"", 1);
    assert!(serde_json::from_str::<TrialSpec>(&text).is_err());
}

/// Gives every number of a spec a value that is too small and one that is too large.
#[test]
fn every_number_has_a_least_and_a_most() {
    let text = include_str!("../../contract/golden/spec.json");
    let closed = |key: &str, value: Value| {
        let mut spec: Value = serde_json::from_str(text).unwrap();
        *spec.pointer_mut(key).unwrap() = value;
        spec
    };
    let shaped = |shape: &Value, key: &str, value: Value| {
        let mut spec = closed("/shape", shape.clone());
        spec["warm_up"] = Value::Null;
        *spec.pointer_mut(key).unwrap() = value;
        spec
    };
    let ramp = json!({"kind": "ramp", "from_connections": 1, "to_connections": 8, "over_s": 1.0,
        "pause_ms": 1.0, "pause": "fixed"});
    let open = json!({"kind": "open", "connections": 8, "arrivals": "even",
        "rates": [{"from_per_s": 1.0, "to_per_s": 1.0, "duration_s": 1.0}]});
    let huge = u64::MAX;
    let cases = [
        ("threads", closed("/threads", json!(0))),
        ("threads", closed("/threads", json!(huge))),
        ("cores[0]", closed("/cores", json!([huge]))),
        ("probe.interval_ms", closed("/probe/interval_ms", json!(0))),
        ("probe.interval_ms", closed("/probe/interval_ms", json!(1_u64 << 58))),
        ("probe.server_pid", closed("/probe/server_pid", json!(0))),
        ("probe.server_pid", closed("/probe/server_pid", json!(i32::MAX))),
        ("progress.every_ms", closed("/progress/every_ms", json!(0))),
        ("progress.every_ms", closed("/progress/every_ms", json!(huge))),
        ("progress.slower_than_ns[0]", closed("/progress/slower_than_ns", json!([huge]))),
        ("number of progress.slower_than_ns", closed("/progress/slower_than_ns", json!(vec![1; 101]))),
        ("number of requests", closed("/requests", json!([]))),
        ("requests[0].expect.status", closed("/requests/0/expect/status", json!(99))),
        ("requests[0].expect.status", closed("/requests/0/expect/status", json!(1_000))),
        ("requests[0].expect.body_bytes", closed("/requests/0/expect/body_bytes", json!(huge))),
        ("stop.requests", closed("/stop/requests", json!(0))),
        ("stop.requests", closed("/stop/requests", json!(huge))),
        ("stop.within_s", closed("/stop/within_s", json!(1e-9))),
        ("timeouts.connect_s", closed("/timeouts/connect_s", json!(1e300))),
        ("timeouts.request_s", closed("/timeouts/request_s", json!(-1.0))),
        ("warm_up.connections", closed("/warm_up/connections", json!(33))),
        ("shape.connections", closed("/shape/connections", json!(huge))),
        ("shape.pause_ms", closed("/shape/pause_ms", json!(1e300))),
        ("shape.from_connections", shaped(&ramp, "/shape/from_connections", json!(9))),
        ("shape.to_connections", shaped(&ramp, "/shape/to_connections", json!(huge))),
        ("shape.over_s", shaped(&ramp, "/shape/over_s", json!(1e9))),
        ("shape.pause_ms", shaped(&ramp, "/shape/pause_ms", json!(1e300))),
        ("shape.connections", shaped(&open, "/shape/connections", json!(huge))),
        ("shape.rates[0].from_per_s", shaped(&open, "/shape/rates/0/from_per_s", json!(1e8))),
        ("shape.rates[0].to_per_s", shaped(&open, "/shape/rates/0/to_per_s", json!(1e-300))),
        ("shape.rates[0].duration_s", shaped(&open, "/shape/rates/0/duration_s", json!(1e300))),
    ];
    for (key, written) in cases {
        let spec: TrialSpec = serde_json::from_value(written).unwrap();
        let failure = fault_of(&spec);
        assert!(failure.error.contains(&format!("{key} is ")), "{key} is missing in: {}", failure.error);
        assert!(failure.error.contains("must lie between"), "{}", failure.error);
    }
}
