//! Fuzz target: see `checks::decoder_proxy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::decoder_proxy(data));
