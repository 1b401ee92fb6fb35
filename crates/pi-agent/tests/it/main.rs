//! Everything pi-agent promises, at the seam where its users see it.

#![allow(clippy::unwrap_used)]

mod arguments;
