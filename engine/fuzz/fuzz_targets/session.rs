//! However the records of a server come, a TLS session hands out what it sent, or fails for a reason.

#![no_main]

#[path = "../../tests/tls_space/mod.rs"]
mod tls_space;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tls_space::assert_holds(bytes));
