//! The report for GitHub Actions: annotations, and the outputs of a step.

use std::fmt::Write as _;

use super::{CheckReport, Finding, Report};
use crate::outcome::Outcome;

/// Characters of a message in an annotation.
const MESSAGE: usize = 2_000;

impl Report {
    /// Returns workflow commands, one per line: an annotation for each finding and failed check.
    pub fn to_github_annotations(&self) -> String {
        let mut out = String::new();
        for check in &self.checks {
            annotate_check(check, &mut out);
        }
        let has_failed = self.checks.iter().any(CheckReport::failed);
        if self.outcome != Outcome::Converged && !has_failed {
            let title = format!("pi run: {}", self.outcome);
            command("error", &[("title", &title)], &self.reason, &mut out);
        }
        if let Some(error) = self.publication.as_ref().and_then(|one| one.error.as_ref()) {
            command("error", &[("title", "pi run: no pull request")], error, &mut out);
        }
        if self.proves_nothing {
            let message = "No check failed before the run, so they prove nothing.";
            command("warning", &[("title", "pi run")], message, &mut out);
        }
        out
    }

    /// Returns the outputs of a step, in the format of `$GITHUB_OUTPUT`. The delimiter is random, so
    /// that no value can end itself and begin another output.
    pub fn to_github_outputs(&self) -> String {
        let report = self.directory.as_ref().map(|path| path.join("report.json"));
        let report = report.map(|path| path.display().to_string());
        let result = self.result.as_ref().map(ToString::to_string);
        let values = [
            ("outcome", Some(self.outcome.name().to_owned())),
            ("exit-code", Some(self.exit_code.to_string())),
            ("reason", Some(self.reason.clone())),
            ("cost", Some(format!("{:.6}", self.limits.spent.cost))),
            ("run", Some(self.id.clone())),
            ("report", report),
            ("pull-request", self.publication.as_ref().and_then(|one| one.url.clone())),
            ("text", self.text.clone()),
            ("result", result),
        ];
        let mut out = String::new();
        for (name, value) in values {
            let Some(value) = value else { continue };
            let delimiter = format!("pi-{}", uuid::Uuid::new_v4());
            // Writing to a string cannot fail.
            let _ = write!(out, "{name}<<{delimiter}\n{value}\n{delimiter}\n");
        }
        out
    }
}

fn annotate_check(check: &CheckReport, out: &mut String) {
    let title = format!("Check failed: {}", check.name);
    for finding in &check.findings {
        annotate_finding(finding, &check.name, out);
    }
    let has_error = check.findings.iter().any(|finding| finding.level == "error");
    if check.failed() && !has_error {
        command("error", &[("title", &title)], &check.failures.join("\n"), out);
    }
}

fn annotate_finding(finding: &Finding, check: &str, out: &mut String) {
    let level = match finding.level.as_str() {
        "error" => "error",
        "note" => "notice",
        _ => "warning",
    };
    let line = finding.line.map(|line| line.to_string()).unwrap_or_default();
    let title = if finding.rule.is_empty() { check } else { &finding.rule };
    let properties = [
        ("file", finding.file.as_deref().unwrap_or_default()),
        ("line", line.as_str()),
        ("title", title),
    ];
    command(level, &properties, &finding.message, out);
}

/// Adds a workflow command.
fn command(name: &str, properties: &[(&str, &str)], message: &str, out: &mut String) {
    let given = properties.iter().filter(|(_, value)| !value.is_empty());
    let properties: Vec<String> =
        given.map(|(name, value)| format!("{name}={}", property(value))).collect();
    let message: String = message.chars().take(MESSAGE).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "::{name} {}::{}", properties.join(","), data(&message));
}

/// Escapes the message of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
