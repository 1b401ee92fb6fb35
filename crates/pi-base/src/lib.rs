//! Small parts that every crate needs: no dependencies, no I/O, nothing about agents.

mod lock;
pub mod process;
pub mod text;

pub use lock::{lock, unpoisoned};
