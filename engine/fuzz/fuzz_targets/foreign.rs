//! Whatever the kernel and other programs write, no parser of it panics or hangs. The first byte chooses the parser.

#![no_main]

use crumple_engine::foreign::PARSERS;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let [choice, rest @ ..] = bytes {
        PARSERS[usize::from(*choice) % PARSERS.len()](rest);
    }
});
