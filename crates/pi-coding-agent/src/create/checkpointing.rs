//! The extension that keeps the state of the workspace before and after a run changes it, so that
//! the run can be undone.
//!
//! The first checkpoint is taken when the first call that may change something is about to run: a
//! run that only answers costs nothing. The second separates what the run did from what others do
//! later.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pi_session::Session;
use pi_tools::Workspace;
use pi_tools::checkpoint::{Checkpoints, Limits};

use super::AgentOptions;
use crate::extension::{
    BeforeAgentStart, ExtensionContext, Handlers, NotifyKind, RunStart, ToolCall, ToolDecision,
};
use crate::session::SessionEvent;

/// Returns the extension, unless checkpoints are disabled or make no sense: in the home directory,
/// for sessions that are not stored, and for files of another machine.
pub(super) fn extension(
    options: &AgentOptions,
    workspace: &Arc<Workspace>,
    log: &Session,
) -> Option<Handlers> {
    let environment = &options.environment;
    let is_home = environment.home.as_ref() == Some(&environment.cwd);
    let is_root = environment.cwd.parent().is_none();
    let is_local = workspace.executor().host_path(workspace.cwd()).is_some();
    if !options.checkpoints || !is_local || is_home || is_root || log.path().is_none() {
        return None;
    }
    let store = crate::checkpoint_directory(&environment.agent_directory, log.id());
    Some(handlers(Arc::new(Checkpointing {
        store,
        workspace: Arc::clone(workspace),
        taken: AtomicBool::new(false),
        label: Mutex::default(),
    })))
}

struct Checkpointing {
    store: PathBuf,
    workspace: Arc<Workspace>,
    /// A checkpoint was taken in this run.
    taken: AtomicBool,
    /// Subject of the run, as the label of its checkpoint.
    label: Mutex<String>,
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
                if !call.effects.is_read_only() && !state.taken.swap(true, Ordering::Relaxed) {
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

    /// Takes a checkpoint before a run (without a label) or after it.
    async fn take(&self, label: Option<String>, context: &ExtensionContext) {
        let (store, workspace) = (self.store.clone(), Arc::clone(&self.workspace));
        let taken = tokio::task::spawn_blocking(move || {
            let mut checkpoints = Checkpoints::of(&store, &workspace, Limits::default())?;
            match label {
                Some(label) => checkpoints.take(&label).map(drop),
                None => checkpoints.take_found().map(drop),
            }
        })
        .await;
        let problem = match taken {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        // The work is worth more than the way back.
        context.ui().notify(format!("This run cannot be undone: {problem}"), NotifyKind::Warning);
    }
}
