//! Writes a recording while a run works.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use pi_agent::{BoxFuture, ToolError, ToolOutput};
use pi_base::lock;
use pi_base::text::hex;
use pi_coding_agent::guard::ToolDecision;
use pi_coding_agent::hooks::{CommandFailure, FinishedCommand};
use pi_coding_agent::{Tap, TappedCall};
use pi_protocol::{
    AssistantEvent, AssistantMessage, AssistantStream, CancelToken, Provider, Request,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::RECORDING_FILE;
use super::canonical::{CanonicalRequest, hash};
use super::line::{Header, Line, hook_key};

/// Reasons why a recording cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the recording {}: {source}", path.display())]
#[non_exhaustive]
pub struct RecordError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// Writes a recording. Clones write the same one.
///
/// A failure to write does not end the run: the recording stays incomplete, and [`Self::finish`]
/// returns the cause.
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

struct Inner {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    file: BufWriter<File>,
    digest: Sha256,
    /// Hashes of the messages that are in the file.
    messages: HashSet<String>,
    requests: u32,
    failure: Option<io::Error>,
    is_finished: bool,
}

impl Recorder {
    /// Creates the directory of a recording and begins its file. An existing one is not replaced.
    pub fn create(directory: &Path, header: Header) -> Result<Self, RecordError> {
        let path = directory.join(RECORDING_FILE);
        let open = || {
            std::fs::create_dir_all(directory)?;
            pi_fs::private_file().write(true).create_new(true).open(&path)
        };
        let file = open().map_err(|source| RecordError { path: path.clone(), source })?;
        let state = State {
            file: BufWriter::new(file),
            digest: Sha256::new(),
            messages: HashSet::new(),
            requests: 0,
            failure: None,
            is_finished: false,
        };
        let recorder = Self(Arc::new(Inner { path, state: Mutex::new(state) }));
        recorder.0.state().write(&Line::Header(Box::new(header)));
        Ok(recorder)
    }

    /// Returns the file of the recording.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Records a fact from outside.
    pub(crate) fn observe(&self, name: &str, value: &impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or_default();
        self.0.state().write(&Line::Observation { name: name.to_owned(), value });
    }

    /// Completes the recording. `timed` tells that a clock or a signal ended the work.
    pub fn finish(&self, outcome: &str, timed: bool) -> Result<(), RecordError> {
        let mut state = self.0.state();
        let digest = hex(&state.digest.clone().finalize());
        state.write(&Line::End { outcome: outcome.to_owned(), timed, digest });
        state.is_finished = true;
        let flushed = state.file.flush();
        let failure = state.failure.take().map_or(flushed, Err);
        failure.map_err(|source| RecordError { path: self.0.path.clone(), source })
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Records a request and returns its number.
    fn request(&self, request: &Request) -> u32 {
        let CanonicalRequest { shape, messages } = CanonicalRequest::new(request);
        let mut state = self.state();
        let mut hashes = Vec::with_capacity(messages.len());
        for value in messages {
            let hash = hash(&value);
            if state.messages.insert(hash.clone()) {
                state.write(&Line::Message { hash: hash.clone(), value });
            }
            hashes.push(hash);
        }
        state.requests += 1;
        let number = state.requests;
        state.write(&Line::Request { number, shape, messages: hashes });
        number
    }
}

impl State {
    fn write(&mut self, line: &Line) {
        // What happens after the end of the run is not replayed.
        if self.failure.is_some() || self.is_finished {
            return;
        }
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut bytes| {
            bytes.push(b'\n');
            self.digest.update(&bytes);
            self.file.write_all(&bytes)
        });
        self.failure = written.err();
    }
}

impl Tap for Recorder {
    fn provider(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(RecordingProvider { provider, recorder: self.clone() })
    }

    fn decided(&self, call: &TappedCall<'_>, decision: &ToolDecision) {
        let (arguments, decision) = (call.arguments.clone(), decision.clone());
        self.0.state().write(&Line::Decision { arguments, decision });
    }

    fn execute<'a>(
        &'a self,
        call: TappedCall<'a>,
        execute: BoxFuture<'a, Result<ToolOutput, ToolError>>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let result = execute.await;
            let (output, error) = match &result {
                Ok(output) => (Some(output.clone()), None),
                Err(error) => (None, Some(error.message().to_owned())),
            };
            self.0.state().write(&Line::Result {
                tool_call_id: call.id.to_owned(),
                tool_name: call.tool.to_owned(),
                arguments: call.arguments.clone(),
                output: output.map(Box::new),
                error,
            });
            result
        })
    }

    fn run_hook<'a>(
        &'a self,
        command: &'a str,
        input: &'a str,
        run: BoxFuture<'a, Result<FinishedCommand, CommandFailure>>,
    ) -> BoxFuture<'a, Result<FinishedCommand, CommandFailure>> {
        Box::pin(async move {
            let result = run.await;
            let key = hook_key(command, input);
            self.0.state().write(&Line::Hook { key, result: result.clone() });
            result
        })
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("path", &self.0.path).finish_non_exhaustive()
    }
}

struct RecordingProvider {
    provider: Arc<dyn Provider>,
    recorder: Recorder,
}

impl Provider for RecordingProvider {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let number = self.recorder.0.request(&request);
        let mut answer = Answer {
            recorder: self.recorder.clone(),
            number,
            events: Vec::new(),
            is_written: false,
        };
        self.provider
            .stream(request, cancel)
            .observed(move |event, message| answer.observe(event, message))
    }
}

/// An answer that arrives. It is recorded when it is complete or given up.
struct Answer {
    recorder: Recorder,
    number: u32,
    events: Vec<AssistantEvent>,
    is_written: bool,
}

impl Answer {
    fn observe(&mut self, event: &AssistantEvent, message: &AssistantMessage) {
        self.events.push(event.clone());
        if event.is_terminal() {
            self.write(Some(message));
        }
    }

    fn write(&mut self, message: Option<&AssistantMessage>) {
        self.is_written = true;
        let (request, events) = (self.number, std::mem::take(&mut self.events));
        let message = message.cloned().map(Box::new);
        self.recorder.0.state().write(&Line::Answer { request, events, message });
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.is_written {
            self.write(None);
        }
    }
}
