//! The paths that an agent changes, for a caller that has to tell its changes from those of others.
//!
//! Nothing is judged here. A path is reported before it is changed, so that a process that is killed
//! afterwards has reported it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::Effects;

use super::Guard;

/// A report about the changes of an agent.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum AgentChange<'a> {
    /// A tool call begins.
    Begun {
        /// True if the call can change paths that are not reported: the commands of this machine
        /// cannot be watched, or another program executes the call.
        is_unknown: bool,
    },
    /// The agent is about to change these absolute paths, or to create or remove them.
    Paths {
        /// The paths.
        paths: &'a [PathBuf],
        /// True if everything below the paths moves with them.
        is_move: bool,
    },
    /// A tool call has ended.
    Ended,
}

/// Observes the changes of an agent, right before they are made. Commands wait meanwhile.
#[derive(Clone)]
pub struct ChangeObserver(Arc<dyn Fn(AgentChange<'_>) + Send + Sync>);

impl ChangeObserver {
    /// Creates an observer.
    pub fn new(observe: impl Fn(AgentChange<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    /// Reports a change.
    pub fn observe(&self, change: AgentChange<'_>) {
        (self.0)(change);
    }
}

impl fmt::Debug for ChangeObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChangeObserver").finish_non_exhaustive()
    }
}

/// Two plans with an observer are the same plan only if they share it.
impl PartialEq for ChangeObserver {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ChangeObserver {}

/// A call whose changes are observed. Dropping it reports the end of the call.
pub(super) struct ObservedCall<'a>(Option<&'a ChangeObserver>);

impl Drop for ObservedCall<'_> {
    fn drop(&mut self) {
        if let Some(observer) = self.0 {
            observer.observe(AgentChange::Ended);
        }
    }
}

impl Guard {
    /// Reports a call that is about to be executed. `is_watched` says whether the commands that it
    /// runs are watched.
    pub(super) fn observe_call(&self, effects: &Effects, is_watched: bool) -> ObservedCall<'_> {
        let observer = self.plan.changes.as_ref();
        if let Some(observer) = observer {
            let is_unknown = effects.undeclared || !effects.runs.is_empty() && !is_watched;
            observer.observe(AgentChange::Begun { is_unknown });
            let environment = &self.environment;
            let paths = effects.writes.iter();
            let paths = paths.map(|file| environment.expand(&file.path, &environment.cwd));
            let paths: Vec<PathBuf> = paths.collect();
            if !paths.is_empty() {
                observer.observe(AgentChange::Paths { paths: &paths, is_move: false });
            }
        }
        ObservedCall(observer)
    }
}
