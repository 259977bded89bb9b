//! What the loop writes on its board.

use std::sync::Arc;

use serde_json::json;

use super::{BYE, HELLO, MS, answering, closed, open, run, run_on};
use crate::board::{Board, Flight};
use crate::net::simulated::{Reply, Script};
use crate::record::TrialRecord;
use crate::spec::TrialSpec;

fn in_flight_at_the_end(spec: TrialSpec, users: usize, script: Script) -> (TrialRecord, Arc<Board>) {
    let board = Arc::new(Board::new(users));
    let record = run_on(spec, script, Some(Arc::clone(&board)));
    let flights = (0..users).filter(|&user| board.read(user).flight() != Flight::Nothing).count();
    assert_eq!(board.in_flight(), flights as u64);
    (record, board)
}

#[test]
fn at_the_end_it_holds_the_unfinished_requests_whatever_became_of_the_others() {
    let ways: [fn(u64) -> Reply; 5] = [
        |_| Reply::Bytes(HELLO),
        |_| Reply::BytesAndClose(BYE),
        |number| if number % 3 == 0 { Reply::Reset } else { Reply::Bytes(HELLO) },
        |number| if number % 3 == 0 { Reply::Close } else { Reply::Bytes(HELLO) },
        |number| if number % 3 == 0 { Reply::Silence } else { Reply::Bytes(HELLO) },
    ];
    for (way, answer) in ways.into_iter().enumerate() {
        for connection in ["keep-alive", "per-request"] {
            let change = |spec: &mut serde_json::Value| spec["connection"] = json!(connection);
            for spec in [closed(10, 1_000, change), open(10, 300.0, 1_000, change)] {
                let (record, board) = in_flight_at_the_end(spec, 10, answering(20 * MS, answer));
                assert_eq!(board.in_flight(), record.outcomes.unfinished, "way {way}, {connection}");
                assert!(record.outcomes.ok > 10, "{:?}", record.outcomes);
            }
        }
    }
}

#[test]
fn a_request_is_sent_from_the_port_of_its_connection() {
    let (record, board) =
        in_flight_at_the_end(closed(2, 105, |_| {}), 2, answering(10 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(record.connections_opened, 2);
    for user in 0..2 {
        assert!(matches!(board.read(user).flight(), Flight::Sent(local) if local.port == 1));
    }
}

#[test]
fn while_the_connection_is_being_opened_the_request_is_not_sent() {
    let script = Script { connect_ns: 1_000 * MS, ..Script::default() };
    let spec = closed(2, 100, |spec| spec["timeouts"]["connect_s"] = json!(5.0));
    let (record, board) = in_flight_at_the_end(spec, 2, script);
    assert_eq!((record.outcomes.unfinished, board.in_flight()), (2, 2));
    assert!(matches!(board.read(0).flight(), Flight::Connecting(Some(_))));
}

#[test]
fn it_changes_nothing() {
    let script =
        || answering(3 * MS, |number| if number % 7 == 0 { Reply::Reset } else { Reply::Bytes(HELLO) });
    let without = run(closed(5, 500, |_| {}), script());
    let (with, _) = in_flight_at_the_end(closed(5, 500, |_| {}), 5, script());
    assert_eq!(format!("{:?}", with.outcomes), format!("{:?}", without.outcomes));
    assert_eq!(with.connections_opened, without.connections_opened);
}
