//! If this machine lacks something, the engine says so in one line that names it, before it sends anything.

mod peer;

use peer::record::{assert_all, count};
use peer::{HELLO, answering, record_of, refusal, run, spec, start_with_descriptors};
use rustix::process::Rlimit;
use serde_json::json;

#[test]
fn a_core_that_does_not_exist_is_named() {
    let mut spec = spec(&answering(HELLO), 100);
    for (cores, probed) in [([0, 1_023].as_slice(), [].as_slice()), (&[1_023], &[]), (&[0], &[1_023])] {
        (spec["cores"], spec["probe"]["speed_of_cores"]) = (json!(cores), json!(probed));
        let (exit_code, failure) = refusal(&spec);
        assert_eq!(exit_code, Some(2), "{failure}");
        assert!(failure["error"].as_str().unwrap().contains("core 1023"), "{failure}");
        assert!(failure["remedy"].as_str().unwrap().contains("name cores"), "{failure}");
    }
}

#[test]
fn a_source_that_is_no_address_of_this_machine_is_named() {
    let mut spec = spec(&answering(HELLO), 100);
    spec["target"]["sources"] = json!(["127.0.0.2", "192.0.2.7"]);
    let (exit_code, failure) = refusal(&spec);
    assert_eq!(exit_code, Some(2), "{failure}");
    assert!(failure["error"].as_str().unwrap().contains("192.0.2.7"), "{failure}");
    spec["target"]["sources"] = json!(["127.0.0.2", "127.0.0.3"]);
    assert_all(&run(&spec), "ok", 100);
}

#[test]
fn threads_have_their_descriptors_beside_the_connections() {
    let mut spec = spec(&answering(HELLO), 0);
    // The last connection is opened when everything else has its descriptors. Each user sends one request, and the
    // trial ends with the last of these, however late its thread gets a core.
    spec["shape"] = json!({"kind": "ramp", "from_connections": 0, "to_connections": 100, "over_s": 0.4,
        "pause_ms": 60_000.0, "pause": "fixed"});
    spec["threads"] = json!(40);
    spec["stop"] = json!({"kind": "requests", "requests": 100, "within_s": 30.0});
    let few = Rlimit { current: Some(40), maximum: Some(1_000) };
    let record = record_of(start_with_descriptors(few, &spec));
    assert_eq!(count(&record, "not-sent"), 0, "{:#}", record["not_sent"]);
    assert_all(&record, "ok", 100);
    assert_eq!(record["connections_opened"], 100);
}
