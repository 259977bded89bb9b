//! A harness for tests that cannot run everywhere. A test that cannot run is reported as ignored, with the reason,
//! and never as passed. It is for a `[[test]]` with `harness = false`.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};

/// Why a test cannot run here.
pub struct CannotRun(pub String);

pub type Test = fn() -> Result<(), CannotRun>;

/// Runs `tests`, each with its name, as `cargo test` requires. A test fails by a panic.
pub fn run(tests: &[(&'static str, Test)]) -> ExitCode {
    let trials = tests.iter().map(|&(name, test)| {
        Trial::ignorable_test(name, move || {
            Ok(match test() {
                Ok(()) => Completion::Completed,
                Err(CannotRun(why)) => Completion::ignored_with(why),
            })
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Names tests, for `run`.
#[macro_export]
macro_rules! named {
    ($($test:ident),* $(,)?) => { &[$((stringify!($test), $test)),*] };
}
