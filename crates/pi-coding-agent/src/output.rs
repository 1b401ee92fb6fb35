//! The output contract: a result that matches a JSON Schema, checked by the runtime.
//!
//! `schema` accepts a schema and checks values, `violation` puts failures into words, `text` finds a
//! result in an answer, and `submit` is the tool that receives one. Nothing here knows sessions:
//! [`ResultCollector`](crate::session::ResultCollector) leads one to a valid result.

mod schema;
mod submit;
mod text;
mod violation;

pub use schema::{OutputContract, SchemaError};
pub use submit::SUBMIT_RESULT;
pub(crate) use submit::{Refused, Submissions, SubmitResult, listed, read};
pub(crate) use text::find_json;
pub use violation::Violation;
