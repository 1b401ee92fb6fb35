//! Fuzz target: see `checks::decoder_completions`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::decoder_completions(data));
