//! Task files: from the text of a user to a contract, with the place of every value.

mod document;
mod explain;
mod fields;
mod goose;
mod load;
mod origin;
mod parameters;
mod shape;
mod shell;
mod template;
mod validate;
mod write;

pub use document::{Document, Problem, pointer_of};
pub use load::{OptionValue, Task, TaskInput, TaskSource};
pub use origin::Origin;
