//! How sessions behave, seen from outside.

#![allow(clippy::unwrap_used)]

#[cfg(feature = "export")]
mod export;
mod log;
#[cfg(feature = "export")]
mod page;
#[cfg(feature = "export")]
mod sha256;
#[cfg(feature = "export")]
mod webdriver;
