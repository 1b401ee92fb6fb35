//! The interactive mode on a terminal: the real binary, a pseudo-terminal and an emulator.
//!
//! `tests/fixtures/screens/README.md` describes the recorded screens and how ours are compared.

mod attacks;
mod bytes;
mod compare;
mod copying;
mod daily;
mod emulator;
mod frame;
mod home;
mod keys;
mod leaving;
mod mcp;
mod model;
mod program;
mod questions;
mod recorded;
mod runs;
mod screenshot;
mod selectors;
mod sequences;
mod sessions;
mod terminals;
mod typing;
mod working_day;
