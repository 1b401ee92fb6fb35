//! Fuzz target: see `checks::partial_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::partial_json(data));
