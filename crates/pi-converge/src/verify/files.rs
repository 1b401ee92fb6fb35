//! File checks: which files a run may and must change.

use super::baseline::Tampered;
use super::inputs::Role;
use crate::contract::FileRules;
use crate::globs::Pattern;
use crate::report::Finding;
use crate::workspace::Changes;

/// Most files that a failure names.
const MOST_NAMED: usize = 10;

/// The failures of a file check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileFailures {
    pub(super) failures: Vec<String>,
    pub(super) findings: Vec<Finding>,
}

/// Applies the rules to the changes of a run. `existing` returns true if a file of the workspace
/// matches a pattern.
pub(super) fn check(
    rules: &FileRules,
    changes: &Changes,
    tampered: &[Tampered],
    existing: &dyn Fn(&Pattern) -> bool,
) -> Result<FileFailures, globset::Error> {
    let mut found = FileFailures::default();
    let paths: Vec<&str> = changes.files.iter().map(|file| file.report.path.as_str()).collect();
    for pattern in Pattern::all(&rules.required)? {
        if !paths.iter().any(|path| pattern.matches(path)) {
            found.failures.push(format!("no change matches {}, which is required", pattern.text));
        }
    }
    let forbidden = Pattern::all(&rules.forbidden)?;
    found.add(
        "files.forbidden",
        "must not change",
        paths.iter().filter(|path| forbidden.iter().any(|pattern| pattern.matches(path))),
    );
    let allowed = Pattern::all(&rules.allowed)?;
    if !allowed.is_empty() {
        let is_outside = |path: &&&str| !allowed.iter().any(|pattern| pattern.matches(path));
        found.add(
            "files.allowed",
            "is not among the files that may change",
            paths.iter().filter(is_outside),
        );
    }
    let protected = Pattern::all(&rules.protected)?;
    for one in tampered.iter().filter(|one| one.role == Role::Protected) {
        if protected.iter().any(|pattern| pattern.matches(&one.path)) {
            let message = format!("{} is protected and was {}", one.path, one.change);
            found.findings.push(finding("files.protected", &one.path, &message));
            found.failures.push(message);
        }
    }
    for pattern in Pattern::all(&rules.exist)? {
        if !existing(&pattern) {
            found.failures.push(format!("no file matches {}", pattern.text));
        }
    }
    let lines = changes.lines();
    if let Some(most) = rules.max_diff_lines.filter(|most| lines > *most) {
        found
            .failures
            .push(format!("{lines} lines were added or removed, and {most} are permitted"));
    }
    let count = changes.files.len() as u64;
    if let Some(most) = rules.max_files.filter(|most| count > *most) {
        found.failures.push(format!("{count} files were changed, and {most} are permitted"));
    }
    Ok(found)
}

impl FileFailures {
    fn add<'a>(&mut self, rule: &str, problem: &str, paths: impl Iterator<Item = &'a &'a str>) {
        let mut left_out = 0_usize;
        for (number, path) in paths.enumerate() {
            if number >= MOST_NAMED {
                left_out += 1;
                continue;
            }
            let message = format!("{path} {problem}");
            self.findings.push(finding(rule, path, &message));
            self.failures.push(message);
        }
        if left_out > 0 {
            self.failures.push(format!("{left_out} more files: the same"));
        }
    }
}

pub(super) fn finding(rule: &str, path: &str, message: &str) -> Finding {
    Finding {
        rule: rule.to_owned(),
        level: "error".to_owned(),
        message: message.to_owned(),
        file: Some(path.to_owned()),
        ..Finding::default()
    }
}
