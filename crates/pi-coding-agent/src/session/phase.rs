//! The phase of a session: idle, running, or summarizing outside of a run.
//!
//! Exactly one holds at a time. State that means something only during a run lives in
//! [`RunState`] and ends with it.

use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_models::Chain;
use pi_protocol::CancelToken;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::Intervention;

/// The phase with its transitions.
#[derive(Debug)]
pub(super) struct Activity {
    phase: Mutex<Phase>,
    busy: watch::Sender<bool>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// A run, from before its first request until it is settled.
    Running(RunState),
    /// A compaction that the user asked for, or the summary of a branch that is left.
    Summarizing(CancelToken),
}

/// State of one run, retries and compactions included.
#[derive(Debug, Default)]
pub(super) struct RunState {
    /// Cancelled when the run is asked to end.
    pub(super) abort: CancelToken,
    /// The intervention that stopped the run.
    pub(super) stopped_by: Option<Arc<Intervention>>,
    /// Index of the current turn in the current run of the loop.
    pub(super) turn_index: u32,
    pub(super) retry_attempt: u32,
    pub(super) retry_pause: Option<CancelToken>,
    /// Models that failed in this run, and their successors.
    pub(super) chain: Chain,
    pub(super) compaction: Option<CancelToken>,
    /// The whole system prompt, as an extension wants it for this run.
    pub(super) forced_prompt: Option<String>,
    /// Sections of the system prompt that extensions changed for this run; null removes one.
    pub(super) changed_sections: Arc<Map<String, Value>>,
}

/// A summary outside of a run; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Summary<'a> {
    activity: &'a Activity,
    /// Cancelled when the user aborts the summary.
    pub(super) cancel: CancelToken,
}

impl Drop for Summary<'_> {
    fn drop(&mut self) {
        self.activity.end();
    }
}

impl Default for Activity {
    fn default() -> Self {
        Self { phase: Mutex::default(), busy: watch::Sender::new(false) }
    }
}

impl Activity {
    /// Begins a run. Returns false if the session is not idle.
    pub(super) fn begin_run(&self) -> bool {
        self.begin(Phase::Running(RunState::default()))
    }

    /// Begins a summary outside of a run; `None` if the session is not idle.
    pub(super) fn begin_summary(&self) -> Option<Summary<'_>> {
        let cancel = CancelToken::new();
        let begun = self.begin(Phase::Summarizing(cancel.clone()));
        begun.then(|| Summary { activity: self, cancel })
    }

    /// Ends the run or summary.
    pub(super) fn end(&self) {
        *lock(&self.phase) = Phase::Idle;
        self.busy.send_replace(false);
    }

    fn begin(&self, next: Phase) -> bool {
        {
            let mut phase = lock(&self.phase);
            if !matches!(*phase, Phase::Idle) {
                return false;
            }
            *phase = next;
        }
        self.busy.send_replace(true);
        true
    }

    /// Reads or changes the state of the run. Without a run, the state is the default one.
    pub(super) fn run<T>(&self, access: impl FnOnce(&mut RunState) -> T) -> T {
        match &mut *lock(&self.phase) {
            Phase::Running(run) => access(run),
            Phase::Idle | Phase::Summarizing(_) => access(&mut RunState::default()),
        }
    }

    /// Returns true if the run was asked to end.
    pub(super) fn is_abort_requested(&self) -> bool {
        self.run(|run| run.abort.is_cancelled())
    }

    /// Returns true during a run.
    pub(super) fn is_running(&self) -> bool {
        matches!(*lock(&self.phase), Phase::Running(_))
    }

    /// Returns true during a summary outside of a run.
    pub(super) fn is_summarizing(&self) -> bool {
        matches!(*lock(&self.phase), Phase::Summarizing(_))
    }

    /// Returns true during a compaction or the summary of a branch.
    pub(super) fn is_compacting(&self) -> bool {
        match &*lock(&self.phase) {
            Phase::Running(run) => run.compaction.is_some(),
            Phase::Summarizing(_) => true,
            Phase::Idle => false,
        }
    }

    /// Asks the run to end, and cancels a pause and a summary.
    pub(super) fn request_abort(&self) {
        self.run(|run| run.abort.clone()).cancel();
        self.cancel_retry();
        self.cancel_summary();
    }

    /// Ends a pause before a retry.
    pub(super) fn cancel_retry(&self) {
        if let Some(pause) = self.run(|run| run.retry_pause.clone()) {
            pause.cancel();
        }
    }

    /// Cancels a compaction or the summary of a branch.
    pub(super) fn cancel_summary(&self) {
        let cancel = match &*lock(&self.phase) {
            Phase::Running(run) => run.compaction.clone(),
            Phase::Summarizing(cancel) => Some(cancel.clone()),
            Phase::Idle => None,
        };
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
    }

    /// Waits until the session is idle.
    pub(super) async fn wait_for_idle(&self) {
        let mut busy = self.busy.subscribe();
        // The sender lives as long as `self`.
        let _ = busy.wait_for(|busy| !busy).await;
    }
}
