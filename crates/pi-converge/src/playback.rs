//! The playback of a recording: answers and tool results for the loop of a replay.
//!
//! A replay builds the requests anew from the present prompts, tools, settings and policy, and
//! compares each with the recorded one. Answers and tool results come from the recording. The first
//! difference ends the replay, with its cause.

mod compare;
mod divergence;
mod player;
mod provider;
mod recording;
mod settings;

pub use divergence::{Cause, Divergence};
pub use player::{Player, ReplayReport};
pub use recording::{Recording, RecordingError};
