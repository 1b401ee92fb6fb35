//! Fuzz target: see `checks::decoder_responses`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::decoder_responses(data));
