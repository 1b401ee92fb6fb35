//! Checkpoints: destroying files of the workspace is no damage if they can be restored.

use std::sync::{Arc, PoisonError};

use pi_agent::BoxFuture;
use pi_guard::Decision;
use pi_protocol::Effects;

use super::judge::Judgment;
use super::{Guard, Outcome};

/// Takes a checkpoint of the workspace before a call with these effects, unless there is one or
/// the call changes nothing. The error is the reason why there is no checkpoint.
pub(super) type TakeCheckpoint =
    Box<dyn Fn(&Effects) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

impl Guard {
    /// Sets the function that takes checkpoints.
    pub(crate) fn set_checkpoints(&self, take: TakeCheckpoint) {
        self.assume_checkpoints();
        // Set once, before the first call of a tool.
        let _ = self.checkpoints.set(take);
    }

    /// Takes the checkpoints of another guard, for a session that works for that of the other.
    pub(crate) fn share_checkpoints(&self, parent: &Arc<Self>) {
        if parent.checkpoints.get().is_none() {
            return;
        }
        let parent = Arc::clone(parent);
        self.set_checkpoints(Box::new(move |effects| match parent.checkpoints.get() {
            Some(take) => take(effects),
            None => Box::pin(std::future::ready(Ok(()))),
        }));
    }

    /// Judges calls as in a session with checkpoints.
    pub(crate) fn assume_checkpoints(&self) {
        let defaults = self.plan.defaults(self.sandbox.is_effective()).with_checkpoint(true);
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        *policy = policy.clone().with_defaults(defaults);
    }

    /// Takes a checkpoint before a call that was admitted. Returns the judgment that refuses the
    /// call if there is no checkpoint and the call needs one.
    pub(super) async fn checkpoint(&self, effects: &Effects) -> Result<(), Judgment> {
        let Some(take) = self.checkpoints.get() else { return Ok(()) };
        let Err(problem) = take(effects).await else { return Ok(()) };
        let defaults = self.plan.defaults(self.sandbox.is_effective());
        for script in &effects.runs {
            let verdict = self.with_policy(|policy, context| {
                policy.clone().with_defaults(defaults).check(script, context)
            });
            if verdict.decision == Decision::Forbid {
                let note = format!("the workspace has no checkpoint: {problem}");
                let (outcome, outside_sandbox) = (Outcome::Refuse, Vec::new());
                return Err(Judgment { outcome, verdict, note: Some(note), outside_sandbox });
            }
        }
        Ok(())
    }
}
