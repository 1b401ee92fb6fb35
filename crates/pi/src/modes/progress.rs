//! Progress on stderr for a user who waits for an answer, and notifications of the session.

use std::io::IsTerminal as _;
use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{Ui, UiUpdate};
use pi_coding_agent::session::{SessionEvent, SessionListener};
use pi_coding_agent::{AgentRuntime, AgentSession};

use crate::commands::plain;
use crate::exit::note;

/// Width of a progress line, in characters.
const WIDTH: usize = 100;

/// Shows tool calls, retries and compactions if stderr is a terminal.
pub(super) fn show(runtime: &AgentRuntime) {
    if std::io::stderr().is_terminal() {
        show_always(runtime);
    }
}

/// Shows tool calls, retries and compactions.
pub(super) fn show_always(runtime: &AgentRuntime) {
    let session = runtime.session().downgrade();
    let listener = move |event: &SessionEvent| {
        if let Some(session) = session.upgrade()
            && let Some(line) = line(&session, event)
        {
            note(&line);
        }
    };
    runtime.subscribe(listener).forever();
}

/// Reports failures of extensions.
pub(super) fn show_extension_errors(runtime: &AgentRuntime) {
    runtime.add_listener(Arc::new(ErrorReport)).forever();
}

/// Prints failures of extensions.
struct ErrorReport;

impl SessionListener for ErrorReport {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if let SessionEvent::ExtensionError { extension_path, error, .. } = event {
            note(&format!("Extension error ({extension_path}): {error}"));
        }
        Box::pin(std::future::ready(()))
    }

    fn wants_progress(&self) -> bool {
        false
    }
}

fn line(session: &AgentSession, event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::ToolExecutionStart { tool_name, args, .. } => {
            let summary = session.effects_of(tool_name, args).summary;
            let summary = summary.map(|summary| summary.text).unwrap_or_default();
            Some(plain::line(&format!("{tool_name} {summary}"), WIDTH))
        }
        SessionEvent::ToolExecutionEnd { tool_name, is_error: true, .. } => {
            Some(format!("{tool_name} failed"))
        }
        SessionEvent::AutoRetryStart { delay_ms, error_message, .. } => {
            let pause = *delay_ms as f64 / 1000.0;
            Some(plain::line(&format!("{error_message}; retrying in {pause} s"), WIDTH))
        }
        SessionEvent::CompactionStart { .. } => Some("compacting the context".to_owned()),
        _ => None,
    }
}

/// A user interface without dialogs that writes notifications to stderr.
#[derive(Debug, Clone, Copy)]
pub(super) struct StderrUi;

impl Ui for StderrUi {
    fn update(&self, update: UiUpdate) {
        if let UiUpdate::Notify { message, kind } = update {
            note(&format!("{}: {message}", kind.as_str()));
        }
    }
}
