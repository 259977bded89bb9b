//! What is counted in which phase: warm-up, ramp, and loads that end by their number or by the clock.

use super::*;

#[test]
fn a_warm_up_leaves_nothing_behind() {
    for pause_ms in [0.0, 5.0] {
        let spec = closed(10, 500, |spec| {
            spec["shape"]["pause_ms"] = json!(pause_ms);
            spec["warm_up"] = json!({"connections": 3, "pauses": true,
                "stop": {"kind": "duration", "duration_s": 0.3}});
        });
        let record = run(spec, answering(10 * MS, |_| Reply::Bytes(HELLO)));
        assert_eq!(record.users, 10);
        let times = &record.histograms.response_time;
        assert!(
            times.max_ns <= Some(10_020_000),
            "the openings of the others are in no response time: {times:?}"
        );
    }
}

#[test]
fn a_trial_without_a_warm_up_has_no_row_of_one() {
    let record = run(open(5, 100.0, 300, |_| {}), answering(MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(record.series.phase, [Phase::Measured; 3]);
    assert_eq!(record.warm_up_ns, 0);
}

#[test]
fn requests_that_were_due_in_the_warm_up_are_counted_with_it() {
    let spec = open(20, 1_000.0, 500, |spec| {
        spec["warm_up"] = json!({"connections": null, "pauses": true,
            "stop": {"kind": "duration", "duration_s": 0.3}});
    });
    let record = run(spec, answering(30 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!((record.warm_up.scheduled, record.scheduled), (300, 500));
    let warm_up = record.series.phase.iter().filter(|phase| **phase == Phase::WarmUp).count();
    assert_eq!((warm_up, record.series.phase.len()), (3, 8), "{:?}", record.series.at_ns);
}

#[test]
fn users_of_a_ramp_set_out_on_time() {
    let shape = json!({"kind": "ramp", "from_connections": 2, "to_connections": 12, "over_s": 1.0,
        "pause_ms": 0.0, "pause": "fixed"});
    let spec = spec(shape, 1_000, |spec| {
        spec["warm_up"] = json!({"connections": 4, "pauses": true,
            "stop": {"kind": "duration", "duration_s": 0.2}});
    });
    let record = run(spec, answering(10 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(
        record.connections_opened,
        4 + 11,
        "all leave as the ramp begins; the twelfth sets out at its end"
    );
    let measured: Vec<u64> = record.series.connections[2..].to_vec();
    assert_eq!(measured, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "a user more every 100 ms");
    assert!(record.histograms.engine_lateness.count >= 9, "their due times were known ahead");
}

#[test]
fn a_user_whose_request_goes_on_as_the_ramp_begins_is_counted_once() {
    for from in [0, 5] {
        let shape = json!({"kind": "ramp", "from_connections": from, "to_connections": 10, "over_s": 1.0,
            "pause_ms": 0.0, "pause": "fixed"});
        let spec = spec(shape, 1_500, |spec| {
            spec["warm_up"] = json!({"connections": 5, "pauses": true,
                "stop": {"kind": "duration", "duration_s": 0.5}});
        });
        let record = run(spec, answering(300 * MS, |_| Reply::Bytes(HELLO)));
        let late = &record.histograms.engine_lateness;
        assert!(late.max_ns.is_none_or(|ns| ns < MS), "the server is slow, not the engine: {late:?}");
        // From 5 users to 10 in a second: 5 to 9 for a fifth of a second each (from 0: 0 to 9 for a tenth each), then
        // 10 for half a second.
        let there = if from == 5 {
            (5.0 + 6.0 + 7.0 + 8.0 + 9.0) * 0.2 + 10.0 * 0.5
        } else {
            45.0 * 0.1 + 10.0 * 0.5
        };
        // Users of the warm-up beyond the first ones go on until their answer comes. This counts as carried over.
        let beyond =
            if from == 5 { 0.0 } else { record.histograms.carried_over.mean_ns.unwrap() * 5.0 / 1e9 };
        let found = users_accounted_for(&record) * 1.5;
        assert!(found <= there + beyond + 0.01 && found >= there - 0.01, "{found} of {there} + {beyond}");
    }
}

#[test]
fn all_users_are_there_though_few_would_send_all_requests() {
    let spec = closed(2_000, 1_000, |spec| {
        spec["stop"] = json!({"kind": "requests", "requests": 5_000, "within_s": 1.0});
    });
    let record = run(spec, answering(2 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!((record.users, record.connections_opened), (2_000, 2_000));
}

#[test]
fn a_number_of_requests_is_sent_exactly() {
    for users in [1, 7, 200] {
        let spec = closed(users, 1_000, |spec| {
            spec["warm_up"] = json!({"connections": null, "pauses": true,
                "stop": {"kind": "requests", "requests": 55, "within_s": 1.0}});
            spec["stop"] = json!({"kind": "requests", "requests": 300, "within_s": 5.0});
        });
        let record = run(spec, answering(3 * MS, |_| Reply::Bytes(HELLO)));
        assert_eq!((record.warm_up.outcomes.ok, record.outcomes.ok), (55, 300));
        assert_eq!((record.warm_up.scheduled, record.scheduled), (55, 300));
    }
}

#[test]
fn a_closed_number_that_time_cuts_off_is_counted_in_full() {
    let spec = closed(300, 1_000, |spec| {
        spec["connection"] = json!("per-request");
        spec["stop"] = json!({"kind": "requests", "requests": 100_000, "within_s": 0.0205});
    });
    let record = run(spec, answering(10 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(record.scheduled, 100_000, "{:?}", record.outcomes);
}

#[test]
fn an_open_number_that_time_cuts_off_is_counted_in_full() {
    let spec = open(2, 1_000.0, 1_000, |spec| {
        spec["stop"] = json!({"kind": "requests", "requests": 1_000, "within_s": 0.3});
    });
    let record = run(spec, answering(10 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(record.scheduled, 1_000, "{:?}", record.outcomes);
}

#[test]
fn who_ends_a_warm_up_by_number_goes_on_as_the_others_do() {
    // The user's last answer ends the warm-up. It sets out 100 ms later, and sends every 30 ms from then on.
    let ramp = json!({"kind": "ramp", "from_connections": 0, "to_connections": 1, "over_s": 0.1,
        "pause_ms": 20.0, "pause": "fixed"});
    let spec = spec(ramp, 1_000, |spec| {
        let stop = json!({"kind": "requests", "requests": 3, "within_s": 1.0});
        spec["warm_up"] = json!({"connections": null, "pauses": false, "stop": stop});
    });
    let record = run(spec, answering(10 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(record.outcomes.total(), 30, "{:?}", record.outcomes);
}

#[test]
fn a_load_that_is_told_when_to_begin_does_nothing_before() {
    let warm_up = json!({"connections": 3, "pauses": true, "stop": {"kind": "duration", "duration_s": 0.3}});
    let ramp = json!({"kind": "ramp", "from_connections": 3, "to_connections": 9, "over_s": 0.5,
        "pause_ms": 0.0, "pause": "fixed"});
    let closed = json!({"kind": "closed", "connections": 10, "pause_ms": 0.0, "pause": "fixed"});
    for (shape, warm_up) in
        [(&closed, &Value::Null), (&closed, &warm_up), (&ramp, &Value::Null), (&ramp, &warm_up)]
    {
        let [at_once, told] = ["at-once", "told"].map(|begins| {
            let load = spec(shape.clone(), 1_000, |spec| {
                (spec["begins"], spec["warm_up"]) = (json!(begins), warm_up.clone());
            });
            run(load, answering(10 * MS, |_| Reply::Bytes(HELLO)))
        });
        assert!(told.outcomes.ok.abs_diff(at_once.outcomes.ok) < 10, "{:?}", told.outcomes);
        assert_eq!((told.users, &told.series.at_ns), (at_once.users, &at_once.series.at_ns));
        assert!(told.users_waited_ns <= at_once.users_waited_ns + MS, "{}", told.users_waited_ns);
        let times = &told.histograms.response_time;
        assert!(times.max_ns <= Some(10_010_000), "{times:?}");
    }
}
