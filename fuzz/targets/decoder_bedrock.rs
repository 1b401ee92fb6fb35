//! Fuzz target: see `checks::decoder_bedrock`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::decoder_bedrock(data));
