//! Making the checks in a room.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pi_coding_agent::UserShell;
use pi_tools::checkpoint::covered;
use serde_json::Value;

use super::baseline::{Tampered, is_cache};
use super::before::Before;
use super::command::{Checked, CommandRun};
use super::evidence::Used;
use super::inputs::Role;
use super::room_files::RoomFiles;
use super::{Verifier, VerifyError, files, json, read_text};
use crate::contract::{Check, FileCheck, JsonCheck};
use crate::globs::Pattern;
use crate::report::CheckReport;
use crate::room::CleanRoom;
use crate::workspace::Changes;

/// Most files that are read-only for the checks, each of which is a mount.
const MOST_READ_ONLY: usize = 200;

/// A step of a check.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CheckStep<'a> {
    /// The check with this name begins.
    Start(&'a str),
    /// The check is complete.
    End(&'a CheckReport),
}

/// Receives the steps of checks.
pub(super) type Report<'a> = &'a (dyn Fn(CheckStep<'_>) + Send + Sync);

/// What is checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) changes: &'a Changes,
    pub(super) tampered: &'a [Tampered],
    /// The structured result.
    pub(super) result: Option<&'a Value>,
}

impl Verifier {
    /// Makes the command checks in the room of the start.
    pub(super) async fn make_first(
        &self,
        room: &CleanRoom,
        report: Report<'_>,
    ) -> Result<(Vec<CheckReport>, Before), VerifyError> {
        let shell = self.open_shell(room)?;
        let known = self.deciding_files(room.directory());
        let files = RoomFiles::of(room.directory());
        let (mut reports, mut before) = (Vec::new(), Before::default());
        for (number, check) in self.checks.iter().enumerate() {
            let Check::Command(command) = check else { continue };
            let log = self.logs.join(format!("before-{}.log", number + 1));
            report(CheckStep::Start(&check.name()));
            let run = self.run(&shell, room, &log, None, true);
            let Checked { report: done, tests } =
                run.check(command).await.map_err(VerifyError::Stopped)?;
            if !done.passed {
                before.failed.insert(command.command.clone());
            }
            if let Some(tests) = tests {
                before.tests.insert(command.command.clone(), tests);
            }
            report(CheckStep::End(&done));
            reports.push(done);
        }
        let generated = self.deciding_files(room.directory()).into_iter();
        before.generated = generated.filter(|path| !known.contains(path)).collect();
        before.written = files.written(room.directory());
        let commands = self.checks.iter().filter_map(|check| match check {
            Check::Command(command) => Some(command.command.as_str()),
            _ => None,
        });
        let commands: Vec<&str> = commands.collect();
        before.used = Used::first(shell.take_trace(), &commands, &reports);
        Ok((reports, before))
    }

    /// Makes all checks but reviews. Returns also what the commands used.
    pub(super) async fn make_checks(
        &self,
        room: &CleanRoom,
        name: &str,
        subject: &Subject<'_>,
        report: Report<'_>,
    ) -> Result<(Vec<CheckReport>, Used), VerifyError> {
        let Subject { changes, tampered, result } = *subject;
        let shell = self.open_shell(room)?;
        let changed_at_first = self.baseline.differing(&self.roles, room.directory())?;
        let known = self.deciding_files(room.directory());
        let files = RoomFiles::of(room.directory());
        let mut intruders = BTreeSet::new();
        let mut checks = Vec::new();
        for (number, check) in self.checks.iter().enumerate() {
            if !matches!(check, Check::Review(_)) {
                report(CheckStep::Start(&check.name()));
            }
            let mut done = match check {
                Check::Command(command) => {
                    let log = self.logs.join(format!("{name}-{}.log", number + 1));
                    let before = self.before.tests.get(&command.command).copied();
                    let run = self.run(&shell, room, &log, before, false);
                    let done = run.check(command).await.map_err(VerifyError::Stopped)?.report;
                    intruders.extend(self.remove_intruders(room.directory(), &known)?);
                    done
                }
                Check::Files(check) => check_files(check, room.directory(), changes, tampered)?,
                Check::Json(check) => check_json(check, room.directory(), result),
                Check::Review(_) => continue,
            };
            done.name = check.name();
            report(CheckStep::End(&done));
            checks.push(done);
        }
        let mut used = Used::last(shell.take_trace());
        drop(shell);
        used.written = files.written(room.directory());
        used.absent = self.absent(room.directory());
        let mut messages: Vec<(String, String)> = Vec::new();
        for one in tampered.iter().filter(|one| one.role == Role::Verifier) {
            messages.push((one.path.clone(), one.weakening()));
        }
        for path in self.baseline.differing(&self.roles, room.directory())? {
            if !changed_at_first.contains(&path) {
                let message = format!("{path} was changed while the checks ran");
                messages.push((path, message));
            }
        }
        for path in intruders {
            let message = format!("{path} was added while the checks ran");
            messages.push((path, message));
        }
        if let Some(weakened) = weakened(messages) {
            report(CheckStep::End(&weakened));
            checks.push(weakened);
        }
        Ok((checks, used))
    }

    pub(super) fn run<'a>(
        &'a self,
        shell: &'a UserShell,
        room: &'a CleanRoom,
        log: &'a Path,
        tests_before: Option<u64>,
        is_first: bool,
    ) -> CommandRun<'a> {
        CommandRun {
            shell,
            root: room.directory(),
            budget: &self.budget,
            interrupt: &self.interrupt,
            variables: &self.variables,
            home: self.options.environment().home.as_deref(),
            log,
            tests_before,
            is_first,
        }
    }

    /// Opens a new sandbox in which the originals cannot be written.
    pub(super) fn open_shell(&self, room: &CleanRoom) -> Result<UserShell, VerifyError> {
        let is_file = |path: &&str| {
            room.directory().join(path).symlink_metadata().is_ok_and(|found| found.is_file())
        };
        let fixed = self.baseline.fixed(&self.roles).filter(is_file);
        let mut read_only: Vec<PathBuf> = fixed.map(PathBuf::from).collect();
        if read_only.len() > MOST_READ_ONLY {
            // Their content is compared after the checks.
            read_only.clear();
        }
        Ok(UserShell::open(&self.options, &room.with_read_only(read_only), &self.logs)?)
    }

    /// Returns the files of a room that decide the checks, except for tests.
    fn deciding_files(&self, room: &Path) -> BTreeSet<String> {
        let decides = |path: &String| {
            !is_cache(path)
                && matches!(self.roles.of(path), Some(Role::Protected | Role::Verifier))
                && room.join(path).is_file()
        };
        covered(room).filter(decides).collect()
    }

    /// Removes files that a command wrote to decide the next one. A file that the same commands
    /// wrote before the agent started is not one of them.
    fn remove_intruders(
        &self,
        room: &Path,
        known: &BTreeSet<String>,
    ) -> Result<Vec<String>, VerifyError> {
        let mut intruders: Vec<String> = self.deciding_files(room).into_iter().collect();
        intruders.retain(|path| !known.contains(path) && !self.before.generated.contains(path));
        for path in &intruders {
            std::fs::remove_file(room.join(path))?;
        }
        Ok(intruders)
    }
}

fn check_files(
    check: &FileCheck,
    room: &Path,
    changes: &Changes,
    tampered: &[Tampered],
) -> Result<CheckReport, VerifyError> {
    let existing = |pattern: &Pattern| {
        let walk = ignore::WalkBuilder::new(room)
            .standard_filters(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        walk.flatten().any(|entry| {
            let path = entry.path().strip_prefix(room).ok().and_then(Path::to_str);
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

fn check_json(check: &JsonCheck, room: &Path, result: Option<&Value>) -> CheckReport {
    let value = match &check.file {
        None => result.cloned().ok_or_else(|| "the run has no structured result".to_owned()),
        Some(file) => {
            let shown = file.display();
            let text = read_text(&room.join(file));
            let text = text.ok_or_else(|| format!("{shown} does not exist or is not a text file"));
            text.and_then(|text| {
                serde_json::from_str(&text).map_err(|error| format!("{shown} is not JSON: {error}"))
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

/// Returns a failed check if files of the verifier were changed, by the agent or during the checks.
fn weakened(messages: Vec<(String, String)>) -> Option<CheckReport> {
    if messages.is_empty() {
        return None;
    }
    let mut weakened = CheckReport {
        name: "verification".to_owned(),
        kind: "files".to_owned(),
        ..CheckReport::default()
    };
    for (path, message) in messages {
        weakened.findings.push(files::finding("verification", &path, &message));
        weakened.failures.push(message);
    }
    Some(weakened)
}
