//! Integration tests: servers on real sockets, over sessions with a scripted model.

#![allow(clippy::disallowed_methods, reason = "tests start programs directly")]
#![allow(clippy::unwrap_used)]

mod api;
mod client;
mod home;
mod page;
mod protocols;
mod proxy;
mod raw;
mod resume;
mod rights;
mod security;
mod socket;
mod two_clients;
#[allow(dead_code)] // The tests of exported pages use all of it.
#[path = "../../../pi-session/tests/it/webdriver.rs"]
mod webdriver;
