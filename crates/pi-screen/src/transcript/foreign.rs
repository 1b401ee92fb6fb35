//! What renderers of extensions draw: messages, entries, tool calls, changed Markdown.
//!
//! Every function returns nothing if no renderer is registered or none answers in time; then the
//! built-in drawing is used. A renderer that has more to show later asks for a new generation.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use pi_coding_agent::extension::{RenderRequest, RenderTarget, Rendered, Renderer};
use pi_coding_agent::session::AgentSession;
use pi_tui::{Line, text};
use serde_json::{Value, json};

use super::markdown::Prose;
use super::options::Look;
use super::tool::{Call, PAD, Progress, Time};

/// The renderers of the session, and what the blocks that they drew depend on.
#[derive(Default)]
pub(super) struct Foreign {
    session: RefCell<Option<AgentSession>>,
    generation: Cell<u64>,
    /// A renderer was asked since the last [`Foreign::take_used`].
    is_used: Cell<bool>,
    /// Id and time of the stored entry that is drawn.
    entry: RefCell<Option<(String, String)>>,
}

/// The lines of a tool call.
pub(super) struct ForeignCall {
    pub(super) is_unframed: bool,
    pub(super) call: Option<Vec<Line>>,
    pub(super) result: Option<Vec<Line>>,
}

impl Foreign {
    pub(super) fn set_session(&self, session: AgentSession) {
        *self.session.borrow_mut() = Some(session);
    }

    /// Draws everything that renderers drew again.
    pub(super) fn redraw(&self) {
        self.generation.set(self.generation.get() + 1);
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.get()
    }

    /// Returns true if a renderer was asked since the last call.
    pub(super) fn take_used(&self) -> bool {
        self.is_used.take()
    }

    /// Sets the stored entry that is drawn.
    pub(super) fn set_entry(&self, entry: Option<(String, String)>) {
        *self.entry.borrow_mut() = entry;
    }

    fn renderers(&self, target: &RenderTarget) -> Vec<Renderer> {
        let session = self.session.borrow();
        let Some(session) = session.as_ref() else { return Vec::new() };
        let renderers = session.extensions().registry().renderers(target);
        if !renderers.is_empty() {
            self.is_used.set(true);
        }
        renderers
    }

    /// Returns true if Markdown is changed before it is drawn.
    pub(super) fn changes_markdown(&self) -> bool {
        let session = self.session.borrow();
        session.as_ref().is_some_and(|session| {
            session.extensions().registry().has_renderer(&RenderTarget::Markdown)
        })
    }

    /// Returns Markdown as extensions change it.
    pub(super) fn markdown<'t>(
        &self,
        source: &'t str,
        prose: Prose,
        is_streaming: bool,
        width: usize,
    ) -> Cow<'t, str> {
        let kind = match prose {
            Prose::Answer => "assistant",
            Prose::Thinking => "assistant-thinking",
            Prose::User => "user",
            Prose::Custom => return Cow::Borrowed(source),
        };
        let mut changed = Cow::Borrowed(source);
        for renderer in self.renderers(&RenderTarget::Markdown) {
            let mut subject = json!({
                "markdown": changed, "messageType": kind, "isStreaming": is_streaming,
            });
            if let Some((id, timestamp)) = &*self.entry.borrow() {
                subject["messageId"] = id.as_str().into();
                subject["timestamp"] = timestamp.as_str().into();
            }
            let request = RenderRequest { subject, key: String::new(), width, expanded: false };
            if let Some(Rendered::Text(text)) = renderer(&request) {
                changed = Cow::Owned(text);
            }
        }
        changed
    }

    fn first(&self, target: &RenderTarget, request: &RenderRequest) -> Option<Rendered> {
        self.renderers(target).iter().find_map(|renderer| renderer(request))
    }
}

/// Returns the lines of a custom message below an empty one.
pub(super) fn message(kind: &str, message: &Value, look: Look<'_>) -> Option<Vec<Line>> {
    let subject = json!({ "message": message, "outputPad": look.options.output_pad });
    let key = format!("{}:{}", message["timestamp"], text_key(&message["content"]));
    custom(&RenderTarget::Message(kind.to_owned()), subject, key, look)
}

/// Returns the lines of a custom entry below an empty one.
pub(super) fn entry(kind: &str, entry: &Value, look: Look<'_>) -> Option<Vec<Line>> {
    let key = entry["id"].as_str().unwrap_or_default().to_owned();
    let subject = json!({ "entry": entry });
    custom(&RenderTarget::Entry(kind.to_owned()), subject, key, look)
}

fn custom(target: &RenderTarget, subject: Value, key: String, look: Look<'_>) -> Option<Vec<Line>> {
    let width = look.view.width;
    let request = RenderRequest { subject, key, width, expanded: look.is_expanded() };
    let Rendered::Lines(drawn) = look.foreign.first(target, &request)? else { return None };
    let mut lines = vec![Line::new()];
    lines.extend(styled(&drawn, width));
    Some(lines)
}

/// Returns the lines of a tool call.
pub(super) fn tool(call: &Call<'_>, look: Look<'_>) -> Option<ForeignCall> {
    let any = look.foreign.renderers(&RenderTarget::AnyTool);
    let own = look.foreign.renderers(&RenderTarget::Tool(call.name.to_owned()));
    if any.is_empty() && own.is_empty() {
        return None;
    }
    let cwd =
        look.foreign.session.borrow().as_ref().map(|session| session.workspace().cwd().to_owned());
    let result = call.output.map(|output| {
        let mut result = json!({ "content": output.content });
        if let Some(details) = output.details {
            result["details"] = details.clone();
        }
        result
    });
    let subject = json!({
        "toolName": call.name,
        "toolCallId": call.id,
        "args": call.arguments,
        "argsComplete": !call.is_streaming,
        "executionStarted": call.has_begun,
        "isPartial": call.progress == Progress::Pending,
        "isError": call.progress == Progress::Error,
        "durationMs": match call.time {
            Some(Time::Took(seconds)) => Some((seconds * 1000.0).round()),
            _ => None,
        },
        "result": result,
        "cwd": cwd,
        "showImages": look.options.images.is_some(),
        "outputPad": look.options.output_pad,
        "boxPad": PAD,
    });
    let key = call.id.to_owned();
    let width = look.view.width;
    let request = RenderRequest { subject, key, width, expanded: look.is_expanded() };
    let drawn = any.iter().chain(&own).find_map(|renderer| renderer(&request))?;
    let Rendered::Tool(drawn) = drawn else { return None };
    let lines = |lines: Vec<String>| styled(&lines, width);
    Some(ForeignCall {
        is_unframed: drawn.is_unframed,
        call: drawn.call.map(lines),
        result: drawn.result.map(lines),
    })
}

/// Reads lines of extensions. A line break in a line would be two lines; the height must be right.
pub(crate) fn styled(lines: &[String], width: usize) -> Vec<Line> {
    let first = |line: &String| text::from_ansi(line).into_iter().next().unwrap_or_default();
    lines.iter().map(|line| text::truncate(&first(line), width, "")).collect()
}

/// Returns the beginning of a content, which tells messages of the same time apart.
fn text_key(content: &Value) -> String {
    content.to_string().chars().take(40).collect()
}
