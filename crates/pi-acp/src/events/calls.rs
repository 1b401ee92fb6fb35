//! The tool calls of a session, from their start to their result.

use std::time::{Duration, Instant};

use pi_coding_agent::AgentSession;
use pi_protocol::{Effects, UserBlock};
use serde_json::{Map, Value};

use super::{Call, Reporter};
use crate::tool_calls::{self, Before, Output};
use crate::update::{Status, ToolCall, ToolContent, Update};
use crate::wire::Version;

/// Least time between two reports on the progress of a call.
const PROGRESS: Duration = Duration::from_millis(200);
/// Largest file that is shown as the old side of a difference.
const OLD_SIDE: u64 = 512 << 10;

impl Reporter {
    /// Shows a terminal of the client in the call that runs this script.
    pub(crate) fn show_terminal(&self, script: &str, terminal: &str) {
        let id = {
            let mut state = self.state();
            let running = state.calls.iter_mut().find(|(_, call)| {
                call.terminal.is_none()
                    && call.script.as_deref().is_some_and(|run| script.ends_with(run))
            });
            let Some((id, call)) = running else { return };
            call.terminal = Some(terminal.to_owned());
            id.clone()
        };
        let content = Some(vec![ToolContent::Terminal(terminal.to_owned())]);
        let call = ToolCall { id, content, ..ToolCall::default() };
        self.report(Update::ToolCallChange(call));
    }

    pub(super) fn effects(&self, name: &str, arguments: &Map<String, Value>) -> Effects {
        match self.current() {
            Some(session) => session.effects_of(name, arguments),
            None => Effects::unknown(),
        }
    }

    pub(super) async fn call_start(&self, id: &str, name: &str, arguments: &Map<String, Value>) {
        let Some(session) = self.current() else { return };
        let effects = session.effects_of(name, arguments);
        let workspace = session.workspace();
        let resolve = |path: &str| workspace.resolve(path);
        let version = self.client.version;
        let differences = differences(&session, arguments, &effects, version).await;
        let mut call = tool_calls::describe(id, name, arguments, &effects, &resolve);
        call.status = Some(Status::Running);
        if !differences.is_empty() {
            call.content = Some(differences.clone());
        }
        let is_known = {
            let mut state = self.state();
            let script = effects.runs.first().cloned();
            let entry = Call { differences, script, ..Call::default() };
            state.calls.insert(id.to_owned(), entry).is_some()
        };
        let update = if is_known { Update::ToolCallChange } else { Update::ToolCall };
        self.report(update(call));
    }

    pub(super) fn call_progress(&self, id: &str, content: &[UserBlock]) {
        {
            let mut state = self.state();
            let Some(call) = state.calls.get_mut(id) else { return };
            let is_due = call.reported.is_none_or(|last| last.elapsed() >= PROGRESS);
            if !is_due || call.terminal.is_some() || !call.differences.is_empty() {
                return;
            }
            call.reported = Some(Instant::now());
        }
        let content = Some(tool_calls::shown(content));
        let call = ToolCall { id: id.to_owned(), content, ..ToolCall::default() };
        self.report(Update::ToolCallChange(call));
    }

    pub(super) fn call_end(&self, id: &str, output: &Output<'_>) {
        let call = self.state().calls.remove(id).unwrap_or_default();
        let mut change = tool_calls::finished(id, output, &call.differences);
        if let Some(terminal) = call.terminal {
            change.content = Some(vec![ToolContent::Terminal(terminal)]);
        }
        self.report(Update::ToolCallChange(change));
        if let Some(plan) = tool_calls::plan(output.details) {
            self.report(Update::Plan(plan));
        }
    }
}

/// Returns the differences that a call makes. The files are as they are now.
pub(crate) async fn differences(
    session: &AgentSession,
    arguments: &Map<String, Value>,
    effects: &Effects,
    version: Version,
) -> Vec<ToolContent> {
    let workspace = session.workspace();
    // Only version 2 shows edits in their place.
    let file = tool_calls::changed_file(arguments, effects, version == Version::V2);
    let before = match file {
        Some(path) => read_before(session, path).await,
        None => Before::Unknown,
    };
    let resolve = |path: &str| workspace.resolve(path);
    tool_calls::differences(arguments, effects, &resolve, before)
}

async fn read_before(session: &AgentSession, path: &str) -> Before {
    let workspace = session.workspace();
    match workspace.executor().read(&workspace.resolve(path), OLD_SIDE + 1).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Before::Missing,
        Ok(content) if content.len() as u64 <= OLD_SIDE => {
            String::from_utf8(content).map_or(Before::Unknown, Before::Text)
        }
        _ => Before::Unknown,
    }
}
