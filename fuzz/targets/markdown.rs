//! Fuzz target: see `checks::markdown`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::markdown(data));
