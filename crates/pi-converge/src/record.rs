//! Recordings: everything that a run received from outside, for a replay.
//!
//! A recording is a file of JSON lines. The answers of models, the decisions of the guard and the
//! results of tools are recorded by a tap on the sessions of the run; everything else that decides
//! how the run continues, such as the results of checks, is an observation.

mod canonical;
mod line;
mod recorder;

pub(crate) use canonical::{CanonicalRequest, Shape, hash};
pub use line::Header;
pub(crate) use line::{Line, call_key, hook_key};
pub use recorder::{RecordError, Recorder};

/// Name of the file in the directory of a recording.
pub const RECORDING_FILE: &str = "recording.jsonl";

/// Version of the format.
pub(crate) const VERSION: u32 = 1;
