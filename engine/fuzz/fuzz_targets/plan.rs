//! Any TrialSpec that parses is refused in a sentence, or everything that is laid out for it is finite and in order.

#![no_main]

#[path = "../../tests/spec_space/mod.rs"]
mod spec_space;

use crumple_engine::spec::TrialSpec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(mut spec) = serde_json::from_slice::<TrialSpec>(bytes) else {
        return;
    };
    // This target does not cover files that a spec names, and values in requests.
    spec.target.tls = None;
    for request in &mut spec.requests {
        request.varies = false;
        request.body_file = None;
    }
    spec_space::assert_holds(&spec);
});
