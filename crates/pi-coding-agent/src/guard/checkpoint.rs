//! Checkpoints: destroying files of the workspace is no damage if they can be restored.

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_guard::Decision;
use pi_protocol::Effects;

use super::judge::Judgment;
use super::{Guard, Outcome};

/// Takes a checkpoint of the workspace before a call with these effects, unless there is one or
/// the call changes nothing. The error is the reason why there is no checkpoint.
pub(crate) type TakeCheckpoint =
    Arc<dyn Fn(&Effects) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// The checkpoints of a session.
#[derive(Clone)]
pub(crate) enum Checkpoints {
    /// The session has none.
    None,
    /// None are taken, but calls are judged as in a session with checkpoints.
    Assumed,
    /// Checkpoints are taken.
    Taken(TakeCheckpoint),
}

impl Guard {
    /// Returns the checkpoints for a session that works for that of this guard.
    pub(crate) fn shared_checkpoints(&self) -> Checkpoints {
        match &self.checkpoints {
            Checkpoints::Taken(take) => Checkpoints::Taken(Arc::clone(take)),
            Checkpoints::None | Checkpoints::Assumed => Checkpoints::None,
        }
    }

    /// Takes a checkpoint before a call that was admitted. Returns the judgment that refuses the
    /// call if there is no checkpoint and the call needs one.
    pub(super) async fn checkpoint(&self, effects: &Effects) -> Result<(), Judgment> {
        let Checkpoints::Taken(take) = &self.checkpoints else { return Ok(()) };
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
