//! Fuzz target: see `checks::message_roundtrip`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::message_roundtrip(data));
