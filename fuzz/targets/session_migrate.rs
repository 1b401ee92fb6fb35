//! Fuzz target: see `checks::session_migrate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::session_migrate(data));
