//! The report for readers: a few lines for a terminal, and Markdown.

use std::fmt::Write as _;

use pi_base::text::{self, one_line};

use super::{CheckReport, Report};

/// Number of actions and files that the summary lists.
const LISTED: usize = 20;
/// Characters of the output of a check in Markdown.
const OUTPUT: usize = 4_000;

impl Report {
    /// Returns the summary for a terminal, one fact per line.
    pub fn to_text(&self) -> String {
        let mut lines = vec![format!("{}: {}", self.outcome, one_line(&self.reason))];
        let passed = self.checks.iter().filter(|check| check.passed).count();
        if !self.checks.is_empty() {
            lines.push(format!("checks: {passed} of {} passed", self.checks.len()));
        }
        if self.proves_nothing && self.has_checks() {
            lines.push("warning: no check failed before the run, so they prove nothing".to_owned());
        }
        lines.push(format!("used: {}", self.consumption()));
        if !self.files.is_empty() {
            let (added, removed) = self.changed_lines();
            let count = counted(self.files.len(), "file", "files");
            lines.push(format!("changed: {count}, +{added} -{removed} lines"));
        }
        let refused = self.refused();
        if refused > 0 {
            lines.push(format!("refused: {}", counted(refused, "action", "actions")));
        }
        lines.extend(
            self.publication.as_ref().map(|publication| one_line(&publication.to_string())),
        );
        lines.extend(self.problems.iter().map(|problem| format!("note: {}", one_line(problem))));
        if let Some(directory) = &self.directory {
            lines.push(format!("report: {}", directory.join("report.json").display()));
        }
        lines.join("\n") + "\n"
    }

    /// Returns the summary as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        let name = self.name.as_deref().unwrap_or("pi run");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "## {}: {}\n\n{}\n", line(name), self.outcome, line(&self.reason));
        let _ = writeln!(text, "> {}\n", line(&self.goal));
        if let Some(publication) = &self.publication {
            let _ = writeln!(text, "{}\n", line(&publication.to_string()));
        }
        if self.proves_nothing && self.has_checks() {
            text.push_str("**No check failed before the run, so they prove nothing.**\n\n");
        }
        if !self.checks.is_empty() {
            text.push_str("| Check | Result | Time |\n|---|---|---|\n");
            for check in &self.checks {
                let result = match (check.passed, check.skipped) {
                    (true, _) => "passed",
                    (false, true) => "skipped",
                    (false, false) => "**failed**",
                };
                let (name, time) = (cell(&check.name), seconds(check.duration_ms));
                let _ = writeln!(text, "| {name} | {result} | {time} s |");
            }
            text.push('\n');
        }
        self.checks
            .iter()
            .filter(|check| check.failed())
            .for_each(|check| failed(check, &mut text));
        let _ = writeln!(text, "Used: {}.\n", self.consumption());
        self.list_files(&mut text);
        self.list_actions(&mut text);
        for problem in &self.problems {
            let _ = writeln!(text, "- {}", line(problem));
        }
        text
    }

    fn list_files(&self, text: &mut String) {
        if self.files.is_empty() {
            return;
        }
        text.push_str("| File | Change | Lines |\n|---|---|---|\n");
        for file in self.files.iter().take(LISTED) {
            let (path, change) = (cell(&file.path), &file.change);
            let _ = writeln!(text, "| {path} | {change} | +{} -{} |", file.added, file.removed);
        }
        rest(self.files.len(), text);
    }

    /// Lists the actions that did not simply run.
    fn list_actions(&self, text: &mut String) {
        let refused: Vec<_> = self.actions.iter().filter(|one| one.decision == "refused").collect();
        if refused.is_empty() {
            return;
        }
        text.push_str("| Refused action | Reason |\n|---|---|\n");
        for action in refused.iter().take(LISTED) {
            let what = cell(&format!("{} {}", action.tool, action.what));
            let _ = writeln!(text, "| {what} | {} |", cell(&action.reasons.join("; ")));
        }
        rest(refused.len(), text);
    }

    /// Describes the consumption in one line.
    pub fn consumption(&self) -> String {
        let spent = &self.limits.spent;
        format!(
            "{}, {}, {} tokens, ${:.4}, {} s",
            counted(spent.turns as usize, "request", "requests"),
            counted(spent.tool_calls as usize, "tool call", "tool calls"),
            spent.tokens,
            spent.cost,
            spent.wall_time.as_secs()
        )
    }

    fn changed_lines(&self) -> (u64, u64) {
        let add = |(added, removed), file: &super::FileReport| {
            (added + file.added, removed + file.removed)
        };
        self.files.iter().fold((0, 0), add)
    }

    fn has_checks(&self) -> bool {
        !self.checks.is_empty() || !self.before.is_empty()
    }

    fn refused(&self) -> usize {
        self.actions.iter().filter(|action| action.decision == "refused").count()
    }
}

fn failed(check: &CheckReport, text: &mut String) {
    let _ = writeln!(text, "### {}\n", line(&check.name));
    for failure in &check.failures {
        let _ = writeln!(text, "- {}", line(failure));
    }
    if let Some(output) = &check.output
        && !output.trim().is_empty()
    {
        let output = text::clean(end(output.trim_end(), OUTPUT));
        let fence = fence(&output);
        let _ = writeln!(text, "\n{fence}\n{output}\n{fence}");
    }
    text.push('\n');
}

/// Returns a fence that the text does not contain.
fn fence(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    fence
}

/// Returns the last part of a text.
fn end(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

fn rest(count: usize, text: &mut String) {
    if count > LISTED {
        let _ = writeln!(text, "\nand {} more", count - LISTED);
    }
    text.push('\n');
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns a text as one line without markup that starts a block or an element.
fn line(text: &str) -> String {
    one_line(text).replace('<', "&lt;")
}

/// Returns a text for a cell of a table.
fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{}", milliseconds / 1000, milliseconds % 1000 / 100)
}
