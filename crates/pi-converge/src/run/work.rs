//! The workspace of a run over its attempts: prepared, verified, and at the end kept, brought back
//! or undone.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pi_coding_agent::{AgentOptions, Environment};
use pi_config::checkpoints::checkpoint_directory;
use pi_tools::checkpoint::RestoreReport;

use super::{Ended, Progress, Running};
use crate::contract::{AttemptStrategy, OnFailure};
use crate::directory::Step;
use crate::outcome::Outcome;
use crate::report::{CheckReport, Concern, FileReport};
use crate::verify::{CheckStep, Round, Stopped, Verifier, VerifierParts, VerifyError};
use crate::workspace::{
    AdoptError, BroughtBack, Changes, Claim, RunWorkspace, WorkspaceError, WorkspacePlaces, adopt,
};

/// Bytes of the diff that a report contains.
const SHOWN_DIFF: usize = 64 * 1024;

/// The workspace of the current attempt, and what the report says about it.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Keeps other runs out of the directory of the user.
    claim: Option<Claim>,
    current: Option<Current>,
    /// Attempts that can become the result, for the strategy `best`.
    candidates: Vec<Candidate>,
    /// The attempt had changed a file at its last verification.
    pub(super) has_changes: bool,
    /// The changed files that the checks read at the last verification.
    read_by_checks: BTreeSet<String>,
    /// The diff at the last verification.
    last_diff: Option<Vec<u8>>,
    /// Reasons why a person should look at the result.
    pub(crate) concerns: Vec<Concern>,
    pub(crate) files: Vec<FileReport>,
    pub(crate) diff: Option<String>,
    pub(crate) diff_file: Option<PathBuf>,
    pub(crate) commit: Option<String>,
    pub(crate) problems: Vec<String>,
}

#[derive(Debug)]
struct Current {
    workspace: RunWorkspace,
    verifier: Verifier,
    /// Added and removed lines at the last verification.
    lines: u64,
}

/// The result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All checks passed.
    Passed,
    /// All checks passed, and a person should look at the result.
    Doubtful,
    /// All checks pass with the tests as the run left them, but not with the original ones.
    PassedWithOwnTests {
        /// The run changed nothing since the last verification.
        is_final: bool,
    },
    Failed,
}

/// The end of an attempt that may become the result.
#[derive(Debug)]
struct Candidate {
    /// Position among the reports of attempts.
    index: usize,
    workspace: RunWorkspace,
    state: usize,
    checks: Vec<CheckReport>,
    text: Option<String>,
    result: Option<serde_json::Value>,
    ended: Ended,
    lines: u64,
    cost: f64,
}

impl From<VerifyError> for Ended {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Stopped(Stopped::Limit(limit)) => Self::at_limit(limit),
            VerifyError::Stopped(Stopped::Interrupted) => {
                Self::new(Outcome::Interrupted, "The run was interrupted.")
            }
            VerifyError::Pattern(_) | VerifyError::Unmatched(_) | VerifyError::Variables(_) => {
                Self::new(Outcome::InvalidTask, error.to_string())
            }
            VerifyError::Shell(error) => Self::from(&error),
            VerifyError::Workspace(error) => Self::from(error),
            VerifyError::Io(_) => {
                Self::new(Outcome::Failed, format!("The checks cannot be made: {error}."))
            }
        }
    }
}

impl From<WorkspaceError> for Ended {
    fn from(error: WorkspaceError) -> Self {
        let outcome = match &error {
            WorkspaceError::NotADirectory(_)
            | WorkspaceError::TooWide(_)
            | WorkspaceError::HasOwnFiles { .. }
            | WorkspaceError::InUse(_)
            | WorkspaceError::Git(_) => Outcome::InvalidTask,
            _ => Outcome::Failed,
        };
        Self::new(outcome, error.to_string())
    }
}

impl Running {
    /// Prepares the workspace of an attempt, and sets the directory of its agent. The first attempt
    /// makes the checks once before the agent starts.
    pub(super) async fn prepare(
        &mut self,
        number: u32,
        options: &mut AgentOptions,
    ) -> Result<(), Ended> {
        if self.options.tape.is_replay() {
            if number == 1 {
                self.state.before = self.options.tape.replayed("before").unwrap_or_default();
            }
            return Ok(());
        }
        let is_kept = number > 1 && self.contract.attempts.strategy == AttemptStrategy::Continue;
        if is_kept && let Some(current) = &self.work.current {
            options.project = options.project.in_directory(current.workspace.root());
            observe(&current.workspace, options);
            return Ok(());
        }
        if let Some(last) = self.work.current.take() {
            self.leave(&last.workspace)?;
        }
        let (places, place) = self.places(number);
        let workspace = RunWorkspace::prepare(&self.contract.workspace, &places, place)?;
        if workspace.is_in_place() && self.work.claim.is_none() {
            let claims = self.options.runs_directory().join(".claims");
            self.work.claim = Some(Claim::take(&claims, workspace.root())?);
        }
        options.project = options.project.in_directory(workspace.root());
        let directory = self.run_directory();
        let mut verifier = Verifier::new(VerifierParts {
            contract: &self.contract,
            workspace: &workspace,
            directory: &directory,
            options: options.clone(),
            budget: self.budget.clone(),
            interrupt: self.options.interrupt.token().clone(),
        })?;
        observe(&workspace, options);
        let unmatched = verifier.unmatched_patterns()?;
        if !unmatched.is_empty() {
            return Err(VerifyError::Unmatched(unmatched).into());
        }
        if number == 1 {
            for note in workspace.notes() {
                self.note(note.clone());
            }
            self.work.commit = workspace.commit();
        }
        let is_start = number == 1 && self.state.step == Step::Start;
        if self.contract.verify_before != Some(false) && is_start && self.state.before.is_empty() {
            let report =
                |step: CheckStep<'_>| self.options.report_progress(&Progress::of_check(step, true));
            let before = verifier.before(&report).await;
            self.state.before =
                before.map_err(|error| self.interrupted().unwrap_or(error.into()))?;
        }
        if number == 1 {
            self.note_denied();
            self.options.tape.record("before", &self.state.before);
        }
        self.work.current = Some(Current { workspace, verifier, lines: 0 });
        Ok(())
    }

    /// Returns the places of a workspace, and the number of the attempt that it belongs to.
    fn places(&self, number: u32) -> (WorkspacePlaces, u32) {
        let environment = self.options.agent.environment();
        let store = checkpoint_directory(
            &environment.agent_directory,
            &format!("run-{}", self.directory.id()),
        );
        let mut places = WorkspacePlaces::new(&environment.cwd, self.run_directory(), store);
        places.results = self.contract.results();
        places.home.clone_from(&environment.home);
        places.own = Some(environment.agent_directory.clone());
        places.workspaces = workspaces_directory(environment).join(self.directory.id());
        // A continued attempt uses the workspace of the first one, also in a resumed run.
        let strategy = self.contract.attempts.strategy;
        let place = if strategy == AttemptStrategy::Continue { 1 } else { number };
        (places, place)
    }

    /// Makes the workspace of a run that is resumed what it was when the run ended.
    pub(crate) fn adopt_workspace(&self) -> Result<(), AdoptError> {
        let (places, place) = self.places(self.state.attempt);
        adopt(&self.contract.workspace, &places, place)?;
        Ok(RunWorkspace::forget_saved(&places.run_directory)?)
    }

    /// Makes the checks of the contract.
    pub(super) async fn verify(&mut self, round: Round) -> Result<Verdict, Ended> {
        if let Some(checks) = self.options.tape.replayed("checks") {
            self.checks = checks;
            self.work.has_changes = self.options.tape.replayed("changed").unwrap_or_default();
            self.work.concerns = self.options.tape.replayed("concerns").unwrap_or_default();
            let as_reported = self.options.tape.replayed("passesAsReported").unwrap_or_default();
            return Ok(self.verdict(as_reported, None));
        }
        let Some(current) = &mut self.work.current else { return Ok(Verdict::Failed) };
        let options = &self.options;
        let report =
            |step: CheckStep<'_>| options.report_progress(&Progress::of_check(step, false));
        let result = self.result.as_ref();
        let done = current.verifier.verify(round, result, &report).await?;
        current.lines = done.changes.lines();
        self.work.has_changes = !done.changes.files.is_empty();
        let of_result = self.result_check(round.limit);
        self.checks = of_result.into_iter().chain(done.checks).collect();
        self.work.concerns = done.concerns;
        self.work.read_by_checks = done.read;
        self.options.tape.record("checks", &self.checks);
        self.options.tape.record("changed", &self.work.has_changes);
        self.options.tape.record("concerns", &self.work.concerns);
        self.options.tape.record("passesAsReported", &done.passes_as_reported);
        for note in done.notes {
            self.note(note);
        }
        Ok(self.verdict(done.passes_as_reported, Some(done.changes.diff)))
    }

    /// Judges the checks that were made.
    fn verdict(&mut self, passes_as_reported: bool, diff: Option<Vec<u8>>) -> Verdict {
        let is_final = diff.is_some() && self.work.last_diff == diff;
        self.work.last_diff = diff;
        if !self.checks.iter().all(|check| check.passed) {
            return match passes_as_reported {
                true => Verdict::PassedWithOwnTests { is_final },
                false => Verdict::Failed,
            };
        }
        if self.work.concerns.is_empty() { Verdict::Passed } else { Verdict::Doubtful }
    }

    /// Records the end of an attempt. Returns the number of changed lines.
    pub(super) fn attempt_ended(&mut self, index: usize, ended: &Ended, cost: f64) -> u64 {
        let Some(current) = &self.work.current else { return 0 };
        let lines = current.lines;
        if self.contract.attempts.strategy == AttemptStrategy::Best {
            match current.workspace.take("end of an attempt") {
                Ok(state) => self.work.candidates.push(Candidate {
                    index,
                    workspace: current.workspace.clone(),
                    state,
                    checks: self.checks.clone(),
                    text: self.text.clone(),
                    result: self.result.clone(),
                    ended: ended.clone(),
                    lines,
                    cost,
                }),
                Err(error) => self.work.problems.push(error.to_string()),
            }
        }
        lines
    }

    /// Leaves the workspace of an attempt that is not the last: in place, its changes are undone.
    fn leave(&mut self, workspace: &RunWorkspace) -> Result<(), Ended> {
        if workspace.is_in_place() {
            let report = workspace.rollback()?;
            self.note_conflicts(&report);
        } else if self.contract.attempts.strategy != AttemptStrategy::Best {
            workspace.remove()?;
        }
        Ok(())
    }

    /// Settles the workspace at the end of the run.
    pub(super) fn settle(&mut self, ended: Ended) -> Ended {
        let ended = self.choose_best(ended);
        let Some(current) = self.work.current.take() else { return ended };
        let workspace = current.workspace;
        match workspace.changes() {
            Ok(changes) => self.describe(&changes),
            Err(error) => self.work.problems.push(error.to_string()),
        }
        let has_chosen = self.attempts.iter().any(|attempt| attempt.kept);
        if ended.outcome.has_result()
            && !has_chosen
            && let Some(last) = self.attempts.last_mut()
        {
            last.kept = true;
        }
        let settled = if ended.outcome.has_result() {
            self.keep_result(&workspace)
        } else if ended.outcome.is_resumable() {
            // The run continues in this workspace, or in another one with the same changes.
            workspace.save(&self.run_directory()).map(|lost| {
                if !lost.is_empty() {
                    let lost = lost.join(", ");
                    self.note(format!("too large to be saved for another machine: {lost}"));
                }
            })
        } else {
            self.treat_failure(&workspace)
        };
        if let Err(error) = settled {
            self.work.problems.push(error.to_string());
        }
        if !ended.outcome.is_resumable() {
            workspace.forget_ignored(&self.run_directory());
        }
        ended
    }

    /// Makes the best attempt the result: by checks, then by the size of the diff, then by cost.
    fn choose_best(&mut self, ended: Ended) -> Ended {
        let mut candidates = std::mem::take(&mut self.work.candidates);
        let failed = |one: &Candidate| one.checks.iter().filter(|check| !check.passed).count();
        let is_converged = |one: &Candidate| one.ended.outcome == Outcome::Converged;
        candidates.sort_by(|one, other| {
            let key = |one: &Candidate| (!is_converged(one), failed(one), one.lines);
            key(one).cmp(&key(other)).then(one.cost.total_cmp(&other.cost))
        });
        let mut candidates = candidates.into_iter();
        let Some(best) = candidates.next() else { return ended };
        // An interruption or a limit is the outcome, unless an attempt had converged before.
        if !is_converged(&best) && !ended.may_be_retried() || ended.outcome.is_resumable() {
            return ended;
        }
        let Some(last) = self.work.current.take() else { return ended };
        match exchange(&last.workspace, &best) {
            Ok(report) => self.note_conflicts(&report),
            Err(error) => {
                self.work.problems.push(format!("the best attempt cannot be restored: {error}"));
                self.work.current = Some(last);
                return Ended::new(Outcome::Failed, "The best attempt cannot be restored.");
            }
        }
        for other in candidates {
            if !other.workspace.is_in_place()
                && let Err(error) = other.workspace.remove()
            {
                self.work.problems.push(error.to_string());
            }
        }
        self.work.current = Some(Current { workspace: best.workspace, ..last });
        (self.checks, self.text, self.result) = (best.checks, best.text, best.result);
        for (index, attempt) in self.attempts.iter_mut().enumerate() {
            attempt.kept = index == best.index;
        }
        best.ended
    }

    /// Adds the changes to the report, and the whole diff to the run directory.
    fn describe(&mut self, changes: &Changes) {
        self.work.files = changes.reports();
        for file in &mut self.work.files {
            file.read_by_checks = self.work.read_by_checks.contains(&file.path);
        }
        if changes.diff.is_empty() {
            return;
        }
        let file = self.run_directory().join("changes.diff");
        match std::fs::write(&file, &changes.diff) {
            Ok(()) => self.work.diff_file = Some(file),
            Err(error) => {
                self.work.problems.push(format!("cannot write {}: {error}", file.display()));
            }
        }
        let mut text = changes.text();
        if text.len() > SHOWN_DIFF {
            text.truncate(text.floor_char_boundary(SHOWN_DIFF));
            text.push_str("\n[cut]\n");
        }
        self.work.diff = Some(text);
    }

    /// Brings the result of a worktree or copy to the directory of the user.
    fn keep_result(&mut self, workspace: &RunWorkspace) -> Result<(), WorkspaceError> {
        match workspace.bring_back()? {
            BroughtBack::Applied => {
                if !workspace.is_in_place() {
                    let left = workspace.left_behind(&workspace.changes()?);
                    if !left.is_empty() {
                        let left = left.into_iter().collect::<Vec<_>>().join(", ");
                        self.note(format!(
                            "not brought back, because git ignores it: {left}; name a file in \
                             `exist` of a files check to get it"
                        ));
                    }
                }
                workspace.remove()
            }
            BroughtBack::Conflicts(paths) => {
                let saved = workspace.save_patch(&self.run_directory().join("changes.patch"))?;
                self.note(format!(
                    "the result was not applied to {}, because these files changed meanwhile: {}. \
                     It is in {}, and as a patch in {}",
                    workspace.origin().display(),
                    paths.join(", "),
                    workspace.root().display(),
                    saved.patch.display(),
                ));
                Ok(())
            }
        }
    }

    fn treat_failure(&mut self, workspace: &RunWorkspace) -> Result<(), WorkspaceError> {
        let action = self.contract.on_failure;
        if action == OnFailure::Keep {
            if !workspace.is_in_place() {
                self.note(format!("the workspace is kept: {}", workspace.root().display()));
            }
            return Ok(());
        }
        if action == OnFailure::Patch && !self.work.files.is_empty() {
            let saved = workspace.save_patch(&self.run_directory().join("changes.patch"))?;
            self.note(format!("the changes are saved in {}", saved.patch.display()));
            if !saved.lost.is_empty() {
                // Nothing is undone that is not saved.
                self.note(format!(
                    "the changes were not undone, because these files are too large to be saved: {}",
                    saved.lost.join(", ")
                ));
                return Ok(());
            }
        }
        if !workspace.is_in_place() {
            return workspace.remove();
        }
        let report = workspace.rollback()?;
        self.note_conflicts(&report);
        Ok(())
    }

    /// Names the paths that were not restored.
    fn note_conflicts(&mut self, report: &RestoreReport) {
        for conflict in &report.conflicts {
            self.note(format!("{} was not restored: {}", conflict.path, conflict.reason));
        }
    }

    /// Notes what the sandbox denied to checks before the run: the work may not be the reason why
    /// they fail.
    fn note_denied(&mut self) {
        let checks = std::mem::take(&mut self.state.before);
        for check in &checks {
            for denied in &check.denied {
                self.note(format!("`{}` failed before the run, and {denied}", check.name));
            }
        }
        self.state.before = checks;
    }

    /// Adds a remark to the report, once.
    pub(super) fn note(&mut self, note: String) {
        if !self.work.problems.contains(&note) {
            self.work.problems.push(note);
        }
    }
}

/// Returns the directory for the worktrees and copies of all runs: in the cache of the user, which a
/// sandbox does not protect as it does the directory of the agent.
fn workspaces_directory(environment: &Environment) -> PathBuf {
    let cache = environment.variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| environment.home.as_ref().map(|home| home.join(".cache")));
    cache.unwrap_or_else(|| environment.temporary()).join("pi").join("workspaces")
}

/// Records what the agent writes where other programs write, too.
fn observe(workspace: &RunWorkspace, options: &mut AgentOptions) {
    options.guard.observe_changes = workspace.is_in_place().then(|| workspace.observer());
}

/// Replaces the workspace of the last attempt by that of the best one.
fn exchange(last: &RunWorkspace, best: &Candidate) -> Result<RestoreReport, WorkspaceError> {
    let mut report = RestoreReport::default();
    if last.is_in_place() {
        report = last.rollback()?;
        report.conflicts.extend(best.workspace.reapply(best.state)?.conflicts);
    }
    Ok(report)
}
