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

/// As `until_shown`, and writes there what is tried again.
pub fn said_to(said: &mut impl Write, mut attempt: impl FnMut() -> Result<(), String>) {
    let mut seen = Vec::new();
    while let Err(why) = attempt() {
        let _ = writeln!(said, "tried again, as a busy machine may be the reason: {why}");
        seen.push(why);
        assert!(seen.len() < ATTEMPTS, "{ATTEMPTS} attempts, and none showed it: {seen:#?}");
    }
}
