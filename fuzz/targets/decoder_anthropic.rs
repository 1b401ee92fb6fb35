//! Fuzz target: see `checks::decoder_anthropic`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::decoder_anthropic(data));
