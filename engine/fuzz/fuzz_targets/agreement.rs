//! Whatever bytes come, the parser of answers makes of them what hyper does, but where it is meant to differ.

#![no_main]

#[path = "../../tests/parser/mod.rs"]
mod parser;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parser::agreement::assert_agreement(bytes));
