use super::*;
use crate::probe::tcp_end::Traffic;

const REQUEST: u64 = 40;
const ANSWER: u64 = 1_000;

/// A connection on which so many requests came, of which so many are answered, each with two segments.
fn end(requests: u64, answered: u64) -> End {
    let traffic = Traffic {
        acknowledged_bytes: answered * ANSWER,
        received_bytes: requests * REQUEST,
        received_segments: requests as u32,
        sent_segments: 2 * answered as u32,
        ..Traffic::default()
    };
    End { traffic: Some(traffic), ..End::QUIET }
}

/// As `end`, with this many bytes of answers.
fn with_bytes(requests: u64, answered: u64, acknowledged_bytes: u64) -> End {
    let end = end(requests, answered);
    End { traffic: end.traffic.map(|traffic| Traffic { acknowledged_bytes, ..traffic }), ..end }
}

fn taught(ends: &[End]) -> Counting {
    let mut counting = Counting::new(Some(REQUEST));
    counting.learn(ends.iter());
    counting
}

#[test]
fn a_connection_with_as_many_answers_as_requests_has_none_left() {
    let counting = taught(&[end(7, 7), end(9, 8), end(1, 0)]);
    let answered = |requests, given| counting.answered(&end(requests, given));
    assert_eq!((answered(50, 50), answered(50, 49)), (Some(Answered::All), Some(Answered::NotAll)));
    assert_eq!((answered(1, 0), answered(0, 0)), (Some(Answered::NotAll), Some(Answered::All)));
    // What the server has written, the client may not have acknowledged.
    let sent = End { unacknowledged_bytes: ANSWER as u32, ..end(50, 49) };
    assert_eq!(counting.answered(&sent), Some(Answered::All));
    assert_eq!(counting.answered(&with_bytes(50, 49, 49 * ANSWER + 400)), Some(Answered::NotAll));
}

#[test]
fn a_request_of_which_a_part_has_come_is_not_at_the_server_yet() {
    let counting = taught(&[end(7, 7), end(9, 8)]);
    let mut part = end(7, 7);
    part.traffic.as_mut().unwrap().received_bytes += REQUEST / 2;
    assert_eq!(counting.answered(&part), Some(Answered::InPart));
}

#[test]
fn until_one_length_alone_fits_nothing_is_told() {
    // Of two requests that came, one or two may be answered.
    assert_eq!(taught(&[end(2, 2)]).answered(&end(2, 2)), None);
    // Three answers of 1,000 bytes are two of 1,500, and their six segments two times three.
    assert_eq!(taught(&[end(3, 3)]).answered(&end(3, 3)), None);
    assert_eq!(taught(&[end(3, 2)]).answered(&end(3, 3)), Some(Answered::All));
    assert_eq!(taught(&[end(0, 0)]).answered(&end(0, 0)), None);
}

#[test]
fn where_answers_differ_in_bytes_segments_are_counted() {
    let counting = taught(&[with_bytes(7, 7, 6_543), with_bytes(9, 8, 8_101), with_bytes(5, 4, 4_999)]);
    assert_eq!(counting.answered(&with_bytes(50, 49, 50_321)), Some(Answered::NotAll));
    assert_eq!(counting.answered(&with_bytes(50, 50, 50_321)), Some(Answered::All));
}

#[test]
fn where_requests_differ_in_bytes_segments_are_counted() {
    let mut counting = Counting::new(None);
    counting.learn([end(7, 7), end(9, 8)].iter());
    let mut longer = end(50, 49);
    longer.traffic.as_mut().unwrap().received_bytes += 3;
    assert_eq!(counting.answered(&longer), Some(Answered::NotAll));
}

#[test]
fn what_does_not_fit_is_not_told_and_too_much_of_it_ends_the_counting() {
    let odd = |requests, written| {
        let mut end = with_bytes(requests, 0, written);
        end.traffic.as_mut().unwrap().sent_segments = 77_777;
        end
    };
    let mut counting = taught(&[end(7, 7), end(9, 8)]);
    assert_eq!(counting.answered(&odd(50, 77_777)), None);
    let others = |misfits: usize| -> Vec<End> {
        (0..100).map(|each| if each < misfits { odd(50, 77_777) } else { end(50, 50) }).collect()
    };
    counting.learn(others(9).iter());
    assert_eq!(counting.answered(&end(50, 50)), Some(Answered::All));
    counting.learn(others(12).iter());
    assert_eq!(counting.answered(&end(50, 50)), None);
}

#[test]
fn a_connection_that_is_over_is_not_counted() {
    let counting = taught(&[end(7, 7), end(9, 8)]);
    assert_eq!(counting.answered(&End { may_hear: false, ..end(50, 50) }), None);
    assert_eq!(counting.answered(&End { may_send: false, ..end(50, 50) }), None);
    assert_eq!(counting.answered(&End { traffic: None, ..end(50, 50) }), None);
}
