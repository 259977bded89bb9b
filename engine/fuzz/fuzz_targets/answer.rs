//! For any bytes, the parser of answers does not panic, and what it reads does not depend on how they were cut.

#![no_main]

#[path = "../../tests/parser/mod.rs"]
mod parser;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    parser::assert_cuts_change_nothing(bytes);
    parser::assert_heads_hold(bytes);
});
