//! What a busy machine can spoil is tried again, by one rule: only where time alone explains what was seen, with a line
//! that says so, and a few times at most. A wrong result is a panic, and no panic is tried again.

use std::io::{self, Write};

const ATTEMPTS: usize = 10;

/// Plays `attempt` until it has shown what it is to show. `Err` is what time alone explains, such as too few readings,
/// in words. Panics if each attempt ends so.
pub fn until_shown(attempt: impl FnMut() -> Result<(), String>) {
    // Not to a macro, whose output is shown only if the test fails.
    said_to(&mut io::stderr(), attempt);
}

fn said_to(said: &mut impl Write, mut attempt: impl FnMut() -> Result<(), String>) {
    let mut seen = Vec::new();
    while let Err(why) = attempt() {
        let _ = writeln!(said, "tried again, as a busy machine may be the reason: {why}");
        seen.push(why);
        assert!(seen.len() < ATTEMPTS, "{ATTEMPTS} attempts, and none showed it: {seen:#?}");
    }
}

mod tests {
    use super::*;

    #[test]
    fn what_time_explains_is_tried_again_and_nothing_else() {
        let (mut attempts, mut said) = (0.., Vec::new());
        said_to(&mut said, || if attempts.next() < Some(3) { Err("late".to_owned()) } else { Ok(()) });
        assert_eq!((attempts.next(), said.iter().filter(|&&byte| byte == b'\n').count()), (Some(4), 3));
        let ends = std::panic::catch_unwind(|| said_to(&mut io::sink(), || Err("always late".to_owned())));
        assert!(ends.unwrap_err().downcast_ref::<String>().unwrap().contains("none showed it"));
        let mut played = 0;
        let wrong = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until_shown(|| {
                played += 1;
                panic!("wrong")
            });
        }));
        assert!(wrong.is_err() && played == 1);
    }
}
