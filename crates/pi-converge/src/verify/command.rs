//! Command checks: running a command within its limits, and judging what it did.

use std::path::Path;
use std::time::Duration;

use pi_agent::{Budget, CancelToken, Limit};
use pi_coding_agent::UserShell;
use regex_lite::Regex;
use tokio::time::Instant;

use super::denied::denied;
use super::{counts, junit};
use crate::contract::{Check, CommandCheck};
use crate::report::{CheckReport, Denied, Finding};

/// Time limit of a command that has none of its own.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Bytes of output that a report contains.
const SHOWN: usize = 8 * 1024;
/// Bytes at the end of the output in which the summary of a test runner is.
const SUMMARY: usize = 256 * 1024;
/// Largest JUnit file that is read.
const MOST_READ: u64 = 16 << 20;

/// Something outside of a check that ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// A limit of the run.
    Limit(Limit),
    /// The user or a signal.
    Interrupted,
}

/// The surroundings of a command.
#[derive(Debug)]
pub(super) struct CommandRun<'a> {
    pub(super) shell: &'a UserShell,
    pub(super) root: &'a Path,
    pub(super) budget: &'a Budget,
    pub(super) interrupt: &'a CancelToken,
    /// Variables that all checks get although they look like secrets.
    pub(super) variables: &'a [String],
    /// Home directory of the user.
    pub(super) home: Option<&'a Path>,
    /// File that receives the output.
    pub(super) log: &'a Path,
    /// Number of tests that the command ran before the agent started.
    pub(super) tests_before: Option<u64>,
    /// True for the run before the agent starts, which has nothing to compare with.
    pub(super) is_first: bool,
}

/// The result of a command check.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) report: CheckReport,
    /// Number of tests that the command ran, if it is known.
    pub(super) tests: Option<u64>,
}

enum End {
    Exited(Option<i32>),
    TimedOut,
    Failed(String),
}

impl CommandRun<'_> {
    /// Runs a command and judges it.
    pub(super) async fn check(&self, check: &CommandCheck) -> Result<Checked, Stopped> {
        let started = Instant::now();
        let mut failures = Vec::new();
        if let Some(file) = &check.expect.junit
            && let Err(problem) = self.remove_old(file)
        {
            failures.push(problem);
        }
        let (end, output) = self.run(check).await?;
        let mut report = CheckReport {
            name: Check::Command(check.clone()).name(),
            kind: "command".to_owned(),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            ..CheckReport::default()
        };
        match end {
            End::Exited(code) => {
                report.exit_code = code;
                if code != Some(check.expect.exit) {
                    let code =
                        code.map_or("no exit code".to_owned(), |code| format!("exit code {code}"));
                    failures.push(format!("{code}, expected {}", check.expect.exit));
                }
            }
            End::TimedOut => {
                let limit = check.timeout.map_or(TIMEOUT, |time| time.0);
                failures
                    .push(format!("the command was killed after {}", crate::contract::Time(limit)));
            }
            End::Failed(problem) => failures.push(problem),
        }
        failures.extend(output_failures(check, &output));
        // A summary is at the end.
        let mut tests = counts::tests_run(tail(&output, SUMMARY));
        if let Some(file) = &check.expect.junit {
            match self.read_junit(file) {
                Ok(found) => {
                    tests = Some(found.run);
                    failures.extend(junit_failures(&found));
                    report.findings = found.failed.iter().map(finding).collect();
                }
                Err(problem) => failures.push(problem),
            }
        }
        if !self.is_first && failures.is_empty() && !check.expect.fewer_tests {
            failures.extend(fewer_tests(tests, self.tests_before));
        }
        report.passed = failures.is_empty();
        let denied = denied(self.shell, self.home, check, &self.variables(check), &output);
        if !report.passed {
            failures.extend(denied.iter().map(Denied::to_string));
            report.denied = denied;
        }
        report.failures = failures;
        report.output = Some(tail(&output, SHOWN).to_owned());
        Ok(Checked { report, tests })
    }

    /// Returns the variables that a command gets although they look like secrets.
    fn variables(&self, check: &CommandCheck) -> Vec<String> {
        self.variables.iter().chain(&check.env).cloned().collect()
    }

    /// Runs a command until it ends, its time is over or something else ends it.
    async fn run(&self, check: &CommandCheck) -> Result<(End, String), Stopped> {
        let timeout = check.timeout.map_or(TIMEOUT, |time| time.0);
        let cancel = CancelToken::new();
        let (chunks, mut received) = tokio::sync::mpsc::channel(16);
        let draining = async {
            while received.recv().await.is_some() {
                self.budget.activity();
            }
        };
        self.budget.activity();
        let variables = self.variables(check);
        let running = async {
            let running = self.shell.run(&check.command, &variables, &cancel, chunks);
            let (ended, ()) = tokio::join!(running, draining);
            ended
        };
        let stopping = async {
            tokio::select! {
                () = tokio::time::sleep(timeout) => None,
                limit = passed_limit(self.budget) => Some(Stopped::Limit(limit)),
                () = self.interrupt.cancelled() => Some(Stopped::Interrupted),
            }
        };
        tokio::pin!(running, stopping);
        let mut stopped = None;
        let ended = loop {
            tokio::select! {
                biased;
                ended = &mut running => break ended,
                stop = &mut stopping, if stopped.is_none() => {
                    stopped = Some(stop);
                    cancel.cancel();
                }
            }
        };
        if let Some(Some(stopped)) = stopped {
            return Err(stopped);
        }
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => return Ok((End::Failed(error.to_string()), String::new())),
        };
        let end = if stopped.is_some() { End::TimedOut } else { End::Exited(ended.exit_code) };
        let saved = match &ended.full_output_path {
            Some(path) if ended.truncated => {
                read_output(path).map(|all| self.shell.redact(&all, &variables))
            }
            _ => None,
        };
        // The saved output is bounded, and its end is in the result.
        let output = match saved {
            Some(saved) if saved.ends_with(ended.output.trim_end()) => saved,
            Some(saved) => format!("{saved}\n[cut]\n{}", ended.output),
            None => ended.output,
        };
        // The log is a convenience: the report has the end of the output.
        let _ = std::fs::write(self.log, &output);
        Ok((end, output))
    }

    /// Removes an old JUnit file, so that only the command can have written the new one.
    fn remove_old(&self, file: &Path) -> Result<(), String> {
        let path = self.inside(file)?;
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => Err(format!("{} is a directory", file.display())),
            Ok(_) => std::fs::remove_file(&path)
                .map_err(|error| format!("the old {} cannot be removed: {error}", file.display())),
            Err(_) => Ok(()),
        }
    }

    fn read_junit(&self, file: &Path) -> Result<junit::Junit, String> {
        let path = self.inside(file)?;
        let shown = file.display();
        let metadata = std::fs::symlink_metadata(&path)
            .map_err(|_| format!("the command did not write the JUnit file {shown}"))?;
        if !metadata.is_file() || metadata.len() > MOST_READ {
            return Err(format!("the JUnit file {shown} is not a regular file or too large"));
        }
        let content = std::fs::read(&path).map_err(|error| format!("{shown}: {error}"))?;
        let parsed = junit::parse(&String::from_utf8_lossy(&content));
        parsed.map_err(|problem| format!("the JUnit file {shown} is invalid: {problem}"))
    }

    /// Returns the path of a file that must be in the workspace.
    fn inside(&self, file: &Path) -> Result<std::path::PathBuf, String> {
        let path = self.root.join(file);
        let is_inside = path.starts_with(self.root)
            && !file.components().any(|part| part == std::path::Component::ParentDir)
            && !path
                .ancestors()
                .skip(1)
                .take_while(|above| *above != self.root)
                .any(Path::is_symlink);
        if is_inside {
            Ok(path)
        } else {
            Err(format!("{} is not in the workspace", file.display()))
        }
    }
}

/// Reads saved output, which is bounded.
fn read_output(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn output_failures(check: &CommandCheck, output: &str) -> Vec<String> {
    let mut failures = Vec::new();
    let found = |pattern: &String| match Regex::new(pattern) {
        Ok(regex) => Ok(regex.is_match(output)),
        Err(error) => Err(format!("invalid pattern {pattern:?}: {error}")),
    };
    if let Some(pattern) = &check.expect.output_matches {
        match found(pattern) {
            Ok(true) => {}
            Ok(false) => failures.push(format!("the output does not match {pattern:?}")),
            Err(problem) => failures.push(problem),
        }
    }
    if let Some(pattern) = &check.expect.output_lacks {
        match found(pattern) {
            Ok(false) => {}
            Ok(true) => failures.push(format!("the output matches {pattern:?}, but must not")),
            Err(problem) => failures.push(problem),
        }
    }
    failures
}

fn junit_failures(junit: &junit::Junit) -> Option<String> {
    if !junit.failed.is_empty() {
        let names: Vec<&str> = junit.failed.iter().take(5).map(|(name, _)| name.as_str()).collect();
        let more = junit.failed.len().saturating_sub(5);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Some(format!("tests failed: {}{more}", names.join(", ")));
    }
    (junit.run == 0).then(|| "the JUnit file has no test that ran".to_owned())
}

fn finding((name, message): &(String, String)) -> Finding {
    Finding {
        rule: name.clone(),
        level: "error".to_owned(),
        message: tail(message, 1000).to_owned(),
        ..Finding::default()
    }
}

/// Adds the failure of a command that passed and ran fewer tests than before the run, if that became
/// known later.
pub(super) fn compare_tests(check: &CommandCheck, done: &mut CheckReport, before: Option<u64>) {
    let now = done.output.as_deref().and_then(counts::tests_run);
    if done.passed && !check.expect.fewer_tests {
        done.failures.extend(fewer_tests(now, before));
        done.passed = done.failures.is_empty();
    }
}

/// Returns the failure of a command that passed and ran fewer tests than before the run.
fn fewer_tests(now: Option<u64>, before: Option<u64>) -> Option<String> {
    match (now, before) {
        (Some(0), Some(0)) => None,
        (Some(0), _) => Some("verification was weakened: no test ran".to_owned()),
        (Some(now), Some(before)) if now < before => {
            Some(format!("verification was weakened: {now} tests ran, and {before} before the run"))
        }
        (None, Some(before)) if before > 0 => Some(format!(
            "verification was weakened: no tests are reported, and {before} ran before the run"
        )),
        _ => None,
    }
}

/// Waits until a limit of the run has passed.
async fn passed_limit(budget: &Budget) -> Limit {
    loop {
        if let Some(limit) = budget.overdue() {
            return limit;
        }
        match budget.next_deadline() {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}

/// Returns the end of a text, from the beginning of a line if possible.
pub(super) fn tail(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = &text[text.ceil_char_boundary(text.len() - most)..];
    end.find('\n').map_or(end, |line| &end[line + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_tests_are_a_weakening() {
        let cases = [
            (Some(3), Some(3), false),
            (Some(4), Some(3), false),
            (Some(2), Some(3), true),
            (Some(0), Some(3), true),
            (Some(0), Some(0), false),
            (Some(0), None, true),
            (None, Some(3), true),
            (None, Some(0), false),
            (None, None, false),
            (Some(1), None, false),
        ];
        for (now, before, expected) in cases {
            assert_eq!(fewer_tests(now, before).is_some(), expected, "{now:?} {before:?}");
        }
    }

    #[test]
    fn the_tail_begins_with_a_line() {
        for (text, most, expected) in
            [("abc", 3, "abc"), ("abc\ndef", 5, "def"), ("abcdef", 3, "def"), ("ééé", 3, "é")]
        {
            assert_eq!(tail(text, most), expected);
        }
    }
}
