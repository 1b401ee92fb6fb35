//! Checkpoints: destroying files of the workspace is no damage if they can be restored.

use std::path::Path;
use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_guard::Decision;
use pi_protocol::Effects;

use super::judge::Judgment;
use super::{Guard, Outcome};

/// Takes a checkpoint of the workspace before a call with these effects, unless there is one or
/// the call changes nothing. The error is the reason why there is no checkpoint.
pub(crate) type TakeCheckpoint =
    Arc<dyn Fn(&Effects) -> BoxFuture<'static, Result<Coverage, String>> + Send + Sync>;

/// What a checkpoint covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// The files of the workspace and the repositories in it.
    Whole,
    /// The files, and for this reason not the repositories.
    Files(String),
}

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
        let defaults = self.plan.defaults(self.sandbox.is_effective());
        let (defaults, problem) = match take(effects).await {
            Ok(Coverage::Whole) => return Ok(()),
            Ok(Coverage::Files(problem)) => {
                let note = format!("the checkpoint does not cover the repository: {problem}");
                (defaults.with_checkpoint(true), note)
            }
            Err(problem) => (defaults, format!("the workspace has no checkpoint: {problem}")),
        };
        for script in &effects.runs {
            let verdict = self.with_policy(|policy, context| {
                policy.clone().with_defaults(defaults).check(script, context)
            });
            if verdict.decision == Decision::Forbid {
                let (outcome, outside_sandbox) = (Outcome::Refuse, Vec::new());
                return Err(Judgment { outcome, verdict, note: Some(problem), outside_sandbox });
            }
        }
        Ok(())
    }
}

/// Returns true if checkpoints of a directory cover the repository that commands in it work with:
/// there is none, or it is in the directory.
pub(super) fn covers_repository(cwd: &Path) -> bool {
    let found = cwd.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
    found.is_none_or(|repository| {
        let metadata = repository.join(".git").symlink_metadata();
        repository == cwd && metadata.is_ok_and(|metadata| metadata.is_dir())
    })
}
