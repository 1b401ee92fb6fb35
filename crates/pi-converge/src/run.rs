//! The runner: attempts, rounds, outcome.
//!
//! A run consists of attempts. An attempt is a session that gets the goal; when the agent has ended,
//! the runtime makes the checks of the contract and returns failures to the agent, round after
//! round. The outcome follows from the checks and never from what the model says.

mod attempt;
mod ended;
mod options;
mod progress;

use std::sync::{Arc, OnceLock};

use pi_agent::{Budget, CancelToken};
use pi_coding_agent::AgentOptions;

pub use ended::Ended;
pub use progress::Progress;

use crate::contract::Contract;
use crate::outcome::Outcome;
use crate::report::{AttemptReport, CheckReport, LimitReport, Report, Reproduction};

/// The surroundings of a run.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunOptions {
    /// The options of the agent, which the contract completes.
    pub agent: AgentOptions,
    /// Version of the program, for the report.
    pub version: String,
    /// Receives the progress.
    pub on_progress: Arc<dyn Fn(&Progress) + Send + Sync>,
    /// Ends the run early.
    pub interrupt: Interrupt,
}

impl RunOptions {
    /// Creates options that report no progress.
    pub fn new(agent: AgentOptions) -> Self {
        Self {
            agent,
            version: String::new(),
            on_progress: Arc::new(|_| {}),
            interrupt: Interrupt::default(),
        }
    }

    fn report_progress(&self, progress: &Progress) {
        (self.on_progress)(progress);
    }
}

impl std::fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunOptions").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Ends a run early, with an outcome. Clones are the same interrupt.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    cancel: CancelToken,
    outcome: Arc<OnceLock<Outcome>>,
}

impl Interrupt {
    /// Ends the run. The first call decides the outcome.
    pub fn interrupt(&self, outcome: Outcome) {
        // A later signal changes nothing.
        let _ = self.outcome.set(outcome);
        self.cancel.cancel();
    }

    /// Returns the outcome if the run was interrupted.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome.get().copied()
    }

    pub(crate) fn token(&self) -> &CancelToken {
        &self.cancel
    }
}

/// A run in progress: what all its attempts share.
pub(crate) struct Running {
    pub(crate) contract: Contract,
    pub(crate) options: RunOptions,
    pub(crate) budget: Budget,
    pub(crate) attempts: Vec<AttemptReport>,
    pub(crate) checks: Vec<CheckReport>,
    pub(crate) text: Option<String>,
}

/// Executes a contract.
pub async fn run(contract: Contract, options: RunOptions) -> Report {
    let started = jiff::Timestamp::now().to_string();
    let budget = Budget::new(contract.limits.limits());
    let mut running =
        Running { contract, options, budget, attempts: Vec::new(), checks: Vec::new(), text: None };
    let ended = Box::pin(running.attempts()).await;
    running.report(ended, started)
}

impl Running {
    /// Makes attempts until one converges, none is left, or something ends the run.
    async fn attempts(&mut self) -> Ended {
        let count = self.contract.attempts.count();
        let mut number = 1;
        loop {
            self.options.report_progress(&Progress::Attempt { number, count });
            let ended = Box::pin(self.attempt(number)).await;
            let retry = matches!(
                ended.outcome,
                Outcome::FailedVerification | Outcome::Stuck | Outcome::InvalidOutput
            );
            if !retry || number >= count {
                return ended;
            }
            number += 1;
        }
    }

    fn report(self, ended: Ended, started: String) -> Report {
        let Ended { outcome, reason, limit } = ended;
        let spent = self.budget.spent();
        Report {
            version: 1,
            id: String::new(),
            name: self.contract.name.clone(),
            outcome,
            exit_code: outcome.exit_code(),
            reason,
            goal: self.contract.goal.clone(),
            started,
            finished: jiff::Timestamp::now().to_string(),
            text: self.text,
            result: None,
            checks: self.checks,
            before: Vec::new(),
            proves_nothing: false,
            attempts: self.attempts,
            limits: LimitReport {
                spent,
                limits: serde_json::to_value(&self.contract.limits).unwrap_or_default(),
                reached: limit,
            },
            actions: Vec::new(),
            files: Vec::new(),
            diff: None,
            diff_file: None,
            pending: Vec::new(),
            stuck: None,
            directory: None,
            session: None,
            reproduction: Reproduction { version: self.options.version, ..Reproduction::default() },
            problems: Vec::new(),
        }
    }
}
