//! Reads a recording.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::ToolOutput;
use pi_base::text::hex;
use pi_coding_agent::Environment;
use pi_coding_agent::guard::{CallDecision, ToolDecision};
use pi_coding_agent::hooks::{CommandFailure, FinishedCommand};
use pi_protocol::{AssistantEvent, AssistantMessage};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::record::{Header, Line, RECORDING_FILE, Shape, VERSION, call_key, hash};

/// Reasons why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("cannot read the recording {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A line is not valid.
    #[error("the recording {} is damaged: line {line}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The problem.
        problem: String,
    },
    /// The recording has no end: the run was killed, or the disk was full.
    #[error("the recording {} is incomplete: it has no end", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
    },
    /// The recording was made by a newer version of the program.
    #[error("the recording {} has version {version}; this program reads version {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version of the recording.
        version: u64,
    },
}

/// A recording in memory.
#[derive(Debug, Clone)]
pub struct Recording {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    pub(crate) requests: Vec<RecordedRequest>,
    pub(crate) decisions: HashMap<String, Vec<Step<ToolDecision>>>,
    pub(crate) results: HashMap<String, Vec<Step<Result<ToolOutput, String>>>>,
    pub(crate) observations: HashMap<String, Vec<Value>>,
    pub(crate) hooks: HashMap<String, Vec<Result<FinishedCommand, CommandFailure>>>,
    pub(crate) outcome: String,
    pub(crate) timed: bool,
}

/// A part of a recording, with the number of the last request before it.
#[derive(Debug, Clone)]
pub(crate) struct Step<T> {
    pub(crate) step: u32,
    pub(crate) value: T,
}

/// A recorded request with its answer.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) number: u32,
    pub(crate) shape: Shape,
    pub(crate) messages: Vec<RecordedMessage>,
    pub(crate) events: Vec<AssistantEvent>,
    pub(crate) message: Option<Box<AssistantMessage>>,
}

/// A message of a recorded request.
#[derive(Debug, Clone)]
pub(crate) struct RecordedMessage {
    pub(crate) hash: String,
    pub(crate) value: Arc<Value>,
}

impl Recording {
    /// Reads a recording: its directory or its file.
    pub fn read(path: &Path) -> Result<Self, RecordingError> {
        let path = if path.is_dir() { path.join(RECORDING_FILE) } else { path.to_owned() };
        let bytes = std::fs::read(&path)
            .map_err(|source| RecordingError::Read { path: path.clone(), source })?;
        Self::parse(&path, &bytes, &[])
    }

    /// Reads the recording again with the directories of another environment in place of the
    /// recorded ones. `cwd` takes the place of every workspace of the run.
    pub(crate) fn moved_to(&self, environment: &Environment) -> Result<Self, RecordingError> {
        let bytes = std::fs::read(&self.path)
            .map_err(|source| RecordingError::Read { path: self.path.clone(), source })?;
        Self::parse(&self.path, &bytes, &self.replacements(environment))
    }

    /// Returns the recorded directories with those that take their place, longest first: one may
    /// contain another.
    fn replacements(&self, environment: &Environment) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let workspaces = self.observations.get("workspace").into_iter().flatten();
        let mut pairs: Vec<(String, String)> = workspaces
            .filter_map(Value::as_str)
            .map(|workspace| (workspace.to_owned(), text(&environment.cwd)))
            .collect();
        pairs.push((text(&self.header.cwd), text(&environment.cwd)));
        pairs.push((text(&self.header.agent_directory), text(&environment.agent_directory)));
        if let (Some(old), Some(new)) = (&self.header.home, &environment.home) {
            pairs.push((text(old), text(new)));
        }
        pairs.retain(|(old, new)| old != new && old.len() > 1);
        pairs.sort_by_key(|(old, _)| std::cmp::Reverse(old.len()));
        pairs.dedup();
        pairs
    }

    fn parse(
        path: &Path,
        bytes: &[u8],
        replacements: &[(String, String)],
    ) -> Result<Self, RecordingError> {
        let mut reading = Reading::new(path, replacements);
        let mut digest = Sha256::new();
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            reading.line = index + 1;
            if !line.ends_with(b"\n") {
                return Err(RecordingError::Incomplete { path: path.to_owned() });
            }
            reading.add(line, &digest)?;
            digest.update(line);
        }
        reading.finish()
    }

    /// Returns the first line: the contract and the surroundings.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of requests.
    pub fn request_count(&self) -> usize {
        self.requests.len()
    }

    /// Returns the model of the first request as `provider/id`.
    pub fn model(&self) -> Option<String> {
        let model = &self.requests.first()?.shape.model;
        Some(format!("{}/{}", model["provider"].as_str()?, model["id"].as_str()?))
    }
}

impl Recording {
    /// Returns true if the call with this id ran because it was approved.
    pub(crate) fn was_approved(&self, id: &str) -> bool {
        let decisions = self.decisions.values().flatten().map(|step| &step.value);
        let approved = |one: &ToolDecision| one.decision == CallDecision::Approved;
        decisions.into_iter().any(|one| one.tool_call_id == id && approved(one))
    }
}

/// A recording while it is read.
struct Reading<'a> {
    path: &'a Path,
    line: usize,
    replacements: &'a [(String, String)],
    header: Option<Header>,
    /// Messages by their recorded hashes.
    messages: HashMap<String, RecordedMessage>,
    requests: Vec<RecordedRequest>,
    decisions: HashMap<String, Vec<Step<ToolDecision>>>,
    results: HashMap<String, Vec<Step<Result<ToolOutput, String>>>>,
    observations: HashMap<String, Vec<Value>>,
    hooks: HashMap<String, Vec<Result<FinishedCommand, CommandFailure>>>,
    end: Option<(String, bool)>,
}

impl<'a> Reading<'a> {
    fn new(path: &'a Path, replacements: &'a [(String, String)]) -> Self {
        Self {
            path,
            line: 0,
            replacements,
            header: None,
            messages: HashMap::new(),
            requests: Vec::new(),
            decisions: HashMap::new(),
            results: HashMap::new(),
            observations: HashMap::new(),
            hooks: HashMap::new(),
            end: None,
        }
    }

    fn damaged(&self, problem: impl Into<String>) -> RecordingError {
        let (path, line) = (self.path.to_owned(), self.line);
        RecordingError::Damaged { path, line, problem: problem.into() }
    }

    fn add(&mut self, bytes: &[u8], digest: &Sha256) -> Result<(), RecordingError> {
        let mut value: Value = serde_json::from_slice(bytes).map_err(|error| match self.line {
            1 => self.damaged("this is not a recording"),
            _ => self.damaged(error.to_string()),
        })?;
        if self.line == 1 {
            self.check_header(&value)?;
        }
        if self.end.is_some() {
            return Err(self.damaged("a line after the end"));
        }
        replace(&mut value, self.replacements);
        let line =
            serde_json::from_value(value).map_err(|error| self.damaged(error.to_string()))?;
        let step = self.requests.last().map_or(0, |request| request.number);
        match line {
            Line::Header(header) if self.line == 1 => self.header = Some(*header),
            Line::Header(_) => return Err(self.damaged("a second header")),
            Line::Message { hash: recorded, value } => {
                let message = RecordedMessage { hash: hash(&value), value: Arc::new(value) };
                self.messages.insert(recorded, message);
            }
            Line::Request { number, shape, messages } => {
                let known = messages.iter().map(|hash| self.messages.get(hash).cloned());
                let Some(messages) = known.collect() else {
                    return Err(self.damaged("a message of the request is missing"));
                };
                let (events, message) = (Vec::new(), None);
                self.requests.push(RecordedRequest { number, shape, messages, events, message });
            }
            Line::Answer { request, events, message } => {
                let asked = self.requests.iter_mut().rev().find(|asked| asked.number == request);
                let Some(asked) = asked else {
                    return Err(self.damaged("the request of the answer is missing"));
                };
                (asked.events, asked.message) = (events, message);
            }
            Line::Decision { arguments, decision } => {
                let key = call_key(&decision.tool_call_id, &decision.tool_name, &arguments);
                self.decisions.entry(key).or_default().push(Step { step, value: decision });
            }
            Line::Result { tool_call_id, tool_name, arguments, output, error } => {
                let key = call_key(&tool_call_id, &tool_name, &arguments);
                let value = output.map(|output| *output).ok_or(error.unwrap_or_default());
                self.results.entry(key).or_default().push(Step { step, value });
            }
            Line::Hook { key, result } => self.hooks.entry(key).or_default().push(result),
            Line::Observation { name, value } => {
                self.observations.entry(name).or_default().push(value);
            }
            Line::End { outcome, timed, digest: recorded } => {
                if hex(&digest.clone().finalize()) != recorded {
                    return Err(self.damaged("the lines before do not match their digest"));
                }
                self.end = Some((outcome, timed));
            }
        }
        Ok(())
    }

    fn check_header(&self, value: &Value) -> Result<(), RecordingError> {
        let version = value["version"].as_u64().filter(|_| value["type"] == "header");
        match version {
            Some(version) if version == u64::from(VERSION) => Ok(()),
            Some(version) => Err(RecordingError::Version { path: self.path.to_owned(), version }),
            None => Err(self.damaged("this is not a recording")),
        }
    }

    fn finish(self) -> Result<Recording, RecordingError> {
        let (Some(header), Some((outcome, timed))) = (self.header, self.end) else {
            return Err(RecordingError::Incomplete { path: self.path.to_owned() });
        };
        Ok(Recording {
            path: self.path.to_owned(),
            header,
            requests: self.requests,
            decisions: self.decisions,
            results: self.results,
            observations: self.observations,
            hooks: self.hooks,
            outcome,
            timed,
        })
    }
}

/// Replaces directories in all texts of a value.
fn replace(value: &mut Value, replacements: &[(String, String)]) {
    if replacements.is_empty() {
        return;
    }
    match value {
        Value::String(text) => {
            if let Some(replaced) = replaced(text, replacements) {
                *text = replaced;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, replacements)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| replace(field, replacements));
        }
        _ => {}
    }
}

/// Replaces directories in a text, in one pass: a new directory may contain an old one.
fn replaced(text: &str, replacements: &[(String, String)]) -> Option<String> {
    let first = |text: &str| {
        let found = replacements.iter().filter_map(|(old, new)| Some((text.find(old)?, old, new)));
        // The longest of those that begin at the same place is the first in the list.
        found.min_by_key(|(at, _, _)| *at)
    };
    let mut rest = text;
    let mut out = String::new();
    while let Some((at, old, new)) = first(rest) {
        out.push_str(&rest[..at]);
        out.push_str(new);
        rest = &rest[at + old.len()..];
    }
    (rest.len() < text.len()).then(|| out + rest)
}
