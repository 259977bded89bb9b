//! Whatever a proxy answers, how a tunnel ends does not depend on how the answer is cut.

#![no_main]

#[path = "../../tests/tunnel_space/mod.rs"]
mod tunnel_space;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tunnel_space::assert_holds(bytes));
