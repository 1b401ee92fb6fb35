//! Fuzz target: see `checks::decoder_google`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::decoder_google(data));
