//! The one rule by which tests are tried again.

mod peer;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use peer::tried::said_to;

#[test]
fn what_time_explains_is_tried_again() {
    let (mut attempts, mut said) = (0.., Vec::new());
    said_to(&mut said, || if attempts.next() < Some(3) { Err("late".to_owned()) } else { Ok(()) });
    assert_eq!(attempts.next(), Some(4));
    let said = String::from_utf8(said).unwrap();
    assert_eq!(said.lines().count(), 3);
    assert!(said.lines().all(|line| line == "tried again, as a busy machine may be the reason: late"));
}

#[test]
fn what_no_attempt_shows_fails() {
    let ends = catch_unwind(|| said_to(&mut io::sink(), || Err("always late".to_owned())));
    assert!(ends.unwrap_err().downcast_ref::<String>().unwrap().contains("none showed it"));
}

#[test]
fn a_wrong_result_is_not_tried_again() {
    let mut played = 0;
    let wrong = catch_unwind(AssertUnwindSafe(|| {
        said_to(&mut io::sink(), || {
            played += 1;
            panic!("wrong")
        });
    }));
    assert!(wrong.is_err() && played == 1);
}
