//! Keeps the state of the workspace before and after a run changes it, so that it can be undone.
//!
//! The first is taken when the first tool that may change something is about to run: a run that
//! only answers costs nothing. The second tells what the run did from what others do later.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pi_agent::Permission;
use pi_tools::Workspace;
use pi_tools::checkpoint::{Checkpoints, Limits};

use crate::extension::{
    Answer, BeforeAgentStart, Extension, ExtensionContext, Notice, StartAnswer, ToolCallEvent,
};

/// Tools that change nothing.
const READ_ONLY: &[&str] = &["read", "grep", "find", "ls"];

/// What others did between two runs, or before the first.
const AS_FOUND: &str = "as found";

/// Takes checkpoints.
pub(super) struct Checkpointing {
    store: PathBuf,
    workspace: Arc<Workspace>,
    taken: AtomicBool,
    /// What the run is about, as the label of its checkpoint.
    label: Mutex<String>,
}

impl Checkpointing {
    pub(super) fn new(store: PathBuf, workspace: Arc<Workspace>) -> Self {
        Self { store, workspace, taken: AtomicBool::new(false), label: Mutex::default() }
    }

    async fn take(&self, label: String, context: &ExtensionContext) {
        let (store, workspace) = (self.store.clone(), Arc::clone(&self.workspace));
        let taken = tokio::task::spawn_blocking(move || {
            Checkpoints::of(&store, &workspace, Limits::default())?.take(&label).map(drop)
        })
        .await;
        let problem = match taken {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        // The work is worth more than the way back.
        context.ui.notify(&format!("This run cannot be undone: {problem}"), "warning");
    }
}

impl Extension for Checkpointing {
    fn path(&self) -> &str {
        "builtin:checkpoints"
    }

    fn before_agent_start<'a>(
        &'a self,
        event: &'a BeforeAgentStart<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, StartAnswer> {
        let label: String = event.prompt.unwrap_or_default().chars().take(80).collect();
        *self.label.lock().unwrap_or_else(PoisonError::into_inner) = label;
        self.taken.store(false, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(StartAnswer::default())))
    }

    fn notice<'a>(
        &'a self,
        notice: &'a Notice<'a>,
        context: &'a ExtensionContext,
    ) -> Answer<'a, ()> {
        let settled = matches!(notice, Notice::AgentSettled { .. });
        if !settled || !self.taken.swap(false, Ordering::Relaxed) {
            return Box::pin(std::future::ready(Ok(())));
        }
        Box::pin(async move {
            let label = self.label.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.take(label, context).await;
            Ok(())
        })
    }

    fn tool_call<'a>(
        &'a self,
        event: &'a ToolCallEvent<'a>,
        context: &'a ExtensionContext,
    ) -> Answer<'a, Permission> {
        if READ_ONLY.contains(&event.tool_name) || self.taken.swap(true, Ordering::Relaxed) {
            return Box::pin(std::future::ready(Ok(Permission::allow())));
        }
        Box::pin(async move {
            self.take(AS_FOUND.to_owned(), context).await;
            Ok(Permission::allow())
        })
    }
}
