use super::*;

/// Traffic whose last data in both directions have the same time.
fn tie(sent_bytes: u64, received_bytes: u64, bare_segments: u32, ago_ms: u32) -> Traffic {
    Traffic {
        sent_bytes,
        acknowledged_bytes: sent_bytes,
        received_bytes,
        sent_segments: sent_bytes as u32,
        received_segments: received_bytes as u32,
        bare_segments,
        sent_ago_ms: ago_ms,
        received_ago_ms: ago_ms,
        acknowledged_ago_ms: ago_ms,
    }
}

fn look(traffic: Traffic, before: Option<&Look>) -> Look {
    Look::new(&End::QUIET, traffic, before)
}

fn last_of(traffic: Traffic) -> Last {
    look(traffic, None).last
}

#[test]
fn the_later_time_is_last() {
    let traffic = tie(9, 9, 5, 40);
    assert_eq!(last_of(Traffic { sent_ago_ms: 36, ..traffic }), Last::Sent);
    assert_eq!(last_of(Traffic { received_ago_ms: 36, ..traffic }), Last::Received);
    assert_eq!(last_of(traffic), Last::Unknown);
}

#[test]
fn a_connection_that_has_carried_data_one_way_only_needs_no_times() {
    assert_eq!(last_of(tie(0, 0, 1, 4)), Last::Received);
    assert_eq!(last_of(tie(0, 80, 1, 4)), Last::Received);
    assert_eq!(last_of(tie(9, 0, 2, 4)), Last::Sent);
}

#[test]
fn data_that_are_not_acknowledged_are_last() {
    let end = End { unacknowledged_bytes: 1, ..End::QUIET };
    let traffic = Traffic { received_ago_ms: 0, ..tie(9, 9, 5, 40) };
    assert_eq!(Look::new(&end, traffic, None).last, Last::Sent);
}

#[test]
fn what_answers_acknowledge_was_sent_before_them() {
    assert_eq!(last_of(tie(9, 9, 1, 4)), Last::Received);
    let before = look(tie(9, 9, 5, 4), None);
    assert_eq!(before.last, Last::Unknown);
    assert_eq!(look(tie(30, 30, 5, 0), Some(&before)).last, Last::Received);
    assert_eq!(look(tie(30, 30, 6, 0), Some(&before)).last, Last::Unknown);
}

#[test]
fn an_acknowledgement_that_comes_later_is_of_what_was_sent_later() {
    let later = |acknowledged_ago_ms| last_of(Traffic { acknowledged_ago_ms, ..tie(9, 9, 5, 2_000) });
    assert_eq!(later(1_960), Last::Sent);
    // The same tick of the clock, or the next.
    assert_eq!((later(2_000), later(1_990)), (Last::Unknown, Last::Unknown));
    // The answer to a probe of an idle connection.
    assert_eq!((later(1_000), later(0)), (Last::Unknown, Last::Unknown));
    // An acknowledgement before the last data.
    assert_eq!(later(2_100), Last::Unknown);
}

#[test]
fn what_has_changed_since_the_last_look_is_last() {
    let before = look(tie(9, 9, 5, 4), None);
    assert_eq!(look(tie(12, 9, 6, 4), Some(&before)).last, Last::Sent);
    assert_eq!(look(tie(9, 12, 6, 4), Some(&before)).last, Last::Received);
    // Nothing has changed, and nothing was known.
    assert_eq!(look(tie(9, 9, 5, 70), Some(&before)).last, Last::Unknown);
    let known = look(Traffic { sent_ago_ms: 0, ..tie(9, 9, 5, 4) }, None);
    assert_eq!(look(tie(9, 9, 6, 70), Some(&known)).last, Last::Sent);
}

#[test]
fn a_new_connection_with_the_same_addresses_is_not_the_old_one() {
    let before = look(tie(500, 900, 5, 4), None);
    assert_eq!(look(tie(9, 9, 1, 4), Some(&before)).last, Last::Received);
    assert_eq!(look(tie(9, 901, 3, 4), Some(&before)).last, Last::Unknown);
}

#[test]
fn the_next_data_tell_which_were_last_before() {
    let before = look(tie(9, 9, 5, 4), None);
    let first = |sent, received| look(tie(sent, received, 5, 0), Some(&before)).last_before(&before);
    assert_eq!(first(9, 20), Last::Sent);
    assert_eq!(first(20, 9), Last::Received);
    assert_eq!((first(20, 20), first(9, 9)), (Last::Unknown, Last::Unknown));
}

#[test]
fn if_one_segment_was_last_all_others_were_before_it() {
    let before = look(tie(9, 9, 5, 4), None);
    let first = |sent, received, last| {
        let now = Look { last, ..look(tie(sent, received, 5, 0), Some(&before)) };
        now.last_before(&before)
    };
    // A question and its answer; several questions and one answer.
    assert_eq!(
        (first(10, 10, Last::Received), first(12, 10, Last::Received)),
        (Last::Received, Last::Received)
    );
    // An answer, perhaps in parts, and a question.
    assert_eq!((first(10, 10, Last::Sent), first(10, 12, Last::Sent)), (Last::Sent, Last::Sent));
    assert_eq!((first(10, 11, Last::Received), first(11, 10, Last::Sent)), (Last::Unknown, Last::Unknown));
    assert_eq!(first(10, 10, Last::Unknown), Last::Unknown);
}

#[test]
fn more_questions_without_an_answer_are_told_from_answers() {
    let waiting = look(Traffic { sent_ago_ms: 0, ..tie(9, 9, 5, 4) }, None);
    let since = |traffic, before: &Look| look(traffic, Some(before)).answered_since(before);
    assert_eq!(since(tie(20, 9, 5, 4), &waiting), Some(false));
    assert_eq!(since(tie(20, 20, 5, 4), &waiting), Some(true));
    assert_eq!(since(tie(9, 20, 5, 4), &waiting), Some(true));
    assert_eq!(since(tie(9, 9, 5, 4), &waiting), None);
    let idle = look(Traffic { received_ago_ms: 0, ..tie(9, 9, 5, 4) }, None);
    assert_eq!(since(tie(20, 9, 5, 4), &idle), None);
    let long = Look::new(&End { unacknowledged_bytes: 100_000, ..End::QUIET }, tie(9, 9, 5, 4), None);
    assert_eq!(since(tie(20, 9, 5, 4), &long), None);
}

#[test]
fn what_is_sent_late_without_an_answer_is_no_part_of_a_question() {
    let waiting = |ago_ms| look(Traffic { received_ago_ms: 900, ..tie(9, 9, 5, ago_ms) }, None);
    let since = |traffic, ago_ms| look(traffic, None).answered_late(&waiting(ago_ms));
    assert_eq!((since(tie(20, 9, 5, 0), 11), since(tie(9, 20, 5, 0), 11)), (Some(false), Some(true)));
    assert_eq!((since(tie(20, 20, 5, 0), 11), since(tie(9, 9, 5, 40), 11)), (None, None));
    assert_eq!((since(tie(20, 9, 5, 0), 10), since(tie(9, 20, 5, 0), 10)), (None, None));
}

#[test]
fn more_questions_than_answers_at_once_after_a_wait_are_suspect() {
    let waiting = |ago_ms| look(Traffic { received_ago_ms: 900, ..tie(9, 9, 5, ago_ms) }, None);
    let is_suspect = |sent, received, last, ago_ms| {
        let now = Look { last, ..look(tie(sent, received, 5, 0), None) };
        now.went_on_sending(&waiting(ago_ms))
    };
    assert!(is_suspect(11, 10, Last::Sent, 11));
    // An answer and a question; more questions alone; nothing that had waited; nothing that waits.
    assert!(!is_suspect(10, 10, Last::Sent, 11) && !is_suspect(11, 9, Last::Sent, 11));
    assert!(!is_suspect(11, 10, Last::Sent, 10) && !is_suspect(12, 11, Last::Received, 11));
}

#[test]
fn the_other_end_tells_what_it_has() {
    assert_eq!(last_by_other_end(&End::QUIET, None), Last::Unknown);
    assert_eq!(last_by_other_end(&End { unread_bytes: 1, ..End::QUIET }, None), Last::Sent);
    assert_eq!(last_by_other_end(&End { unacknowledged_bytes: 1, ..End::QUIET }, None), Last::Received);
    let taken = Traffic { acknowledged_ago_ms: 60, ..tie(9, 9, 5, 100) };
    assert_eq!(last_by_other_end(&End { traffic: Some(taken), ..End::QUIET }, None), Last::Received);
    assert_eq!(
        last_by_other_end(&End { traffic: Some(tie(9, 9, 5, 100)), ..End::QUIET }, None),
        Last::Unknown
    );
}

#[test]
fn answers_that_only_data_can_have_acknowledged_were_followed_by_data() {
    let (before, now) = (tie(9, 9, 5, 100), End { traffic: Some(tie(30, 30, 5, 100)), ..End::QUIET });
    assert_eq!(last_by_other_end(&now, Some(&before)), Last::Sent);
    // Something without data has come, too. Or nothing was sent that had to be acknowledged.
    for other in [tie(9, 9, 4, 100), tie(30, 9, 5, 100), tie(9, 31, 5, 100)] {
        assert_eq!(last_by_other_end(&now, Some(&other)), Last::Unknown, "{other:?}");
    }
    let unread = End { unacknowledged_bytes: 1, ..now };
    assert_eq!(last_by_other_end(&unread, Some(&before)), Last::Received);
}

#[test]
fn only_one_end_has_replied_last() {
    assert_eq!(last_by_replies(true, false), Last::Sent);
    assert_eq!(last_by_replies(false, true), Last::Received);
    assert_eq!([true, false].map(|both| last_by_replies(both, both)), [Last::Unknown; 2]);
}

#[test]
fn a_look_settles_the_one_before() {
    let before = look(tie(9, 9, 5, 4), None);
    let by = |traffic| look(traffic, Some(&before)).settles(&before);
    assert_eq!((by(tie(9, 20, 5, 4)), by(tie(20, 9, 5, 4))), (Last::Sent, Last::Received));
    assert_eq!((by(tie(9, 9, 5, 90)), by(tie(20, 20, 5, 0))), (Last::Unknown, Last::Unknown));
    // Nothing has happened, and it is known now.
    let known = Look { last: Last::Sent, ..before };
    assert_eq!(known.settles(&before), Last::Sent);
}

#[test]
fn no_answer_is_waited_for_where_one_is_there_or_none_can_come() {
    assert_eq!(state(&End::QUIET, Last::Sent), State::Waiting);
    assert_eq!(state(&End::QUIET, Last::Received), State::Idle);
    assert_eq!(state(&End::QUIET, Last::Unknown), State::Unknown);
    assert_eq!(state(&End { unread_bytes: 3, ..End::QUIET }, Last::Sent), State::Idle);
    assert_eq!(state(&End { may_hear: false, ..End::QUIET }, Last::Sent), State::Idle);
    assert_eq!(
        state(&End { is_opening: true, may_send: false, ..End::QUIET }, Last::Received),
        State::Waiting
    );
}
