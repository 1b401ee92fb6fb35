//! Detection of agents that repeat themselves or make no progress.
//!
//! The detector judges effects, not spelling: the content of files, the results of tool calls
//! without numbers and times, and the failures of checks. Each signal is a counter. At about 60 % of
//! its limit the agent gets a note that says what repeats; at the limit the run ends with evidence.
//!
//! A call that was not made before explores: reading one more table, or searching for one more name,
//! is work, although the results look alike. Turns of such calls have a limit of their own.
//!
//! The detector is pure. `files` reads the workspace, and `watch` connects both to a session.

mod files;
mod fingerprint;
mod note;
mod streak;
#[cfg(test)]
mod tests;
mod waiting;
mod watch;

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use watch::Watch;

use crate::contract::StuckLimits;
use crate::report::CheckReport;
use fingerprint::Fingerprint;
use streak::Streak;

/// Turns that only explore count as many times less than turns that repeat earlier calls.
const EXPLORING: u32 = 5;

/// A sign that an agent is stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StuckSignal {
    /// The same tool calls in a row, with the same results.
    IdenticalCalls,
    /// Tool calls in a row that fail with the same error.
    SameError,
    /// A file returns to earlier contents again and again.
    OscillatingEdits,
    /// Turns in a row without a new file content or a new tool result.
    NoProgress,
    /// Rounds in a row whose checks fail in the same way.
    SameFailure,
}

/// The evidence that an agent is stuck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StuckEvidence {
    /// The signal that ended the run.
    pub signal: StuckSignal,
    /// The number of repetitions.
    pub count: u32,
    /// The limit of the contract.
    pub limit: u32,
    /// What repeats: the calls, the file, or the failed checks.
    pub what: Vec<String>,
    /// The result that repeats, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// The judgment about a turn or a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Judgment {
    Progress,
    /// The agent should get this note.
    Note(String),
    Stuck(StuckEvidence),
}

/// A tool call with its result.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallRecord {
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    /// Scripts that the call ran.
    pub(crate) scripts: Vec<String>,
    pub(crate) result: String,
    pub(crate) is_error: bool,
}

/// A change of a file: hashes of the contents before and after; `None` if there is no file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// The memory of one attempt. The state of a run has it, so that a resumed run goes on counting.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Detector {
    limits: StuckLimits,
    /// Results seen so far.
    results: HashSet<Fingerprint>,
    /// Contents of each file that changed, and its returns to earlier ones.
    contents: HashMap<String, (HashSet<Option<String>>, Streak)>,
    identical: Streak,
    last_calls: Option<Vec<Fingerprint>>,
    error: Streak,
    last_error: Option<Fingerprint>,
    /// Turns without a new call, a new result or a new content.
    stale: Streak,
    /// Turns without a new result or a new content.
    #[serde(default = "Streak::off")]
    exploring: Streak,
    /// Calls so far, without their results.
    #[serde(default)]
    calls: HashSet<Fingerprint>,
    failure: Streak,
    last_failure: Option<(usize, Fingerprint)>,
}

impl Detector {
    pub(crate) fn new(limits: StuckLimits) -> Self {
        Self {
            identical: Streak::new(limits.identical_calls),
            error: Streak::new(limits.same_error),
            stale: Streak::new(limits.turns_without_progress),
            exploring: Streak::new(limits.turns_without_progress.saturating_mul(EXPLORING)),
            calls: HashSet::new(),
            failure: Streak::new(limits.same_failure),
            limits,
            results: HashSet::new(),
            contents: HashMap::new(),
            last_calls: None,
            last_error: None,
            last_failure: None,
        }
    }

    /// Judges a turn with tool calls.
    pub(crate) fn turn(&mut self, calls: &[CallRecord], changes: &[FileChange]) -> Judgment {
        let (has_new_content, oscillation) = self.record_changes(changes);
        if let Some(judgment) = oscillation {
            return judgment;
        }
        if calls.is_empty() {
            return Judgment::Progress;
        }
        let is_news = |call: &CallRecord| {
            let result = Fingerprint::of_result(call);
            !result.is_empty() && self.results.insert(result)
        };
        // All results are recorded, not only up to the first new one.
        let has_new_result = calls.iter().map(is_news).fold(false, |any, new| any | new);
        let is_unknown = |call: &CallRecord| self.calls.insert(Fingerprint::of_request(call));
        let explores = calls.iter().map(is_unknown).fold(false, |any, new| any | new);
        let has_progress = has_new_result || has_new_content;
        if calls.iter().any(|call| waiting::is_waiting(call, &self.limits.polling)) {
            self.end_streaks();
            return Judgment::Progress;
        }
        let judgments = [
            self.identical_calls(calls, has_new_content),
            self.same_error(calls, has_new_content),
            self.no_progress(calls, has_progress, explores),
        ];
        let stuck = judgments.iter().position(|one| matches!(one, Judgment::Stuck(_)));
        let note = judgments.iter().position(|one| matches!(one, Judgment::Note(_)));
        let decisive = stuck.or(note).unwrap_or(0);
        judgments.into_iter().nth(decisive).unwrap_or(Judgment::Progress)
    }

    /// Judges a round of verification by its failed checks.
    pub(crate) fn round(&mut self, checks: &[CheckReport]) -> Judgment {
        let failed: Vec<&CheckReport> = checks.iter().filter(|check| !check.passed).collect();
        let failure = (failed.len(), Fingerprint::of_failures(&failed));
        if self.last_failure.as_ref().is_some_and(|(count, _)| failure.0 < *count) {
            self.stale.end();
            self.exploring.end();
        }
        let is_same = self.last_failure.as_ref() == Some(&failure);
        self.last_failure = Some(failure);
        if failed.is_empty() {
            self.failure.end();
            return Judgment::Progress;
        }
        let what = || failed.iter().map(|check| check.name.clone()).collect();
        let result = || failed.first().and_then(|check| check.output.clone());
        self.failure.count(is_same, StuckSignal::SameFailure, what, result)
    }

    fn end_streaks(&mut self) {
        self.last_calls = None;
        self.last_error = None;
        for streak in [&mut self.identical, &mut self.error, &mut self.stale, &mut self.exploring] {
            streak.end();
        }
    }

    /// Records changes of files. Returns true if a content is new, and the judgment if a file only
    /// changes between known contents.
    fn record_changes(&mut self, changes: &[FileChange]) -> (bool, Option<Judgment>) {
        let mut has_new_content = false;
        let mut judgment = None;
        for change in changes {
            let limit = self.limits.oscillating_edits;
            let (contents, returns) = self
                .contents
                .entry(change.path.clone())
                .or_insert_with(|| (HashSet::from([change.before.clone()]), Streak::new(limit)));
            if contents.insert(change.after.clone()) {
                has_new_content = true;
                returns.end();
                continue;
            }
            // The first return is the first repetition, so nothing precedes it.
            let what = || vec![change.path.clone()];
            let judged = returns.add(StuckSignal::OscillatingEdits, what, || None);
            if judged != Judgment::Progress {
                judgment = Some(judged);
            }
        }
        (has_new_content, judgment)
    }

    fn identical_calls(&mut self, calls: &[CallRecord], has_new_content: bool) -> Judgment {
        let mut keys: Vec<Fingerprint> = calls.iter().map(Fingerprint::of_call).collect();
        keys.sort();
        keys.dedup();
        let is_same = self.last_calls.as_ref() == Some(&keys) && !has_new_content;
        self.last_calls = Some(keys);
        self.identical.count(
            is_same,
            StuckSignal::IdenticalCalls,
            || described(calls),
            || result(calls),
        )
    }

    fn same_error(&mut self, calls: &[CallRecord], has_new_content: bool) -> Judgment {
        let mut errors: Vec<Fingerprint> =
            calls.iter().filter(|call| call.is_error).map(Fingerprint::of_error).collect();
        errors.dedup();
        // A search that finds nothing fails without a message.
        let all_fail = calls.iter().all(|call| call.is_error && !call.is_silent());
        let error = if all_fail && errors.len() == 1 { errors.pop() } else { None };
        if error.is_none() || has_new_content {
            self.last_error = None;
            self.error.end();
            return Judgment::Progress;
        }
        let is_same = self.last_error == error;
        self.last_error = error;
        self.error.count(is_same, StuckSignal::SameError, || described(calls), || result(calls))
    }

    fn no_progress(
        &mut self,
        calls: &[CallRecord],
        has_progress: bool,
        explores: bool,
    ) -> Judgment {
        if has_progress {
            self.stale.end();
            self.exploring.end();
            return Judgment::Progress;
        }
        let (what, result) = (|| described(calls), || result(calls));
        let exploring = self.exploring.add(StuckSignal::NoProgress, what, result);
        if explores {
            self.stale.end();
            return exploring;
        }
        let stale = self.stale.add(StuckSignal::NoProgress, what, result);
        match (&exploring, &stale) {
            (Judgment::Stuck(_), _) | (Judgment::Note(_), Judgment::Progress) => exploring,
            _ => stale,
        }
    }
}

fn described(calls: &[CallRecord]) -> Vec<String> {
    calls.iter().map(CallRecord::describe).collect()
}

fn result(calls: &[CallRecord]) -> Option<String> {
    calls.first().map(|call| call.result.clone())
}

impl CallRecord {
    /// Returns the call as a short line.
    fn describe(&self) -> String {
        let arguments = match self.scripts.first() {
            Some(script) => script.clone(),
            None => serde_json::to_string(&self.arguments).unwrap_or_default(),
        };
        format!("{}: {}", self.tool, note::shortened(&arguments, 200))
    }

    /// Returns true if a command printed nothing. Its exit code is all that the result says.
    fn is_silent(&self) -> bool {
        let mut lines = self.result.lines().map(str::trim).filter(|line| !line.is_empty());
        !self.scripts.is_empty()
            && lines
                .all(|line| line == "(no output)" || line.starts_with("Command exited with code"))
    }

    /// Returns the text of all arguments.
    fn argument_text(&self) -> String {
        fn collect(value: &Value, text: &mut String) {
            match value {
                Value::String(string) => {
                    text.push_str(string);
                    text.push('\n');
                }
                Value::Array(values) => values.iter().for_each(|value| collect(value, text)),
                Value::Object(values) => values.values().for_each(|value| collect(value, text)),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        let mut text = String::new();
        self.arguments.values().for_each(|value| collect(value, &mut text));
        text
    }
}
