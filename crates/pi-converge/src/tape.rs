//! The tape of a run: records what comes from outside, or gives it back.

use std::sync::Arc;

use pi_coding_agent::Tap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::playback::Player;
use crate::record::Recorder;

/// Records what a run receives from outside, or gives it back in a replay.
#[derive(Debug, Clone, Default)]
pub enum Tape {
    /// Nothing is recorded.
    #[default]
    Off,
    /// The run is recorded.
    Record(Recorder),
    /// The run is a replay.
    Replay(Player),
}

impl Tape {
    /// Returns the tap for the sessions of the run.
    pub(crate) fn tap(&self) -> Option<Arc<dyn Tap>> {
        match self {
            Self::Off => None,
            Self::Record(recorder) => Some(Arc::new(recorder.clone())),
            Self::Replay(player) => Some(Arc::new(player.clone())),
        }
    }

    /// Returns true in a replay without side effects.
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self, Self::Replay(player) if !player.is_live())
    }

    /// Returns a recorded fact in a replay; otherwise `None`, and the caller finds the fact and
    /// passes it to [`Self::record`]. A fact that the recording does not have ends the replay.
    pub(crate) fn replayed<T: DeserializeOwned + Default>(&self, name: &str) -> Option<T> {
        match self {
            Self::Replay(player) if !player.is_live() => {
                Some(player.observed(name).unwrap_or_default())
            }
            _ => None,
        }
    }

    /// Returns false in a replay whose recording does not have the next fact of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        !matches!(self, Self::Replay(player) if !player.is_live() && !player.has_observed(name))
    }

    /// Records a fact that decides how the run continues.
    pub(crate) fn record(&self, name: &str, value: &impl Serialize) {
        if let Self::Record(recorder) = self {
            recorder.observe(name, value);
        }
    }
}
