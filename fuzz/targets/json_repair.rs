//! Fuzz target: see `checks::json_repair`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::json_repair(data));
