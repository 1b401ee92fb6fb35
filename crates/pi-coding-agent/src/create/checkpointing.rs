//! The state of the workspace before and after a run changes it, so that the run can be undone.
//!
//! The first checkpoint is taken when the guard has admitted the first call that may change
//! something: a run that only answers, only reads, or is refused costs nothing. The second
//! separates what the run did from what others do later.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_config::Settings;
use pi_config::checkpoints::is_too_wide;
use pi_guard::Decision;
use pi_guard::policy::{Defaults, Policy, PolicyContext};
use pi_protocol::Effects;
use pi_session::Session;
use pi_tools::ConnectedExecutor;
use pi_tools::checkpoint::{CheckpointError, Checkpoints, Lease, Limits};

use super::AgentOptions;
use crate::extension::{BeforeAgentStart, Handlers, NotifyKind, RunStart, Ui};
use crate::guard::Coverage;
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

/// Returns the limits of checkpoints of a directory, or `None` if they are disabled. A directory
/// with the home directory in it has none.
pub(super) fn limits(
    options: &AgentOptions,
    settings: &Settings,
    root: &Path,
) -> Result<Option<Limits>, TooWide> {
    let limits = settings.checkpoints().filter(|_| options.guard.checkpoints);
    let is_too_wide = is_too_wide(root, options.environment());
    if is_too_wide && limits.is_some() { Err(TooWide) } else { Ok(limits) }
}

/// Returns the checkpoints of a session, unless they are disabled or make no sense: for sessions
/// that are not stored, for those that work for another one, and for files of another machine.
pub(super) fn of_session(
    options: &AgentOptions,
    settings: &Settings,
    connected: &ConnectedExecutor,
    log: &Session,
) -> Result<Option<Arc<Checkpointing>>, TooWide> {
    let cwd = connected.cwd.clone();
    let Some(root) = connected.executor.host_path(&cwd) else { return Ok(None) };
    if log.path().is_none() || options.guard.parent.is_some() {
        return Ok(None);
    }
    let Some(limits) = limits(options, settings, &root)? else { return Ok(None) };
    let store = pi_config::checkpoints::checkpoint_directory(
        &options.environment().agent_directory,
        log.id(),
    );
    Ok(Some(Arc::new(Checkpointing {
        store,
        root,
        cwd,
        limits,
        ui: Arc::clone(&options.ui),
        before_run: tokio::sync::Mutex::default(),
        label: Mutex::default(),
        lease: Mutex::default(),
    })))
}

/// The checkpoints of a session.
pub(super) struct Checkpointing {
    store: PathBuf,
    /// The working directory on this machine.
    root: PathBuf,
    /// The working directory as a path of the executor.
    cwd: PathBuf,
    limits: Limits,
    ui: Arc<dyn Ui>,
    /// The result of the checkpoint before this run; `None` if none was taken. Held while it is
    /// taken, so that no other call runs before.
    before_run: tokio::sync::Mutex<Option<Result<Coverage, String>>>,
    /// Subject of the run, as the label of its checkpoint.
    label: Mutex<String>,
    /// Keeps the checkpoints of this session as long as it exists.
    lease: Mutex<Option<Lease>>,
}

/// Returns the extension that takes the checkpoint after a run.
pub(super) fn extension(state: Arc<Checkpointing>) -> Handlers {
    let (starting, settling) = (Arc::clone(&state), state);
    Handlers::new("builtin:checkpoints")
        // A large workspace takes as long as it takes.
        .without_time_limit()
        .on(move |start: BeforeAgentStart, _| {
            let state = Arc::clone(&starting);
            async move {
                state.begin(start.message.prompt().unwrap_or_default()).await;
                Ok(RunStart::default())
            }
        })
        .on_event(move |event, _| {
            let state = Arc::clone(&settling);
            async move {
                if matches!(event, SessionEvent::AgentSettled { .. }) {
                    state.settle().await;
                }
                Ok(())
            }
        })
}

impl Checkpointing {
    async fn begin(&self, prompt: &str) {
        *lock(&self.label) = prompt.chars().take(80).collect();
        *self.before_run.lock().await = None;
    }

    /// Takes a checkpoint if the call is the first of this run that may change something. The
    /// error is the reason why the run cannot be undone.
    pub(super) async fn before_call(&self, effects: &Effects) -> Result<Coverage, String> {
        if !self.may_write(effects) {
            return Ok(Coverage::Whole);
        }
        let mut before_run = self.before_run.lock().await;
        if let Some(taken) = &*before_run {
            return taken.clone();
        }
        let taken = self.take(None).await;
        *before_run = Some(taken.clone());
        taken
    }

    async fn settle(&self) {
        if self.before_run.lock().await.take().is_some() {
            // The failure was reported.
            let _ = self.take(Some(self.label())).await;
        }
    }

    fn label(&self) -> String {
        lock(&self.label).clone()
    }

    /// Returns true unless the call is known to change no file. Commands are judged as if the
    /// policy had no rules and allowed nothing but reading.
    fn may_write(&self, effects: &Effects) -> bool {
        let only_reads = |script: &String| {
            let policy = Policy::new(Defaults::careful());
            let context = PolicyContext::new(&self.cwd);
            policy.check(script, &context).decision == Decision::Allow
        };
        effects.undeclared || !effects.writes.is_empty() || !effects.runs.iter().all(only_reads)
    }

    /// Takes a checkpoint before a run (without a label) or after it.
    async fn take(&self, label: Option<String>) -> Result<Coverage, String> {
        let (store, root) = (self.store.clone(), self.root.clone());
        let limits = self.limits;
        let taken = tokio::task::spawn_blocking(move || {
            let mut checkpoints = Checkpoints::open(&store, &root, limits)?;
            match label {
                Some(label) => checkpoints.take(&label)?,
                None => checkpoints.take_found()?,
            };
            let coverage = match checkpoints.uncovered_repository() {
                Some(problem) => Coverage::Files(problem.to_owned()),
                None => Coverage::Whole,
            };
            Ok::<_, CheckpointError>((checkpoints.lease(), coverage))
        })
        .await;
        let problem = match taken {
            Ok(Ok((lease, coverage))) => {
                *lock(&self.lease) = Some(lease);
                return Ok(coverage);
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        // The work is worth more than the way back.
        self.ui.notify(format!("This run cannot be undone: {problem}"), NotifyKind::Warning);
        Err(problem)
    }
}
