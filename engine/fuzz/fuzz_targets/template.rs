//! For any text of a request, what the template says of it beforehand holds of every text that is rendered from it.

#![no_main]

#[path = "../../tests/template/mod.rs"]
mod template;

use std::sync::LazyLock;

static LINES: LazyLock<template::Lines> = LazyLock::new(|| template::Lines::new("fuzz"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    template::assert_templates_hold(&String::from_utf8_lossy(bytes), &LINES);
});
