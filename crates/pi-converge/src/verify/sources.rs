//! Changes inside of source files that decide checks: their tests, and remarks that silence a tool.
//!
//! The checks are made with a version of the source that has the work of the run, the original tests
//! and none of the added remarks.

use std::collections::BTreeSet;

use super::baseline::{Tampered, Version};
use super::evidence::Used;
use super::inline::{self, InlineChange};
use super::inputs::{Role, is_source};
use super::{Verifier, VerifyError, goal, suppression};
use crate::contract::Check;
use crate::report::Concern;
use crate::room::REPOSITORY;
use crate::workspace::{ChangedFile, Changes};

const IN_TESTS: &str = "changed in its tests";

impl Verifier {
    /// Returns the source files whose changes decide checks, with the versions that the checks use.
    pub(super) fn changed_sources(&self, changes: &Changes) -> Result<Vec<Tampered>, VerifyError> {
        let mut tampered = Vec::new();
        if !self.checks.iter().any(|check| matches!(check, Check::Command(_))) {
            return Ok(tampered);
        }
        for file in changes.files.iter().filter(|file| file.report.change != "removed") {
            let path = &file.report.path;
            if self.roles.of(path).is_some() || self.roles.is_permitted_by_task(path) {
                continue;
            }
            let Some((old, new)) = self.workspace.texts(path, changes.state)? else { continue };
            // A new file has no tests that could have been changed.
            let inline = match file.report.change.as_str() {
                "changed" => inline::compare(path, &old, &new),
                _ => None,
            };
            tampered.extend(decides(path, &old, &new, inline));
        }
        Ok(tampered)
    }

    /// Returns the state of the repository if the run changed it and the goal says nothing about it: a
    /// file that is not in the index, or a branch that was moved, can decide a check.
    pub(super) fn changed_repository(&self) -> Result<Option<Tampered>, VerifyError> {
        let has_command = self.checks.iter().any(|check| matches!(check, Check::Command(_)));
        let is_asked_for =
            goal::is_about_repository(&self.goal) || self.roles.is_permitted_by_task(REPOSITORY);
        if !has_command || is_asked_for || !self.rooms.has_other_repository(&self.workspace)? {
            return Ok(None);
        }
        let change = "changed in its index or branches";
        Ok(Some(Tampered::new(REPOSITORY, Role::Test, change)))
    }

    /// Returns the sources that the checks read before the run and that it removed, unless it moved
    /// their content to other files that the checks read: the checks may pass because there is less
    /// to check.
    pub(super) fn removed_sources(
        &self,
        changes: &Changes,
        last: &Used,
    ) -> Result<Vec<Concern>, VerifyError> {
        let has_change = |file: &&ChangedFile, change: &str| file.report.change == change;
        let removed = changes.files.iter().filter(|file| {
            let path = file.report.path.as_str();
            has_change(file, "removed")
                && is_source(path)
                && self.before.used.reads(path)
                && !self.roles.is_permitted(path)
        });
        let removed: Vec<&str> = removed.map(|file| file.report.path.as_str()).collect();
        let (mut lost, mut written) = (Vec::new(), BTreeSet::new());
        if removed.is_empty() {
            return Ok(lost);
        }
        // What no check reads takes the place of nothing.
        let is_read = |file: &&ChangedFile| last.problem.is_some() || last.reads(&file.report.path);
        let kept = changes.files.iter().filter(|file| !has_change(file, "removed"));
        for file in kept.filter(is_read) {
            if let Some((_, text)) = self.workspace.texts(&file.report.path, changes.state)? {
                written.extend(text.lines().map(|line| line.trim().to_owned()));
            }
        }
        for path in removed {
            let Some((text, _)) = self.workspace.texts(path, changes.state)? else { continue };
            let lines: Vec<&str> =
                text.lines().map(str::trim).filter(|line| line.len() > 2).collect();
            let moved = lines.iter().filter(|line| written.contains(**line)).count();
            if !lines.is_empty() && moved * 2 < lines.len() {
                let reason = "the checks read this file before the run, and pass without it";
                lost.push(Concern::new(Some(path.to_owned()), reason));
            }
        }
        Ok(lost)
    }
}

fn decides(path: &str, old: &str, new: &str, inline: Option<InlineChange>) -> Option<Tampered> {
    let (change, restored) = match inline {
        Some(InlineChange::Unrestorable) => {
            let mut tampered = Tampered::new(path, Role::Test, IN_TESTS);
            tampered.version = Version::Own;
            return Some(tampered);
        }
        Some(InlineChange::Restored(text)) => (IN_TESTS, Some(text)),
        None => ("given remarks that silence a tool", None),
    };
    let work = restored.as_deref().unwrap_or(new);
    let loud = if is_source(path) { suppression::without_added(old, work) } else { None };
    let mut tampered = Tampered::new(path, Role::Test, change);
    tampered.version = Version::Text(loud.or(restored)?);
    Some(tampered)
}
