//! Fuzz target: see `checks::decoder_mistral`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::decoder_mistral(data));
