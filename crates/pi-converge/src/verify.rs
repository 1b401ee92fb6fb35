//! Verification: the checks of a contract, made by the runtime.
//!
//! The checks run in the workspace, in a sandbox of their own, with the original tests, check
//! scripts and protected files in place. Afterwards the workspace is as the agent left it: effects
//! of the checks on files are undone, and the agent's versions of replaced files return.

mod baseline;
mod command;
mod counts;
mod feedback;
mod files;
mod globs;
mod inputs;
mod json;
mod junit;
mod review;
mod weakening;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pi_agent::{Budget, CancelToken};
use pi_coding_agent::{AgentOptions, CreateError, UserShell};
use serde_json::Value;

use baseline::{Baseline, Replaced, Tampered};
use command::{Checked, CommandRun};
use inputs::{Role, Roles};
use review::Reviewed;

pub(crate) use command::Stopped;
pub(crate) use feedback::{Progress as FeedbackProgress, feedback};
pub(crate) use globs::Pattern;

use crate::contract::{Check, Contract, FileCheck, JsonCheck};
use crate::report::CheckReport;
use crate::workspace::{Changes, RunWorkspace, WorkspaceError};

/// Most files that are read-only for the checks, each of which is a mount.
const MOST_READ_ONLY: usize = 200;
/// Largest script that is searched for further scripts, and largest JSON file of a check.
const MOST_READ: u64 = 4 << 20;

/// Name of the file with the number of tests of each command before the agent started.
const TESTS: &str = "tests-before.json";

/// Reasons why the checks have no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    /// A limit or an interruption ended them.
    #[error("the checks were ended")]
    Stopped(Stopped),
    /// A pattern of the contract is invalid.
    #[error("invalid pattern: {0}")]
    Pattern(#[from] globset::Error),
    /// The workspace cannot be compared or restored.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The sandbox of the checks cannot be created.
    #[error(transparent)]
    Shell(#[from] CreateError),
    /// A file cannot be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// The result of the checks.
#[derive(Debug)]
pub(crate) struct Verification {
    /// One report for each check, and one for weakened checks.
    pub(crate) checks: Vec<CheckReport>,
    /// The changes of the run.
    pub(crate) changes: Changes,
    /// Remarks for the report.
    pub(crate) notes: Vec<String>,
}

impl Verification {
    /// Returns true if every check passed.
    pub(crate) fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }
}

/// Makes the checks of an attempt.
#[derive(Debug)]
pub(crate) struct Verifier {
    checks: Vec<Check>,
    goal: String,
    workspace: RunWorkspace,
    roles: Roles,
    baseline: Baseline,
    /// Directory for logs of checks.
    logs: PathBuf,
    /// Exists while originals are in place, with the state to return to.
    marker: PathBuf,
    options: AgentOptions,
    budget: Budget,
    interrupt: CancelToken,
    /// Number of tests of each command before the agent started.
    tests_before: BTreeMap<String, u64>,
}

/// The parts of a run that verification needs.
#[derive(Debug)]
pub(crate) struct VerifierParts<'a> {
    pub(crate) contract: &'a Contract,
    pub(crate) workspace: &'a RunWorkspace,
    pub(crate) directory: &'a Path,
    pub(crate) options: AgentOptions,
    pub(crate) budget: Budget,
    pub(crate) interrupt: CancelToken,
}

/// The position of a verification in a run, for the names of logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) attempt: u32,
    pub(crate) round: u32,
}

impl Verifier {
    /// Stores the originals before the agent starts.
    pub(crate) fn new(parts: VerifierParts<'_>) -> Result<Self, VerifyError> {
        let VerifierParts { contract, workspace, directory, mut options, budget, interrupt } =
            parts;
        let root = workspace.root().to_owned();
        let read = |path: &str| read_text(&root.join(path));
        let roles = Roles::new(&contract.verify, &contract.goal, &read)?;
        let covered = workspace.baseline()?.into_iter().map(|(path, _)| path);
        let originals = directory.join("originals");
        let baseline = Baseline::store(&root, &originals, &roles, covered)?;
        let logs = directory.join("checks");
        std::fs::create_dir_all(&logs)?;
        options.project = options.project.in_directory(&root);
        let counts = std::fs::read(logs.join(TESTS)).unwrap_or_default();
        Ok(Self {
            checks: contract.verify.clone(),
            goal: contract.goal.clone(),
            workspace: workspace.clone(),
            roles,
            baseline,
            logs,
            marker: directory.join("verifying.json"),
            options,
            budget,
            interrupt,
            // Without the file, there is nothing to compare with.
            tests_before: serde_json::from_slice(&counts).unwrap_or_default(),
        })
    }

    /// Returns the workspace to the state before checks that were killed. Call it before the agent
    /// of a resumed run starts.
    pub(crate) fn recover(&self) -> Result<bool, VerifyError> {
        let Ok(state) = std::fs::read_to_string(&self.marker) else { return Ok(false) };
        if let Ok(state) = state.trim().parse() {
            self.workspace.restore(state)?;
        }
        std::fs::remove_file(&self.marker)?;
        Ok(true)
    }

    /// Makes the command checks before the agent starts, and undoes their effects.
    pub(crate) async fn before(
        &mut self,
        report: &dyn Fn(&CheckReport),
    ) -> Result<Vec<CheckReport>, VerifyError> {
        let state = self.workspace.take("before the run")?;
        std::fs::write(&self.marker, state.to_string())?;
        let shell = self.open_shell()?;
        let mut reports = Vec::new();
        let mut stopped = None;
        for (number, check) in self.checks.iter().enumerate() {
            let Check::Command(command) = check else { continue };
            let log = self.logs.join(format!("before-{}.log", number + 1));
            match self.run(&shell, &log, None, true).check(command).await {
                Ok(Checked { report: done, tests }) => {
                    if let Some(tests) = tests {
                        self.tests_before.insert(command.command.clone(), tests);
                    }
                    report(&done);
                    reports.push(done);
                }
                Err(reason) => {
                    stopped = Some(reason);
                    break;
                }
            }
        }
        drop(shell);
        let counts = serde_json::to_vec(&self.tests_before).unwrap_or_default();
        std::fs::write(self.logs.join(TESTS), counts)?;
        self.put_back(state, Replaced::default())?;
        stopped.map_or(Ok(reports), |reason| Err(VerifyError::Stopped(reason)))
    }

    /// Makes all checks.
    pub(crate) async fn verify(
        &self,
        round: Round,
        result: Option<&Value>,
        report: &(dyn Fn(&CheckReport) + Send + Sync),
    ) -> Result<Verification, VerifyError> {
        let changes = self.workspace.changes()?;
        let tampered = self.baseline.compare(&self.roles, &changes)?;
        std::fs::write(&self.marker, changes.state.to_string())?;
        let replaced = self.baseline.put_in_place(&self.roles, &tampered)?;
        let done = self.make_checks(round, result, &changes, &tampered, report).await;
        // In any case, also if the checks were interrupted.
        let returned = self.put_back(changes.state, replaced);
        let (mut checks, notes) = done?;
        returned?;
        self.add_review(&mut checks, &changes, report).await?;
        Ok(Verification { checks, changes, notes })
    }

    fn put_back(&self, state: usize, replaced: Replaced) -> Result<(), VerifyError> {
        self.workspace.restore(state)?;
        self.baseline.put_back(replaced)?;
        Ok(std::fs::remove_file(&self.marker)?)
    }

    /// Makes all checks but reviews, with the originals in place.
    async fn make_checks(
        &self,
        round: Round,
        result: Option<&Value>,
        changes: &Changes,
        tampered: &[Tampered],
        report: &(dyn Fn(&CheckReport) + Send + Sync),
    ) -> Result<(Vec<CheckReport>, Vec<String>), VerifyError> {
        let shell = self.open_shell()?;
        let (mut checks, mut notes) = (Vec::new(), Vec::new());
        for (number, check) in self.checks.iter().enumerate() {
            let mut done = match check {
                Check::Command(command) => {
                    let Round { attempt, round } = round;
                    let log = self.logs.join(format!("{attempt}-{round}-{}.log", number + 1));
                    let before = self.tests_before.get(&command.command).copied();
                    let run = self.run(&shell, &log, before, false);
                    run.check(command).await.map_err(VerifyError::Stopped)?.report
                }
                Check::Files(check) => self.check_files(check, changes, tampered)?,
                Check::Json(check) => self.check_json(check, result),
                Check::Review(_) => continue,
            };
            done.name = check.name();
            report(&done);
            checks.push(done);
        }
        drop(shell);
        let weakened = self.weakened(tampered)?;
        if let Some(weakened) = weakened {
            report(&weakened);
            checks.push(weakened);
        }
        let is_test = |one: &&Tampered| one.role == Role::Test;
        let tests: Vec<&str> =
            tampered.iter().filter(is_test).map(|one| one.path.as_str()).collect();
        if !tests.is_empty() {
            let note = format!("the checks used the original of: {}", tests.join(", "));
            explain(&mut checks, &note);
            notes.push(note);
        }
        Ok((checks, notes))
    }

    fn run<'a>(
        &'a self,
        shell: &'a UserShell,
        log: &'a Path,
        tests_before: Option<u64>,
        is_first: bool,
    ) -> CommandRun<'a> {
        CommandRun {
            shell,
            root: self.workspace.root(),
            budget: &self.budget,
            interrupt: &self.interrupt,
            log,
            tests_before,
            is_first,
        }
    }

    /// Opens a new sandbox in which the originals cannot be written.
    fn open_shell(&self) -> Result<UserShell, VerifyError> {
        let mut read_only: Vec<PathBuf> = self.baseline.fixed(&self.roles).collect();
        if read_only.len() > MOST_READ_ONLY {
            // Their content is compared after the checks.
            read_only.clear();
        }
        Ok(UserShell::open(&self.options, &read_only, &self.logs)?)
    }

    fn check_files(
        &self,
        check: &FileCheck,
        changes: &Changes,
        tampered: &[Tampered],
    ) -> Result<CheckReport, VerifyError> {
        let root = self.workspace.root();
        let existing = |pattern: &globs::Pattern| {
            let walk = ignore::WalkBuilder::new(root)
                .standard_filters(false)
                .filter_entry(|entry| entry.file_name() != ".git")
                .build();
            walk.flatten().any(|entry| {
                let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
                path.is_some_and(|path| !path.is_empty() && pattern.matches(path))
            })
        };
        let found = files::check(&check.files, changes, tampered, &existing)?;
        Ok(CheckReport {
            kind: "files".to_owned(),
            passed: found.failures.is_empty(),
            failures: found.failures,
            findings: found.findings,
            ..CheckReport::default()
        })
    }

    fn check_json(&self, check: &JsonCheck, result: Option<&Value>) -> CheckReport {
        let value = match &check.file {
            None => result.cloned().ok_or_else(|| "the run has no structured result".to_owned()),
            Some(file) => {
                let shown = file.display();
                let text = read_text(&self.workspace.root().join(file));
                let text =
                    text.ok_or_else(|| format!("{shown} does not exist or is not a text file"));
                text.and_then(|text| {
                    serde_json::from_str(&text)
                        .map_err(|error| format!("{shown} is not JSON: {error}"))
                })
            }
        };
        let failures = match value {
            Ok(value) => json::failures(&check.json, &value),
            Err(problem) => vec![problem],
        };
        let passed = failures.is_empty();
        CheckReport { kind: "json".to_owned(), passed, failures, ..CheckReport::default() }
    }

    /// Returns a failed check if files of the verifier were changed, by the agent or during the
    /// checks.
    fn weakened(&self, tampered: &[Tampered]) -> Result<Option<CheckReport>, VerifyError> {
        let mut weakened = CheckReport {
            name: "verification".to_owned(),
            kind: "files".to_owned(),
            ..CheckReport::default()
        };
        let mut add = |path: &str, message: String| {
            weakened.findings.push(files::finding("verification", path, &message));
            weakened.failures.push(message);
        };
        for one in tampered.iter().filter(|one| one.role == Role::Verifier) {
            let Tampered { path, change, .. } = one;
            add(path, format!("verification was weakened: {path} was {change}"));
        }
        for one in self.baseline.compare(&self.roles, &Changes::default())? {
            let is_known = tampered.iter().any(|known| known.path == one.path);
            if one.role != Role::Test && !is_known {
                add(&one.path, format!("{} was {} while the checks ran", one.path, one.change));
            }
        }
        Ok((!weakened.failures.is_empty()).then_some(weakened))
    }

    /// Makes the reviews, if nothing else failed.
    async fn add_review(
        &self,
        checks: &mut Vec<CheckReport>,
        changes: &Changes,
        report: &(dyn Fn(&CheckReport) + Send + Sync),
    ) -> Result<(), VerifyError> {
        for check in &self.checks {
            let Check::Review(one) = check else { continue };
            let mut done = if checks.iter().all(|check| check.passed) {
                let diff = changes.text();
                let work = Reviewed { goal: &self.goal, diff: &diff, checks };
                let made =
                    review::review(&one.review, work, &self.options, &self.budget, &self.interrupt);
                Box::pin(made).await.map_err(VerifyError::Stopped)?
            } else {
                let failures = vec!["not reviewed, because another check failed".to_owned()];
                let kind = "review".to_owned();
                CheckReport { kind, skipped: true, failures, ..CheckReport::default() }
            };
            done.name = check.name();
            report(&done);
            checks.push(done);
        }
        Ok(())
    }
}

/// Adds a remark to the failed commands.
fn explain(checks: &mut [CheckReport], note: &str) {
    for check in checks.iter_mut().filter(|check| check.kind == "command" && !check.passed) {
        check.failures.push(note.to_owned());
    }
}

/// Reads a text file of the workspace that is not too large. Links are not followed out of it.
fn read_text(path: &Path) -> Option<String> {
    let metadata = path.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MOST_READ {
        return None;
    }
    String::from_utf8(std::fs::read(path).ok()?).ok()
}

/// Returns true if every check was green before the agent started, so that green checks at the end
/// say nothing about its work.
pub(crate) fn proves_nothing(contract: &Contract, before: &[CheckReport]) -> bool {
    let says_more = |check: &Check| match check {
        Check::Command(_) => false,
        Check::Files(check) => !check.files.required.is_empty(),
        Check::Json(_) | Check::Review(_) => true,
    };
    let is_made = contract.verify_before != Some(false);
    is_made
        && before.iter().all(|check| check.passed)
        && !contract.verify.iter().any(says_more)
        && contract.output.is_none()
}
