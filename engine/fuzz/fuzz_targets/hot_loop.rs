//! Whatever its peers do, the hot loop ends every request once, reads what has come and counts what went over the
//! network.

#![no_main]

#[path = "../../tests/loop_space/mod.rs"]
mod loop_space;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loop_space::assert_holds(bytes));
