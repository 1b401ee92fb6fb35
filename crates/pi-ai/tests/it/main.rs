//! Everything pi-ai promises, at the seam where its users see it.

mod requests;
mod traces;
