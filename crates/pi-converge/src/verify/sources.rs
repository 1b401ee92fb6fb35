//! Changes inside of source files that decide checks: their tests, and remarks that silence a tool.
//!
//! The checks are made with a version of the source that has the work of the run, the original tests
//! and none of the added remarks.

use super::baseline::{Tampered, Version};
use super::inline::{self, InlineChange};
use super::inputs::{Role, is_source};
use super::{Verifier, VerifyError, suppression};
use crate::contract::Check;
use crate::workspace::Changes;

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
