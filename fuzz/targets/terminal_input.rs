//! Fuzz target: see `checks::terminal_input`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::terminal_input(data));
