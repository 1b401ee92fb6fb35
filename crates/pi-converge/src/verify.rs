//! Verification: the checks of a contract, made by the runtime.
//!
//! The checks run in clean rooms ([`crate::room`]), never in the workspace. A first room has the
//! changes of the run with the original tests, check scripts and protected files. If the run changed
//! or added tests, a second room has all changes: what is reported as the result is what passes.

mod baseline;
mod before;
mod blocks;
mod command;
mod concerns;
mod configuration;
mod counts;
mod denied;
mod endings;
mod evidence;
mod feedback;
mod files;
mod flaky;
mod goal;
mod inline;
mod inputs;
mod json;
mod junit;
mod making;
mod review;
mod room_files;
mod sources;
mod suppression;
mod weakening;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pi_agent::{Budget, CancelToken, Limit};
use pi_coding_agent::{AgentOptions, CreateError, Environment};
use serde_json::Value;

use baseline::{Baseline, Tampered, Version};
use before::Before;
use evidence::Used;
use inputs::{Role, Roles, Start};
use making::{Report, Subject};
use review::Reviewed;

pub(crate) use command::Stopped;
pub(crate) use feedback::{Progress as FeedbackProgress, feedback};
pub(crate) use making::CheckStep;

use crate::contract::{Check, Contract};
use crate::report::{CheckReport, Concern};
use crate::room::{CleanRoom, REPOSITORY, Rooms};
use crate::workspace::{Changes, Content, RunWorkspace, WorkspaceError};

/// Ignored files that a failure names.
const MOST_NAMED: usize = 5;
/// Largest script that is searched for further scripts, and largest JSON file of a check.
const MOST_READ: u64 = 4 << 20;

/// Reasons why the checks have no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    /// A limit or an interruption ended them.
    #[error("the checks were ended")]
    Stopped(Stopped),
    /// A pattern of the contract is invalid.
    #[error("invalid pattern: {0}")]
    Pattern(#[from] globset::Error),
    /// Patterns of protected files match nothing.
    #[error(
        "nothing is protected by {}: no file matches; correct the pattern or leave it out",
        .0.join(", ")
    )]
    Unmatched(Vec<String>),
    /// Variables that checks need are not set.
    #[error(
        "checks need variables that are not set: {}; set them, or remove them from env and --check-env",
        .0.join(", ")
    )]
    Variables(Vec<String>),
    /// The workspace cannot be compared, or no room can be made of it.
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
    /// The changed files that the checks read or run.
    pub(crate) read: BTreeSet<String>,
    /// Remarks for the report.
    pub(crate) notes: Vec<String>,
    /// Reasons why a person should look at checks that pass, or that pass with the tests of the run.
    pub(crate) concerns: Vec<Concern>,
    /// All checks pass with all changes, although some fail with the original tests.
    pub(crate) passes_as_reported: bool,
}

/// Makes the checks of an attempt.
#[derive(Debug)]
pub(crate) struct Verifier {
    checks: Vec<Check>,
    /// Variables that all commands get although they look like secrets.
    variables: Vec<String>,
    goal: String,
    workspace: RunWorkspace,
    rooms: Rooms,
    roles: Roles,
    baseline: Baseline,
    /// Directory for logs of checks.
    logs: PathBuf,
    options: AgentOptions,
    budget: Budget,
    interrupt: CancelToken,
    before: Before,
    /// The first checks are made only if all checks pass at the end.
    is_first_late: bool,
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

/// The position of a verification in a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) attempt: u32,
    pub(crate) round: u32,
    /// The limit at which the agent was ended: no model can be asked any more.
    pub(crate) limit: Option<Limit>,
}

impl Verifier {
    /// Stores the originals before the agent starts.
    pub(crate) fn new(parts: VerifierParts<'_>) -> Result<Self, VerifyError> {
        let VerifierParts { contract, workspace, directory, mut options, budget, interrupt } =
            parts;
        let missing = missing_variables(contract, options.environment());
        if !missing.is_empty() {
            return Err(VerifyError::Variables(missing));
        }
        let root = workspace.root().to_owned();
        let read = |path: &str| read_text(&root.join(path));
        let start = workspace.baseline()?;
        let roles = Roles::new(contract, Start::of(&start), &read)?;
        let originals = directory.join("originals");
        let covered = start.iter().map(|(path, _)| path.clone());
        let baseline = Baseline::store(&root, &originals, &roles, covered)?;
        let logs = directory.join("checks");
        std::fs::create_dir_all(&logs)?;
        options.project = options.project.in_directory(&root);
        Ok(Self {
            checks: contract.verify.clone(),
            variables: contract.check_env.clone(),
            goal: contract.goal.clone(),
            workspace: workspace.clone(),
            rooms: Rooms::of(workspace, directory).map_err(WorkspaceError::from)?,
            roles,
            baseline,
            before: Before::read(&logs),
            logs,
            options,
            budget,
            interrupt,
            is_first_late: contract.verify_before == Some(false),
        })
    }

    /// Returns the patterns of protected files that match nothing.
    pub(crate) fn unmatched_patterns(&self) -> Result<Vec<String>, VerifyError> {
        let start = self.workspace.baseline()?;
        let paths = start.iter().map(|(path, _)| path.as_str());
        Ok(self.roles.unmatched(paths.chain(self.baseline.paths())))
    }

    /// Makes the command checks before the agent starts.
    pub(crate) async fn before(
        &mut self,
        report: Report<'_>,
    ) -> Result<Vec<CheckReport>, VerifyError> {
        let room = self.rooms.create(&self.workspace, Content::Start, &self.options)?;
        let (reports, before) = self.make_first(&room, report).await?;
        self.before = before;
        self.before.write(&self.logs)?;
        Ok(reports)
    }

    /// Returns the files that the first checks ran and that the run must not change.
    pub(crate) fn parts_of_checks(&self) -> Vec<&str> {
        let executed = self.before.used.executed.iter().map(String::as_str);
        executed.filter(|path| !self.roles.is_permitted(path)).collect()
    }

    /// Makes all checks.
    pub(crate) async fn verify(
        &mut self,
        round: Round,
        result: Option<&Value>,
        report: Report<'_>,
    ) -> Result<Verification, VerifyError> {
        let changes = self.workspace.changes()?;
        let mut tampered = self.baseline.compare(&self.roles, &changes)?;
        evidence::merge(&mut tampered, self.changed_sources(&changes)?);
        evidence::merge(&mut tampered, self.changed_evidence(&changes, &Used::default()));
        tampered.extend(self.changed_repository()?);
        let unstored = self.workspace.unstored()?;
        self.baseline.give_up(&mut tampered, &unstored);
        let Round { attempt, round, limit } = round;
        let name = format!("{attempt}-{round}");
        let room = self.room(&changes, &tampered)?;
        let subject = Subject { changes: &changes, tampered: &tampered, result };
        let (mut checks, mut used) = self.make_checks(&room, &name, &subject, report).await?;
        drop(room);
        if checks.iter().all(|check| check.passed) {
            self.learn_late(&mut checks).await?;
        }
        // The checks may get further than before the agent started.
        let mut later = self.changed_evidence(&changes, &used);
        later.retain(|one| !tampered.iter().any(|known| known.path == one.path));
        let mut number = 1;
        while checks.iter().all(|check| check.passed) && !later.is_empty() {
            let mut with_later = tampered.clone();
            evidence::merge(&mut with_later, later.clone());
            self.baseline.give_up(&mut with_later, &unstored);
            let room = self.room(&changes, &with_later)?;
            let subject = Subject { changes: &changes, tampered: &with_later, result };
            let name = format!("{name}-originals-{number}");
            let again = self.make_checks(&room, &name, &subject, &|_| {});
            let (made, made_used) = Box::pin(again).await?;
            used.add(made_used);
            let asked_for = evidence::asked_for(&later, &made);
            if asked_for.is_empty() {
                checks = made;
                tampered = with_later;
                break;
            }
            later.retain(|one| !asked_for.contains(&one.path));
            number += 1;
        }
        let subject = Subject { changes: &changes, tampered: &tampered, result };
        let mut notes = Vec::new();
        let passed = checks.iter().all(|check| check.passed);
        let is_soft = |one: &Tampered| matches!(one.role, Role::Test | Role::Added);
        let mut passes_as_reported = false;
        let is_file = |one: &Tampered| one.path != REPOSITORY;
        if tampered.iter().any(|one| !passed || is_file(one)) && tampered.iter().all(is_soft) {
            // What is reported as the result has to pass, too.
            let room = self.room(&changes, &[])?;
            let name = format!("{name}-all");
            let (all, all_used) = self.make_checks(&room, &name, &subject, &|_| {}).await?;
            used.add(all_used);
            passes_as_reported = all.iter().all(|check| check.passed);
            if passed && !passes_as_reported {
                let failed = all.iter().filter(|check| check.failed());
                failed.for_each(|check| report(CheckStep::End(check)));
                checks = all;
            }
        }
        let mut concerns = Vec::new();
        if !self.is_used(&changes, &used) {
            concerns.extend(self.repeat(&name, &subject, &mut checks, report).await?);
        }
        let passed = passed && checks.iter().all(|check| check.passed);
        if !passed {
            let original = note_about_originals(&tampered);
            explain(&mut checks, original.as_slice());
            notes.extend(original);
            explain(&mut checks, self.note_about_ignored().as_slice());
        }
        if !passed && passes_as_reported {
            let added: Vec<&Tampered> =
                tampered.iter().filter(|one| one.role == Role::Added).collect();
            // A check that passes only with its own new configuration has failed.
            passes_as_reported = added.is_empty();
            let weakenings: Vec<String> = added.iter().map(|one| one.weakening()).collect();
            explain(&mut checks, &weakenings);
            concerns.extend(tampered.iter().map(Tampered::concern));
        }
        if passed {
            let undecided = tampered.iter().filter(|one| one.version == Version::Own);
            concerns.extend(undecided.map(Tampered::concern));
            concerns.extend(self.unread_tests(&changes, &used));
            let first = &self.before.used;
            let removed = first.removed(&changes.files, &self.roles, &tampered, &used);
            concerns.extend(if removed.is_empty() {
                self.removed_sources(&changes, &used)?
            } else {
                removed
            });
            concerns.extend(self.deceptions(&changes, &used));
            concerns.extend(self.changed_by_checks(&used));
            concerns.extend(self.no_clean_room());
        }
        notes.extend(self.before.used.note());
        let paths = changes.files.iter().map(|file| &file.report.path);
        let is_read = |path: &&String| self.before.used.reads(path) || used.reads(path);
        let read = paths.filter(is_read).cloned().collect();
        self.add_review(&mut checks, &changes, limit, report).await?;
        Ok(Verification { checks, changes, read, notes, concerns, passes_as_reported })
    }

    /// Creates a room with the changes of the run, and with other versions of some files.
    fn room(&mut self, changes: &Changes, tampered: &[Tampered]) -> Result<CleanRoom, VerifyError> {
        let originals = tampered.iter().filter(|one| one.version == Version::Original);
        let reverted: BTreeSet<String> = originals.map(|one| one.path.clone()).collect();
        let content = Content::Changed(changes, &reverted);
        let room = self.rooms.create(&self.workspace, content, &self.options)?;
        let originals =
            reverted.iter().map(String::as_str).chain(self.baseline.ignored(&self.roles));
        self.baseline.put_in_place(originals, room.directory())?;
        for one in tampered {
            if let Version::Text(text) = &one.version {
                std::fs::write(room.directory().join(&one.path), text)?;
            }
        }
        Ok(room)
    }

    /// Returns the changes of files that decide the checks, as watching them shows.
    fn changed_evidence(&self, changes: &Changes, last: &Used) -> Vec<Tampered> {
        self.before.used.tampered(&changes.files, &self.roles, last, self.workspace.root())
    }

    /// Returns the tests that the checks do not use any more.
    fn unread_tests(&self, changes: &Changes, last: &Used) -> Vec<Concern> {
        let changed: BTreeSet<&str> =
            changes.files.iter().map(|file| file.report.path.as_str()).collect();
        // The user permitted a change of what decides which files are read.
        let is_permitted = |path: &&str| {
            self.roles.is_permitted_by_task(path)
                && (self.before.used.reads(path) || last.reads(path))
        };
        if last.problem.is_some() || changed.iter().any(is_permitted) {
            return Vec::new();
        }
        evidence::unread(&self.before.used, last, &changed, self.workspace.root())
    }

    /// Returns true if the checks use a file that the run changed, or if that is not known.
    fn is_used(&self, changes: &Changes, last: &Used) -> bool {
        let first = &self.before.used;
        let is_known = first.problem.is_none() && last.problem.is_none();
        let has = |path: &str| !is_known || first.has(path) || last.has(path);
        changes.files.iter().any(|file| has(&file.report.path))
    }

    /// Returns the ignored files that a failed check may miss, because the run wrote them.
    fn note_about_ignored(&self) -> Option<String> {
        let changed = self.rooms.changed_ignored();
        let named = match changed.as_slice() {
            [] => return None,
            [named @ .., last] if named.len() < MOST_NAMED => {
                let mut named = named.to_vec();
                named.push(last.clone());
                named.join(", ")
            }
            all => format!("{} and {} more", all[..MOST_NAMED].join(", "), all.len() - MOST_NAMED),
        };
        Some(format!(
            "git ignores these files, and the checks ran without what the run wrote to them: {named}"
        ))
    }

    /// Makes the reviews, if nothing else failed.
    async fn add_review(
        &self,
        checks: &mut Vec<CheckReport>,
        changes: &Changes,
        limit: Option<Limit>,
        report: Report<'_>,
    ) -> Result<(), VerifyError> {
        for check in &self.checks {
            let Check::Review(one) = check else { continue };
            let reason = match limit {
                Some(limit) => {
                    Some(format!("not reviewed, because the run reached its limit: {limit}"))
                }
                None if checks.iter().all(|check| check.passed) => None,
                None => Some("not reviewed, because another check failed".to_owned()),
            };
            let mut done = if let Some(reason) = reason {
                let (kind, failures) = ("review".to_owned(), vec![reason]);
                CheckReport { kind, skipped: true, failures, ..CheckReport::default() }
            } else {
                let diff = changes.text();
                report(CheckStep::Start(&check.name()));
                let work = Reviewed { goal: &self.goal, diff: &diff, checks };
                let made =
                    review::review(&one.review, work, &self.options, &self.budget, &self.interrupt);
                Box::pin(made).await.map_err(VerifyError::Stopped)?
            };
            done.name = check.name();
            report(CheckStep::End(&done));
            checks.push(done);
        }
        Ok(())
    }
}

/// Returns a remark about the files that the checks had in other versions than the run left.
fn note_about_originals(tampered: &[Tampered]) -> Vec<String> {
    let paths = |is_added: bool| -> Vec<&str> {
        let tests = tampered.iter().filter(|one| one.role == Role::Test);
        let tests = tests.filter(|one| (one.change == "added") == is_added);
        tests.map(|one| one.path.as_str()).collect()
    };
    let note = |text: &str, paths: Vec<&str>| {
        (!paths.is_empty()).then(|| format!("{text}: {}", paths.join(", ")))
    };
    let changed = note("the checks used the original of", paths(false));
    changed.into_iter().chain(note("the checks ran without", paths(true))).collect()
}

/// Adds remarks to the failed commands.
fn explain(checks: &mut [CheckReport], notes: &[String]) {
    for check in checks.iter_mut().filter(|check| check.kind == "command" && !check.passed) {
        check.failures.extend_from_slice(notes);
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

/// Returns the variables that checks need and that are not set.
pub(crate) fn missing_variables(contract: &Contract, environment: &Environment) -> Vec<String> {
    let of_checks = contract.verify.iter().filter_map(|check| match check {
        Check::Command(check) => Some(&check.env),
        _ => None,
    });
    let mut names: Vec<String> = of_checks.flatten().chain(&contract.check_env).cloned().collect();
    names.retain(|name| !environment.variables.contains_key(name));
    names.sort();
    names.dedup();
    names
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
