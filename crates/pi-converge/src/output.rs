//! The output contract: a result that matches a JSON Schema, checked by the runtime.
//!
//! `schema` compiles and checks, `bounds` keeps both finite, `violation` puts failures into words,
//! `text` finds a result in an answer, `submit` is the tool that receives one, and `collect` leads a
//! session to a valid result with a bounded number of repairs.

mod bounds;
mod collect;
mod schema;
mod submit;
mod text;
mod violation;

pub use collect::{Collected, InvalidOutput, ResultCollector};
pub use schema::{OutputContract, SchemaError};
pub use submit::SUBMIT_RESULT;
pub use violation::Violation;
