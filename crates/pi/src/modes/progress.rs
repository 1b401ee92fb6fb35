//! A line on stderr for each thing the agent does, for people who wait for an answer. And notices
//! of the session, which nobody else shows.

use std::io::IsTerminal as _;

use pi_agent::AgentEvent;
use pi_coding_agent::extension::Ui;
use pi_coding_agent::session::{AgentSession, SessionEvent, SessionNews};
use serde_json::Value;

use crate::commands::plain;
use crate::exit::note;

/// How much of a command or path is shown.
const WIDTH: usize = 100;

/// Tells of tools, retries and compactions, if stderr is a terminal.
pub(super) fn show(session: &AgentSession) {
    if std::io::stderr().is_terminal() {
        show_always(session);
    }
}

/// The same, wherever stderr goes.
pub(super) fn show_always(session: &AgentSession) {
    session
        .subscribe(|event| {
            if let Some(line) = line(event) {
                note(&line);
            }
        })
        .forever();
}

fn line(event: &SessionEvent<'_>) -> Option<String> {
    match event {
        SessionEvent::Agent(event) => match event.event {
            AgentEvent::ToolExecutionStart { tool_name, args, .. } => {
                let about =
                    ["command", "path", "pattern"].into_iter().find_map(|key| args.get(key));
                let about = about.and_then(Value::as_str).unwrap_or_default();
                Some(plain::line(&format!("{tool_name} {about}"), WIDTH))
            }
            AgentEvent::ToolExecutionEnd { tool_name, is_error: true, .. } => {
                Some(format!("{tool_name} failed"))
            }
            _ => None,
        },
        SessionEvent::Session(SessionNews::AutoRetryStart { delay_ms, error_message, .. }) => {
            let pause = *delay_ms as f64 / 1000.0;
            Some(plain::line(&format!("{error_message}; trying again in {pause} s"), WIDTH))
        }
        SessionEvent::Session(SessionNews::CompactionStart { .. }) => {
            Some("making room in the context".to_owned())
        }
        _ => None,
    }
}

/// Nobody can be asked, but what has to be said is.
#[derive(Debug, Clone, Copy)]
pub(super) struct StderrUi;

impl Ui for StderrUi {
    fn notify(&self, message: &str, kind: &str) {
        note(&format!("{kind}: {message}"));
    }
}
