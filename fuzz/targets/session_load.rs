//! Fuzz target: see `checks::session_load`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::session_load(data));
