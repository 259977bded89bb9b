//! For any bytes, the parser of answers reads what hyper reads, except where the two are meant to differ.

#![no_main]

#[path = "../../tests/parser/mod.rs"]
mod parser;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parser::agreement::assert_agreement(bytes));
