//! Progress on stderr: a line for each tool call, retry and compaction, and what is waited for.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use pi_agent::BoxFuture;
use pi_ai::{AssistantMessage, StopReason};
use pi_base::lock;
use pi_base::text;
use pi_coding_agent::extension::{Ui, UiUpdate};
use pi_coding_agent::session::{MessageDelta, SessionEvent, SessionListener, WeakAgentSession};
use pi_coding_agent::{AgentRuntime, AgentSession};
use pi_host::{provider_errors, rate_limits};
use pi_session::CacheMiss;

use super::waiting::WaitingLine;
use crate::exit::note;

/// Width of a progress line, in characters.
const WIDTH: usize = 100;

/// The shortest pause that is worth a line where nothing else is shown.
const NOTICEABLE_MS: u64 = 1000;

/// The amount of progress to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Detail {
    /// Failures of extensions.
    Failures,
    /// Long pauses and compactions as well: why nothing happens.
    Delays,
    /// Tool calls as well.
    Tools,
    /// Requests as well, and the results of everything.
    Requests,
}

impl Detail {
    /// Returns the detail for a run: more if someone watches, or asked for it.
    pub(super) fn of_run(verbose: bool) -> Self {
        match verbose {
            true => Self::Requests,
            false if std::io::stderr().is_terminal() => Self::Tools,
            false => Self::Delays,
        }
    }
}

/// Shows the progress of a runtime. `answer_is_shown` is true if the answer appears as it grows.
pub(super) fn show(runtime: &AgentRuntime, detail: Detail, answer_is_shown: bool) {
    let waiting = if detail >= Detail::Tools { WaitingLine::new() } else { None };
    add(runtime, detail, waiting, answer_is_shown);
}

/// Shows the progress of a runtime as lines that stay: nothing is written over.
pub(super) fn show_lines(runtime: &AgentRuntime, detail: Detail) {
    add(runtime, detail, None, true);
}

fn add(
    runtime: &AgentRuntime,
    detail: Detail,
    waiting: Option<WaitingLine>,
    answer_is_shown: bool,
) {
    let listener = Progress {
        session: runtime.session().downgrade(),
        detail,
        waiting,
        answer_is_shown,
        asked: Mutex::new(Instant::now()),
    };
    runtime.add_listener(Arc::new(listener)).forever();
}

struct Progress {
    session: WeakAgentSession,
    detail: Detail,
    waiting: Option<WaitingLine>,
    answer_is_shown: bool,
    /// Time of the last request.
    asked: Mutex<Instant>,
}

impl SessionListener for Progress {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if let Some(waiting) = &self.waiting {
            self.update_waiting(waiting, event);
        }
        if let Some(line) = self.line(event) {
            if let Some(waiting) = &self.waiting {
                waiting.hide();
            }
            note(&line);
        }
        Box::pin(std::future::ready(()))
    }

    fn wants_progress(&self) -> bool {
        self.waiting.is_some()
    }
}

impl Progress {
    /// Returns the line for an event that is worth one.
    fn line(&self, event: &SessionEvent) -> Option<String> {
        match event {
            SessionEvent::AutoRetryStart { delay_ms, error_message, attempt, max_attempts }
                if self.detail >= Detail::Tools
                    || self.detail == Detail::Delays && *delay_ms >= NOTICEABLE_MS =>
            {
                let pause = *delay_ms as f64 / 1000.0;
                let retry = format!("retry {attempt} of {max_attempts} in {pause} s");
                Some(text::line(&format!("{error_message}; {retry}"), 2 * WIDTH))
            }
            SessionEvent::ModelFallback { message, .. } => Some(message.clone()),
            SessionEvent::CompactionStart { .. } if self.detail >= Detail::Delays => {
                Some("compacting the context".to_owned())
            }
            SessionEvent::ExtensionError { extension_path, error, .. }
                if extension_path.starts_with("builtin:") =>
            {
                Some(format!("warning: {error}"))
            }
            SessionEvent::ExtensionError { extension_path, error, .. } => {
                Some(format!("Extension error ({extension_path}): {error}"))
            }
            SessionEvent::Guardrail { intervention } if self.detail >= Detail::Delays => {
                Some(text::line(&intervention.to_string(), 2 * WIDTH))
            }
            SessionEvent::ToolExecutionStart { tool_name, args, .. }
                if self.detail >= Detail::Tools =>
            {
                let session = self.session.upgrade()?;
                let summary = session.effects_of(tool_name, args).summary;
                let summary = summary.map(|summary| summary.text).unwrap_or_default();
                Some(text::line(&format!("{tool_name} {summary}"), WIDTH))
            }
            SessionEvent::ToolExecutionEnd { tool_name, is_error, duration_ms, .. } => {
                let took = duration_ms.map(|ms| format!(" after {} s", seconds(ms)));
                let took = took.filter(|_| self.detail == Detail::Requests).unwrap_or_default();
                match (is_error, self.detail) {
                    (true, Detail::Tools | Detail::Requests) => {
                        Some(format!("{tool_name} failed{took}"))
                    }
                    (false, Detail::Requests) => Some(format!("{tool_name} done{took}")),
                    _ => None,
                }
            }
            SessionEvent::TurnStart { .. } if self.detail == Detail::Requests => {
                *lock(&self.asked) = Instant::now();
                Some(format!("request to {}", self.model()?))
            }
            SessionEvent::MessageEnd { message } if self.detail == Detail::Requests => {
                let answer = message.as_assistant()?;
                let asked = *lock(&self.asked);
                if answer.stop_reason == StopReason::Error
                    && let Some(raw) = provider_errors::raw(answer, &self.session.upgrade()?)
                {
                    return Some(raw);
                }
                let took = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
                Some(format!("{}{}", answered(answer, took), self.limits().unwrap_or_default()))
            }
            SessionEvent::EntryAppended { entry } if self.detail == Detail::Requests => {
                CacheMiss::of(&entry.body).map(|miss| miss.notice())
            }
            _ => None,
        }
    }

    fn update_waiting(&self, waiting: &WaitingLine, event: &SessionEvent) {
        let model = || self.model().unwrap_or_else(|| "the model".to_owned());
        match event {
            SessionEvent::TurnStart { .. } => waiting.set(&format!("waiting for {}", model())),
            SessionEvent::MessageUpdate { assistant_message_event, .. } => {
                match assistant_message_event {
                    MessageDelta::ThinkingStart { .. } => {
                        waiting.set(&format!("{} is thinking", model()));
                    }
                    MessageDelta::ToolCallStart { tool_name, .. } => {
                        let tool = tool_name.as_deref().unwrap_or("a tool");
                        waiting.set(&format!("receiving a call of {tool}"));
                    }
                    MessageDelta::TextStart { .. } if self.answer_is_shown => waiting.clear(),
                    MessageDelta::TextStart { .. } => waiting.set("receiving the answer"),
                    _ => {}
                }
            }
            SessionEvent::ToolExecutionStart { tool_name, .. } => {
                waiting.set(&format!("running {tool_name}"));
            }
            SessionEvent::AutoRetryStart { .. } => waiting.set("waiting before the next attempt"),
            SessionEvent::CompactionStart { .. } => waiting.set("waiting for a summary"),
            SessionEvent::ToolExecutionEnd { .. }
            | SessionEvent::TurnEnd { .. }
            | SessionEvent::CompactionEnd { .. }
            | SessionEvent::AgentEnd { .. }
            | SessionEvent::AgentSettled { .. } => waiting.clear(),
            _ => {}
        }
    }

    /// Returns the limits of the provider, as a part of a line.
    fn limits(&self) -> Option<String> {
        let reported = self.session.upgrade()?.current_rate_limits()?;
        let limits = rate_limits::in_one_line(&reported, pi_protocol::now_ms())?;
        Some(format!("; limits: {limits}"))
    }

    fn model(&self) -> Option<String> {
        let model = self.session.upgrade().as_ref().and_then(AgentSession::model)?;
        Some(format!("{}/{}", model.provider, model.id))
    }
}

/// Describes an answer: its time, size and cost.
fn answered(answer: &AssistantMessage, milliseconds: u64) -> String {
    let usage = &answer.usage;
    let input = usage.input + usage.cache_read + usage.cache_write;
    let cost = usage.cost.total;
    let took = seconds(milliseconds);
    format!("answer after {took} s: {input} tokens in, {} out, ${cost:.4}", usage.output)
}

fn seconds(milliseconds: u64) -> String {
    format!("{:.1}", milliseconds as f64 / 1000.0)
}

/// A user interface without dialogs that writes notifications to stderr.
#[derive(Debug, Clone, Copy)]
pub(super) struct StderrUi;

impl Ui for StderrUi {
    fn update(&self, update: UiUpdate) {
        if let UiUpdate::Notify { message, kind } = update {
            note(&format!("{}: {message}", kind.unwrap_or_default().as_str()));
        }
    }
}
