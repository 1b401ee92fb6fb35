//! Fuzz target: see `checks::sse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::sse(data));
