//! Which exchanges a record shows, and what of them.

use super::*;

#[test]
fn a_status_that_was_not_expected_is_counted_and_shown() {
    let answer = |number: u64| match number % 5 {
        0 => Reply::Bytes(BUSY),
        1 => Reply::Bytes(b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"),
        _ => Reply::Bytes(HELLO),
    };
    let record = run(closed(1, 1_005, |_| {}), answering(10 * MS, answer));
    let kind = &record.requests[0];
    assert_eq!(kind.name, "GET /todos");
    let statuses: Vec<(u16, u64)> = kind.statuses.iter().map(|(&status, &count)| (status, count)).collect();
    assert_eq!(statuses, [(200, 60), (302, 20), (503, 20)]);
    assert_eq!(record.outcomes.wrong_status, 40);
    let shown: Vec<_> =
        kind.examples.iter().map(|each| (each.outcome, each.status, each.body.as_str())).collect();
    assert_eq!(shown, [(Outcome::WrongStatus, Some(302), ""), (Outcome::WrongStatus, Some(503), "busy")]);
    assert!(kind.examples[0].head.contains("Location: /login"));
    assert!(kind.examples[1].request.starts_with("GET /todos HTTP/1.1\r\n"));
}

#[test]
fn what_is_no_answer_is_shown_as_it_came() {
    let answer = |number: u64| match number {
        0 => Reply::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n"),
        1 => Reply::BytesAndClose(b"HTTP/1.1 200 OK\r\nContent-Le"),
        2 => Reply::Close,
        _ => Reply::Bytes(HELLO),
    };
    let record = run(closed(1, 500, |_| {}), answering(10 * MS, answer));
    let examples = &record.requests[0].examples;
    let of = |outcome| examples.iter().find(|each| each.outcome == outcome).unwrap();
    assert_eq!(of(Outcome::Malformed).head, "SSH-2.0-OpenSSH_9.2\r\n");
    assert_eq!(record.outcomes.closed_early, 2);
    let closed: Vec<_> = examples.iter().filter(|each| each.outcome == Outcome::ClosedEarly).collect();
    let shown: Vec<_> = closed.iter().map(|each| (each.reason, each.status, each.head.as_str())).collect();
    assert_eq!(
        shown,
        [
            (Some(Reason::BeforeAnswer), None, ""),
            (Some(Reason::InHead), None, "HTTP/1.1 200 OK\r\nContent-Le"),
        ]
    );
}

#[test]
fn a_wrong_body_is_shown_the_next_time() {
    let spec = closed(1, 500, |spec| spec["requests"][0]["expect"]["body_bytes"] = json!(5));
    let answer = |number: u64| {
        if number % 4 == 3 {
            Reply::Bytes(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n4\r\nlo!!\r\n0\r\n\r\n",
            )
        } else {
            Reply::Bytes(HELLO)
        }
    };
    let record = run(spec, answering(10 * MS, answer));
    let examples = &record.requests[0].examples;
    assert_eq!(examples.len(), 1);
    assert_eq!((examples[0].outcome, examples[0].body.as_str()), (Outcome::WrongBody, "hello!!"));
}

#[test]
fn of_answers_that_are_cut_off_head_and_body_are_shown_the_next_time() {
    const CUT: &[u8] = b"HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n\r\nhel";
    let cut_at = |answer: Answers| run(closed(1, 500, |_| {}), answering(10 * MS, answer));
    let twice =
        cut_at(|number| if number % 6 == 3 { Reply::BytesAndClose(CUT) } else { Reply::Bytes(HELLO) });
    assert!(twice.outcomes.closed_early > 2, "{:?}", twice.outcomes);
    let [example] = &twice.requests[0].examples[..] else { panic!("{:?}", twice.requests[0].examples) };
    assert_eq!((example.outcome, example.status), (Outcome::ClosedEarly, Some(200)));
    assert!(example.head.contains("Server: a"), "{example:?}");
    assert_eq!(example.body, "hel");
    // If only one answer is cut off, nothing of it was kept, as it looked right until its end.
    let once = cut_at(|number| if number == 3 { Reply::BytesAndClose(CUT) } else { Reply::Bytes(HELLO) });
    let [example] = &once.requests[0].examples[..] else { panic!("{:?}", once.requests[0].examples) };
    assert_eq!((example.status, example.head.as_str()), (Some(200), ""));
}

#[test]
fn all_examples_are_kept_where_they_are_asked_for() {
    let spec = closed(1, 500, |spec| spec["examples"] = json!("all"));
    let record = run(spec, answering(10 * MS, |_| Reply::Bytes(HELLO)));
    let examples = &record.requests[0].examples;
    assert_eq!(examples.len(), 1);
    assert_eq!((examples[0].outcome, examples[0].body.as_str()), (Outcome::Ok, "hello"));
}

#[test]
fn a_wrong_body_is_looked_for_in_a_thousand_answers_and_no_more() {
    let mut keep = crate::http::head::Keep { more: 1_000, ..Default::default() };
    assert_eq!((0..3_000).filter(|_| keep.wants(200, true)).count(), 1_000);
    keep.had.push(503);
    assert!(!keep.wants(503, false) && keep.wants(500, false));
    keep.enough = true;
    assert!(!keep.wants(500, false));
}
