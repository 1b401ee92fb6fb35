//! Lines that are no messages: status, notices of extensions and commands, failures of answers.

use pi_coding_agent::extension::NotifyKind;
use pi_host::provider_errors::{self, FailedRequest, Reader};
use pi_protocol::{AssistantBlock, AssistantMessage, StopReason, ToolResultMessage, UserBlock};
use pi_session::CacheMiss;
use pi_tui::{Line, Token};

use super::layout::{padded, text_lines};
use super::options::{Look, Shared};
use super::slot::Draw;

/// A dim line.
#[derive(Debug)]
pub(super) struct Status(pub(super) String);

impl Draw for Status {
    fn draw(&self, look: Look<'_>, _shared: &Shared) -> Vec<Line> {
        below_gap(text_lines(&self.0, look.view.theme.fg(Token::Dim)), look)
    }
}

/// A miss of the prompt cache, which is shown if the user wants it.
#[derive(Debug)]
pub(super) struct Miss(pub(super) CacheMiss);

impl Draw for Miss {
    fn draw(&self, look: Look<'_>, shared: &Shared) -> Vec<Line> {
        match look.options.cache_misses {
            true => Status(self.0.notice()).draw(look, shared),
            false => Vec::new(),
        }
    }
}

/// A remark, a warning or an error, and what the user can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) kind: NotifyKind,
    pub(super) text: String,
    pub(super) hint: Option<String>,
    /// The response of a provider as it came, shown with the details.
    pub(super) raw: Option<String>,
}

impl Draw for Notice {
    fn draw(&self, look: Look<'_>, _shared: &Shared) -> Vec<Line> {
        let theme = look.view.theme;
        let (label, token) = match self.kind {
            NotifyKind::Info => ("", Token::Dim),
            NotifyKind::Warning => ("Warning: ", Token::Warning),
            NotifyKind::Error => ("Error: ", Token::Error),
        };
        let mut lines = text_lines(&format!("{label}{}", self.text.trim_end()), theme.fg(token));
        if let Some(hint) = &self.hint {
            lines.extend(text_lines(&format!("Hint: {hint}"), theme.fg(Token::Dim)));
        }
        if let Some(raw) = self.raw.as_ref().filter(|_| look.is_expanded()) {
            lines.extend(text_lines(raw, theme.fg(Token::Dim)));
        }
        below_gap(lines, look)
    }
}

/// The end of an answer that is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    Notice(Notice),
    /// The model returned neither text nor calls.
    Empty,
    /// The user aborted the answer, or it was cut: a line in the color of errors.
    Line(&'static str),
}

impl Failure {
    /// Returns what is to be said about the end of an answer. `is_told` is true if the lines above
    /// tell already that the run was aborted.
    pub(super) fn of(answer: &AssistantMessage, is_told: bool, shared: &Shared) -> Option<Self> {
        match answer.stop_reason {
            StopReason::Aborted if is_told => None,
            StopReason::Aborted => Some(Self::Line("Operation aborted")),
            StopReason::Length => {
                Some(Self::Line("The answer reached the output limit of the model and is cut off."))
            }
            StopReason::Error => Some(Self::Notice(explained(answer, shared))),
            _ if is_empty(answer) => Some(Self::Empty),
            _ => None,
        }
    }
}

/// Returns true if an answer has neither text nor calls.
fn is_empty(answer: &AssistantMessage) -> bool {
    answer.content.iter().all(|block| match block {
        AssistantBlock::Text(text) => text.text.trim().is_empty(),
        AssistantBlock::Thinking(_) => true,
        AssistantBlock::ToolCall(_) | AssistantBlock::Unknown(_) => false,
    })
}

/// Returns the error of a provider with advice.
fn explained(answer: &AssistantMessage, shared: &Shared) -> Notice {
    let error = answer.error_message.clone().unwrap_or_default();
    let session = shared.session();
    let model = session.as_ref().and_then(|session| {
        let found = session.find_model(&answer.provider, &answer.model);
        found.or_else(|| session.model())
    });
    let (text, hint, raw) = match (session, model) {
        // Only requests have a duration; other failures of a run do not concern the provider.
        (Some(session), Some(model)) if answer.duration_ms.is_some() => {
            let request = FailedRequest {
                model: &model,
                source: session.credential_source(),
                registry: session.models().map(|registry| &**registry),
                reader: Reader::Screen,
            };
            let explained = provider_errors::explain(answer, &request);
            (explained.message, explained.hint, provider_errors::raw(answer, &session))
        }
        _ if error.is_empty() => ("the request failed without a reason".to_owned(), None, None),
        _ => (error, None, None),
    };
    Notice { kind: NotifyKind::Error, text, hint, raw }
}

impl Draw for Failure {
    fn draw(&self, look: Look<'_>, shared: &Shared) -> Vec<Line> {
        match self {
            Self::Notice(notice) => notice.draw(look, shared),
            Self::Empty => Status("(the model returned no text)".to_owned()).draw(look, shared),
            Self::Line(text) => below_gap(text_lines(text, look.view.theme.fg(Token::Error)), look),
        }
    }
}

/// Returns padded lines below an empty one.
pub(super) fn below_gap(lines: Vec<Line>, look: Look<'_>) -> Vec<Line> {
    let mut drawn = vec![Line::new()];
    drawn.extend(padded(lines, look));
    drawn
}

/// Returns true if a tool result says that the run was aborted.
pub(super) fn tells_of_abort(result: &ToolResultMessage) -> bool {
    let text = result.content.iter().rev().find_map(UserBlock::as_text);
    result.is_error && text.is_some_and(|text| text.contains("aborted"))
}
