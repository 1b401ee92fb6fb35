//! Fuzz target: see `checks::policy_check`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::policy_check(data));
