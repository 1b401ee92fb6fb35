//! The runner: attempts, rounds, outcome.
//!
//! A run consists of attempts. An attempt is a session that gets the goal; when the agent has ended,
//! the runtime makes the checks of the contract and returns failures to the agent, round after
//! round. The outcome follows from the checks and never from what the model says.

mod agent;
mod approver;
mod at_limit;
mod attempt;
mod calls;
mod continuation;
mod durable;
mod ended;
mod facts;
mod hooks;
mod options;
mod output;
mod price;
mod progress;
mod publication;
mod refusals;
mod relocate;
mod terms;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::{Budget, Limit};
use pi_coding_agent::hooks::Hooks;
use pi_coding_agent::session::{InvalidOutput, ResultCollector};
use pi_coding_agent::{AgentOptions, AgentRuntime};
use pi_guard::secrets::Secrets;
use pi_models::configured_secrets;

pub(crate) use agent::load as load_agent;
pub(crate) use approver::DeferringApprover;
pub use approver::{Decisions, InvalidDecision};
pub use ended::Ended;
use facts::Facts;
use hooks::Interventions;
pub(crate) use options::agent_options;
pub(crate) use price::missing_price;
pub use progress::Progress;
pub(crate) use publication::{publish, publisher};
use refusals::Refusals;
use work::Work;

use crate::agents::AgentSet;
use crate::contract::{AttemptStrategy, Contract, PublishPlan};
use crate::directory::{
    CONTRACT, DirectoryError, Journal, JournalEntry, PENDING, REPORT, Recorded, RunDirectory,
    RunState, STATE, Step,
};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::publish::repository_of;
use crate::record::{Header, RecordError, Recorder};
use crate::report::{AttemptReport, CheckReport, LimitReport, PendingAction, Report, Reproduction};
use crate::stuck::Watch;
use crate::tape::Tape;
use crate::verify::proves_nothing;

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
    /// Receives the session of each attempt before it begins, to show its events.
    pub on_session: Arc<dyn Fn(&AgentRuntime) + Send + Sync>,
    /// Ends the run early.
    pub interrupt: Interrupt,
    /// Directory of all runs; `runs` in the agent directory by default.
    pub runs: Option<PathBuf>,
    /// Working directory of a run that is resumed, instead of the one in which it was started.
    pub workspace: Option<PathBuf>,
    /// Settings of the pull request, over those of the contract.
    pub publish: PublishPlan,
    /// Records the run, or gives it what was recorded.
    pub tape: Tape,
}

impl RunOptions {
    /// Creates options that report no progress.
    pub fn new(agent: AgentOptions) -> Self {
        Self {
            agent,
            version: String::new(),
            on_progress: Arc::new(|_| {}),
            on_session: Arc::new(|_| {}),
            interrupt: Interrupt::default(),
            runs: None,
            workspace: None,
            publish: PublishPlan::default(),
            tape: Tape::Off,
        }
    }

    /// Returns the directory of all runs.
    pub fn runs_directory(&self) -> PathBuf {
        let default = || self.agent.environment().agent_directory.join("runs");
        self.runs.clone().unwrap_or_else(default)
    }

    fn report_progress(&self, progress: &Progress) {
        (self.on_progress)(progress);
    }
}

pi_protocol::debug_fields!(RunOptions, agent);

/// A run in progress: what all its attempts share.
pub(crate) struct Running {
    pub(crate) contract: Contract,
    pub(crate) options: RunOptions,
    pub(crate) budget: Budget,
    pub(crate) attempts: Vec<AttemptReport>,
    pub(crate) checks: Vec<CheckReport>,
    pub(crate) text: Option<String>,
    /// The directory of the run, locked by this process.
    pub(crate) directory: RunDirectory,
    /// The state in the directory.
    pub(crate) state: RunState,
    pub(crate) journal: Arc<Journal>,
    /// Decides about actions that need approval, if the contract defers them.
    pub(crate) approver: Arc<DeferringApprover>,
    /// The journal of the process that began the current step, until the step is continued.
    pub(crate) resuming: Option<Recorded>,
    pub(crate) pending: Vec<PendingAction>,
    pub(crate) session_file: Option<PathBuf>,
    /// Collects the results of sessions, if the contract has a schema.
    pub(crate) collector: Option<Arc<ResultCollector>>,
    /// The structured result of the last round.
    pub(crate) result: Option<serde_json::Value>,
    /// The last result that was refused, if no repair was left.
    pub(crate) invalid: Option<InvalidOutput>,
    pub(crate) work: Work,
    /// Hooks at the start and the end.
    pub(crate) hooks: Option<Hooks>,
    /// Texts that hooks added to the goal.
    pub(crate) context: Vec<String>,
    pub(crate) interventions: Interventions,
    pub(crate) refusals: Refusals,
    /// Detects that the agent of the current attempt is stuck.
    pub(crate) watch: Watch,
    /// The agent spec of the contract, with the specs that it can reach.
    pub(crate) agents: Option<AgentSet>,
    pub(crate) facts: Facts,
}

/// Executes a contract in a new run directory.
pub async fn run(
    mut contract: Contract,
    mut options: RunOptions,
) -> Result<Report, DirectoryError> {
    if !options.tape.is_replay() {
        contract.limits.complete(&options.agent.project.settings().limits());
    }
    let started = jiff::Timestamp::now().to_string();
    let directory = RunDirectory::create(&options.runs_directory())?;
    let mut state = RunState::new(started, options.agent.environment().cwd.clone());
    state.resources = options.agent.resources.clone();
    if !options.tape.is_replay() {
        contract.publish = contract.publish.overlaid(&options.publish);
        // Before the agent can change where branches and remotes point to.
        state.repository = repository_of(&state.cwd, &contract.workspace);
    }
    let journal = Journal::open(&directory)?;
    directory.write(STATE, &state)?;
    if contract.record && matches!(options.tape, Tape::Off) {
        let mut header = Header::new(&options.version, &contract, options.agent.environment());
        header.resources = state.resources.clone();
        header.background = options.agent.tools.selection.background;
        let created = Recorder::create(directory.path(), header);
        let recorder = created
            .map_err(|RecordError { path, source }| DirectoryError::io("write", &path)(source))?;
        options.tape = Tape::Record(recorder);
    }
    // The contract makes the directory a run.
    directory.write(CONTRACT, &contract)?;
    let approver = DeferringApprover::default();
    let budget = Budget::new(contract.limits.limits());
    let running = Running::new(contract, options, directory, state, journal, approver, budget);
    Ok(Box::pin(running.execute()).await)
}

impl Running {
    fn new(
        contract: Contract,
        options: RunOptions,
        directory: RunDirectory,
        state: RunState,
        journal: Journal,
        approver: DeferringApprover,
        budget: Budget,
    ) -> Self {
        Self {
            watch: Watch::new(contract.stuck.clone(), options.tape.clone()),
            facts: Facts::default(),
            contract,
            options,
            budget,
            attempts: state.attempts.clone(),
            checks: Vec::new(),
            text: None,
            directory,
            state,
            journal: Arc::new(journal),
            approver: Arc::new(approver),
            resuming: None,
            pending: Vec::new(),
            session_file: None,
            collector: None,
            result: None,
            invalid: None,
            work: Work::default(),
            hooks: None,
            context: Vec::new(),
            interventions: Interventions::default(),
            refusals: Refusals::default(),
            agents: None,
        }
    }

    /// Creates a run that continues from a recorded state.
    pub(crate) fn resumed(
        contract: Contract,
        options: RunOptions,
        directory: RunDirectory,
        state: RunState,
        journal: Journal,
        approver: DeferringApprover,
        recorded: Recorded,
    ) -> Self {
        let budget = Budget::resumed(contract.limits.limits(), recorded.consumption(&state.spent));
        let mut running = Self::new(contract, options, directory, state, journal, approver, budget);
        running.resuming = Some(recorded);
        running
    }

    /// Executes the run and writes its report.
    pub(crate) async fn execute(mut self) -> Report {
        self.journal.record(JournalEntry::Process { id: std::process::id() });
        let (id, directory) = (self.directory.id().to_owned(), self.run_directory());
        self.options.report_progress(&Progress::RunStart { id, directory });
        // A contract that cannot be run starts nothing, hooks included.
        let started = match self
            .load_agent()
            .and_then(|()| self.prepare_output())
            .and_then(|()| self.prepare_publication())
        {
            Ok(()) => self.run_start_hooks().await,
            invalid => invalid,
        };
        let ended = match started {
            Ok(()) => Box::pin(self.attempts()).await,
            Err(ended) => ended,
        };
        // A replay has no workspace to settle, so the recording ends before.
        let unrecorded = self.finish_recording(&ended);
        self.work.problems.extend(unrecorded);
        let ended = self.settle(ended);
        let ended = self.write_result(ended);
        self.run_end_hooks(&ended).await;
        let publisher = self.publisher();
        let on_progress = Arc::clone(&self.options.on_progress);
        let (directory, report) = self.finish(ended);
        let report = publish(publisher, &directory, report).await;
        let (outcome, exit_code, reason) =
            (report.outcome, report.exit_code, report.reason.clone());
        on_progress(&Progress::RunEnd { outcome, exit_code, reason });
        report
    }

    /// Records the state, before the step that it describes begins.
    pub(crate) fn save(&mut self) -> Result<(), Ended> {
        self.state.spent = self.budget.spent();
        self.state.stuck = self.watch.memory();
        let saved = self.directory.write(STATE, &self.state);
        saved.map_err(|error| Ended::new(Outcome::Failed, error.to_string()))
    }

    /// Makes attempts until one converges, none is left, or something ends the run.
    async fn attempts(&mut self) -> Ended {
        let count = self.contract.attempts.count();
        let mut number = self.state.attempt;
        loop {
            self.options.report_progress(&Progress::AttemptStart { number, count });
            let ended = Box::pin(self.attempt(number)).await;
            let is_best = self.contract.attempts.strategy == AttemptStrategy::Best;
            let goes_on = ended.may_be_retried() || is_best && ended.outcome == Outcome::Converged;
            if !goes_on || number >= count {
                return ended;
            }
            number += 1;
            self.state.attempts.clone_from(&self.attempts);
            (self.state.attempt, self.state.round) = (number, 0);
            (self.state.step, self.state.spent_before) = (Step::Start, self.budget.spent());
            if let Err(ended) = self.save() {
                return ended;
            }
        }
    }

    /// Writes the end of the run into its directory.
    fn finish(mut self, ended: Ended) -> (RunDirectory, Report) {
        let mut problems = std::mem::take(&mut self.work.problems);
        problems.extend(self.journal.failure());
        let outcome = ended.outcome;
        self.state.outcome = Some(outcome);
        self.state.spent = self.budget.spent();
        self.state.stuck = self.watch.memory();
        self.journal.record(JournalEntry::End { outcome });
        let pending = self.directory.write(PENDING, &self.pending);
        let state = self.directory.write(STATE, &self.state);
        problems
            .extend([pending, state].into_iter().filter_map(Result::err).map(|e| e.to_string()));
        let secrets = Secrets::new(configured_secrets(self.options.agent.environment()));
        let (directory, report) = self.report(ended, problems);
        let mut report = report.redacted(&secrets);
        if let Err(error) = directory.write(REPORT, &report) {
            report.problems.push(error.to_string());
        }
        (directory, report)
    }

    fn run_directory(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// Completes the recording. Returns the reason if it cannot be written.
    fn finish_recording(&self, ended: &Ended) -> Option<String> {
        let Tape::Record(recorder) = &self.options.tape else { return None };
        let timed = self.options.interrupt.outcome().is_some()
            || matches!(ended.limit, Some(Limit::WallTime | Limit::IdleTime));
        recorder.finish(ended.outcome.name(), timed).err().map(|error| error.to_string())
    }

    fn report(self, ended: Ended, problems: Vec<String>) -> (RunDirectory, Report) {
        let Ended { outcome, reason, limit } = ended;
        let spent = self.budget.spent();
        // Checks that were not made prove neither something nor nothing.
        let is_checked = outcome.has_result() || !self.checks.is_empty();
        let is_checked = is_checked || !self.state.before.is_empty();
        let report = Report {
            version: 1,
            id: self.directory.id().to_owned(),
            name: self.contract.name.clone(),
            outcome,
            exit_code: outcome.exit_code(),
            reason,
            goal: self.contract.goal.clone(),
            started: self.state.started,
            finished: jiff::Timestamp::now().to_string(),
            text: self.invalid.map(|invalid| invalid.text).or(self.text),
            result: self.result,
            checks: self.checks,
            proves_nothing: is_checked && proves_nothing(&self.contract, &self.state.before),
            before: self.state.before,
            attempts: self.attempts,
            limits: LimitReport {
                spent,
                limits: serde_json::to_value(self.contract.limits.in_force()).unwrap_or_default(),
                reached: limit,
            },
            actions: self.facts.actions(),
            interventions: self.interventions.list(),
            files: self.work.files,
            diff: self.work.diff,
            diff_file: self.work.diff_file,
            concerns: self.work.concerns,
            pending: self.pending,
            stuck: self.watch.evidence().and_then(|found| serde_json::to_value(found).ok()),
            directory: Some(self.directory.path().to_owned()),
            session: self.session_file,
            publication: None,
            reproduction: Reproduction {
                commit: self.work.commit,
                ..self.facts.reproduction(&self.contract, &self.options.version)
            },
            problems,
            plan: self.contract.reports,
        };
        (self.directory, report)
    }
}
