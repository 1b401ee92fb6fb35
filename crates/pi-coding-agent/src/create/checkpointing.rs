//! The extension that keeps the state of the workspace before and after a run changes it, so that
//! the run can be undone.
//!
//! The first checkpoint is taken when the first call that may change something is about to run: a
//! run that only answers, or only reads, costs nothing. The second separates what the run did from what others do
//! later.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pi_guard::Decision;
use pi_guard::policy::{Defaults, Policy, PolicyContext};
use pi_protocol::Effects;
use pi_session::Session;
use pi_tools::Workspace;
use pi_tools::checkpoint::{CheckpointError, Checkpoints, Lease, Limits};

use super::AgentOptions;
use crate::checkpoints::is_too_wide;
use crate::config::Settings;
use crate::extension::{
    BeforeAgentStart, ExtensionContext, Handlers, NotifyKind, RunStart, ToolCall, ToolDecision,
};
use crate::session::SessionEvent;

/// The reason why a session takes no checkpoints, if the user should know it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooWide;

impl std::fmt::Display for TooWide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "Changes of files cannot be undone in this session: the working directory contains \
             the home directory, which is too much for checkpoints. Start in a project directory.",
        )
    }
}

/// Returns the extension, unless checkpoints are disabled or make no sense: for sessions that are
/// not stored, for files of another machine, and for a directory with the home directory in it.
pub(super) fn extension(
    options: &AgentOptions,
    settings: &Settings,
    workspace: &Arc<Workspace>,
    log: &Session,
) -> Result<Option<Handlers>, TooWide> {
    let environment = &options.environment;
    let Some(root) = workspace.executor().host_path(workspace.cwd()) else { return Ok(None) };
    let Some(limits) = settings.checkpoints() else { return Ok(None) };
    if !options.checkpoints || log.path().is_none() {
        return Ok(None);
    }
    if is_too_wide(&root, environment) {
        return Err(TooWide);
    }
    let store = crate::checkpoint_directory(&environment.agent_directory, log.id());
    Ok(Some(handlers(Arc::new(Checkpointing {
        store,
        limits,
        workspace: Arc::clone(workspace),
        taken: AtomicBool::new(false),
        label: Mutex::default(),
        lease: Mutex::default(),
    }))))
}

struct Checkpointing {
    store: PathBuf,
    limits: Limits,
    workspace: Arc<Workspace>,
    /// A checkpoint was taken in this run.
    taken: AtomicBool,
    /// Subject of the run, as the label of its checkpoint.
    label: Mutex<String>,
    /// Keeps the checkpoints of this session as long as it exists.
    lease: Mutex<Option<Lease>>,
}

fn handlers(state: Arc<Checkpointing>) -> Handlers {
    let (starting, calling, settling) = (Arc::clone(&state), Arc::clone(&state), state);
    Handlers::new("builtin:checkpoints")
        // A large workspace takes as long as it takes.
        .without_time_limit()
        .on(move |start: BeforeAgentStart, _| {
            starting.begin(start.message.prompt().unwrap_or_default());
            std::future::ready(Ok(RunStart::default()))
        })
        .on(move |call: ToolCall, context| {
            let state = Arc::clone(&calling);
            async move {
                if state.may_write(&call.effects) && !state.taken.swap(true, Ordering::Relaxed) {
                    state.take(None, &context).await;
                }
                Ok(ToolDecision::allow())
            }
        })
        .on_event(move |event, context| {
            let state = Arc::clone(&settling);
            async move {
                let settled = matches!(event, SessionEvent::AgentSettled { .. });
                if settled && state.taken.swap(false, Ordering::Relaxed) {
                    state.take(Some(state.label()), &context).await;
                }
                Ok(())
            }
        })
}

impl Checkpointing {
    fn begin(&self, prompt: &str) {
        *self.label.lock().unwrap_or_else(PoisonError::into_inner) =
            prompt.chars().take(80).collect();
        self.taken.store(false, Ordering::Relaxed);
    }

    fn label(&self) -> String {
        self.label.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns true unless the call is known to change no file. Commands are judged as if the
    /// policy had no rules and allowed nothing but reading.
    fn may_write(&self, effects: &Effects) -> bool {
        let only_reads = |script: &String| {
            let policy = Policy::new(Defaults::careful());
            let context = PolicyContext::new(self.workspace.cwd());
            policy.check(script, &context).decision == Decision::Allow
        };
        effects.undeclared || !effects.writes.is_empty() || !effects.runs.iter().all(only_reads)
    }

    /// Takes a checkpoint before a run (without a label) or after it.
    async fn take(&self, label: Option<String>, context: &ExtensionContext) {
        let (store, workspace) = (self.store.clone(), Arc::clone(&self.workspace));
        let limits = self.limits;
        let taken = tokio::task::spawn_blocking(move || {
            let mut checkpoints = Checkpoints::of(&store, &workspace, limits)?;
            match label {
                Some(label) => checkpoints.take(&label)?,
                None => checkpoints.take_found()?,
            };
            Ok::<Lease, CheckpointError>(checkpoints.lease())
        })
        .await;
        let problem = match taken {
            Ok(Ok(lease)) => {
                *self.lease.lock().unwrap_or_else(PoisonError::into_inner) = Some(lease);
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        // The work is worth more than the way back.
        context.ui().notify(format!("This run cannot be undone: {problem}"), NotifyKind::Warning);
    }
}
