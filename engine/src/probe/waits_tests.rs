use super::*;

/// What follows looks at so many connections, 1 ms apart. Each waits for `answer_ms` of every `cycle_ms`, and seems to wait
/// for the rest of it.
fn played(connections: u32, answer_ms: u32, cycle_ms: u32, for_ms: u32) -> Waits {
    let mut waits = Waits::default();
    for connection in 0..connections {
        for at_ms in 0..for_ms {
            let of_cycle = (at_ms + connection * cycle_ms / connections) % cycle_ms;
            let (age_ms, end_ms, next) = if of_cycle < answer_ms {
                (of_cycle, answer_ms, Next::Answer)
            } else {
                (of_cycle - answer_ms, cycle_ms - answer_ms, Next::Question)
            };
            // By a clock that advances every 4 ms.
            let (now_ms, sent_ms) = (at_ms + 4_000, at_ms + 4_000 - age_ms);
            let read_ms = now_ms / 4 * 4 - sent_ms / 4 * 4;
            waits.note_watched(read_ms, 1_000, if age_ms + 1 == end_ms { next } else { Next::Nothing });
        }
    }
    waits
}

#[test]
fn ages_are_told_apart_by_doublings() {
    assert_eq!([0, 10, 11, 21, 22, 43, 44, 88].map(class), [0, 0, 1, 1, 2, 2, 3, 4]);
    assert_eq!(class(u32::MAX), CLASSES - 1);
}

#[test]
fn those_that_are_answered_are_believed_as_far_as_answers_reached() {
    for wait_ms in [3, 20, 200, 1_000] {
        let waits = played(8, wait_ms, wait_ms, 10 * wait_ms);
        assert_eq!(waits.believed(), Ok(class(wait_ms - 1)), "{wait_ms}");
    }
}

#[test]
fn where_nothing_was_answered_nothing_is_believed() {
    assert_eq!(Waits::default().believed(), Err(Doubt::TooFewAnswers));
    let mut waits = Waits::default();
    (1..ANSWERS_LEAST).for_each(|_| waits.note_watched(0, 1_000, Next::Answer));
    assert_eq!(waits.believed(), Err(Doubt::TooFewAnswers));
}

#[test]
fn what_is_not_answered_does_not_wait_however_seldom_it_is_seen_to_go_on() {
    let mut waits = played(16, 3, 3, 60);
    assert_eq!(waits.believed(), Ok(0));
    // For 10 ms after each of 200 messages nothing comes. It is not seen that more is sent after that.
    (0..2_000).for_each(|at_ms| waits.note_watched(at_ms % 10, 1_000, Next::Nothing));
    assert_eq!(waits.believed(), Err(Doubt::TooFewAnswers));
    assert_eq!(played(16, 3, 1_000, 3_000).believed(), Err(Doubt::SendsOn));
    // A question of 5 ms, and the next follows 15 ms after what is not answered.
    assert_eq!(played(16, 5, 20, 3_000).believed(), Err(Doubt::SendsOn));
}

#[test]
fn one_long_answer_does_not_make_others_wait() {
    let mut waits = played(4, 3, 3, 300);
    waits.note_watched(900, 1_000, Next::Answer);
    assert_eq!(waits.believed(), Ok(class(900)));
    // Those that seem to wait for so long, and of which nothing is known.
    (0..3_600).for_each(|at_ms| waits.note_watched(at_ms % 900, 1_000, Next::Nothing));
    assert_eq!(waits.believed(), Err(Doubt::TooFewAnswers));
}

#[test]
fn of_readings_those_waits_count_that_ended_with_an_answer() {
    let mut waits = Waits::default();
    let mut wait = |long_us: &[u64], end| {
        let mut wait_us = 0;
        let mut age_ms = 60;
        for &gap_us in long_us {
            waits.note_read(age_ms, gap_us, Next::Nothing, &mut wait_us);
            age_ms += gap_us as u32 / 1_000;
        }
        waits.note_read(age_ms, 60_000, end, &mut wait_us);
        waits.believed()
    };
    let long = [60_000; 10];
    for _ in 0..4 {
        assert_eq!(wait(&long, Next::Answer), Err(Doubt::TooFewAnswers));
    }
    // What followed is all the same, so the longest is as long as the others.
    assert_eq!(wait(&long, Next::Answer), Ok(class(660)));
    for _ in 0..3 {
        let _ = wait(&long, Next::Unclear);
    }
    assert_eq!(wait(&long, Next::Unclear), Err(Doubt::TooFewAnswers));
}

#[test]
fn what_is_over_before_the_next_reading_tells_nothing_of_readings() {
    let (mut waits, mut wait_us) = (Waits::default(), 0);
    for _ in 0..9 {
        waits.note_read(4, 60_000, Next::Answer, &mut wait_us);
    }
    assert_eq!((waits.believed(), waits.longest_ms), (Err(Doubt::TooFewAnswers), Some(4)));
}

#[test]
fn an_end_that_was_watched_ends_the_wait_of_readings() {
    let (mut waits, mut wait_us) = (Waits::default(), 0);
    for _ in 0..3 {
        waits.note_read(80, 60_000, Next::Nothing, &mut wait_us);
        waits.note_watched(140, 1_000, Next::Answer);
        waits.end_read(Next::Answer, &mut wait_us);
        assert_eq!(wait_us, 0);
    }
    assert_eq!((waits.read.answers, waits.read.answered_us), (3, 180_000));
}

#[test]
fn who_is_sent_more_without_an_answer_does_not_answer() {
    let sends_on = |sent_on, answered| Waits { sent_on, answered, ..Waits::default() }.sends_on();
    assert!(!sends_on(0, 0) && !sends_on(2, 0) && !sends_on(3, 12));
    assert!(sends_on(3, 11) && sends_on(3, 0));
    let late = |sent_on_late, answered_late| {
        Waits { answered: 900, sent_on_late, answered_late, ..Waits::default() }.sends_on()
    };
    assert!(!late(1, 0) && !late(3, 60));
    assert!(late(2, 0) && late(3, 59));
    let mut suspect = Waits::default();
    (0..2).for_each(|_| suspect.note_suspicion());
    assert!(suspect.sends_on());
}

#[test]
fn those_that_are_not_believed_are_unknown() {
    let mut ages = [0; CLASSES];
    (ages[1], ages[4]) = (3, 2);
    let of = |waiting, believed| {
        let (mut waiting, mut unknown) = (waiting, 1);
        let doubted = doubt(&mut waiting, &mut unknown, &ages, believed);
        (waiting, unknown, doubted)
    };
    assert_eq!((of(5, Ok(4)), of(5, Ok(3)), of(6, Ok(0))), ((5, 1, 0), (3, 3, 2), (1, 6, 5)));
    assert_eq!((of(5, Err(Doubt::SendsOn)), of(1, Ok(3))), ((0, 6, 5), (0, 2, 1)));
}
