//! Fuzz target: see `checks::decoder_pi_messages`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::decoder_pi_messages(data));
