//! Whatever bytes come, the parser of answers neither panics nor depends on how they were cut.

#![no_main]

#[path = "../../tests/parser/mod.rs"]
mod parser;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    parser::assert_cuts_change_nothing(bytes);
    parser::assert_heads_hold(bytes);
});
