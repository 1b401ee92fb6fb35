pub mod catalog;
pub mod providers;
