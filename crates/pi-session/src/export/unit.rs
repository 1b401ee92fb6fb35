//! An entry as a part of the page, and as a line of its outline.
//!
//! An answer and the results of its tool calls are one part; each result is shown at its call.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, ContextEdit, CustomMessage, Entry, EntryBody,
    Message, MessageContent, StopReason, SystemMessage, UserBlock, UserContent,
};

use super::call::DescribedCall;
use super::highlight::Highlighter;
use super::prose::{self, Breaks};
use super::tool::Outcome;
use super::{ansi, escape, overview, tool};
use crate::EffectsResolver;
use crate::own_words::{own_words, split_files};
use crate::projection::text_of;
use crate::roles::{
    BashExecution, BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage,
};

/// Number of characters of a line in the outline.
const ROW: usize = 90;

/// An entry about to be shown.
pub(super) struct Unit<'a> {
    pub(super) entry: &'a Entry,
    pub(super) label: Option<&'a str>,
    /// The entry is on the branch that the page shows first.
    pub(super) on_branch: bool,
    /// The results of the tool calls in the entry.
    pub(super) results: &'a [Outcome],
    pub(super) effects: &'a EffectsResolver,
    /// The form of the markup.
    pub(super) form: Form,
}

/// The form of the markup: what refers to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A part of an exported page: entries have ids, to which links lead.
    Page,
    /// A fragment for a page of an application: entries and tool calls are named by attributes for
    /// its scripts, so no text of a session becomes an id of that page.
    Fragment,
}

/// A line of the outline.
pub(super) struct Row {
    /// The class of the part, by which the outline is filtered.
    pub(super) kind: &'static str,
    pub(super) text: String,
}

impl Row {
    fn new(kind: &'static str, text: &str) -> Self {
        // The outline does not render Markdown.
        let line = escape::first_line(text, ROW).replace("**", "").replace('`', "");
        Self { kind, text: line.trim_start_matches(['#', '>', ' ']).to_owned() }
    }
}

/// Appends an entry and returns its line in the outline; `None` if the entry is not shown.
pub(super) fn write(
    out: &mut String,
    unit: &Unit<'_>,
    highlighter: &mut Highlighter,
) -> Option<Row> {
    let mut writer = Writer { out, unit, highlighter };
    match &unit.entry.body {
        EntryBody::Message(message) => writer.message(message),
        EntryBody::CustomMessage(body) => {
            body.display.then(|| writer.custom(&body.custom_type, &body.content))
        }
        EntryBody::Compaction(body) => {
            // The system message of a compaction repeats earlier ones.
            Some(writer.compaction(&body.summary, body.tokens_before))
        }
        EntryBody::BranchSummary(body) if !body.summary.is_empty() => {
            Some(writer.branch_summary(&body.summary))
        }
        EntryBody::ModelChange { provider, model_id } => {
            Some(writer.note(&format!("Model: {provider}/{model_id}")))
        }
        EntryBody::ThinkingLevelChange { thinking_level } => {
            Some(writer.note(&format!("Thinking: {thinking_level}")))
        }
        EntryBody::Usage(body) => {
            let (tokens, cost) = (body.usage.total_tokens, body.usage.cost.total);
            let (tokens, cost) = (overview::count(tokens), overview::cost(cost));
            Some(writer.note(&format!("{}: {tokens} tokens, {cost}", body.kind)))
        }
        EntryBody::ContextEdit(edit) => Some(writer.context_edit(edit)),
        EntryBody::Unknown { kind } => Some(writer.unknown(kind)),
        // Labels and names are shown elsewhere, and state is not for display.
        _ => None,
    }
}

struct Writer<'a, 'b> {
    out: &'a mut String,
    unit: &'a Unit<'b>,
    highlighter: &'a mut Highlighter,
}

impl Writer<'_, '_> {
    fn message(&mut self, message: &AgentMessage) -> Option<Row> {
        let message = match message {
            AgentMessage::Llm(message) => message,
            AgentMessage::Custom(_) => return self.role(message),
        };
        Some(match message {
            Message::User(user) => {
                self.open("user", "User", "");
                self.prompt(&user.content);
                self.close();
                let text = text_of(&user.content);
                Row::new("user", if text.trim().is_empty() { "(image)" } else { own_words(&text) })
            }
            Message::Assistant(assistant) => self.assistant(assistant),
            Message::System(system) => self.system(system),
            Message::ToolResult(result) => {
                self.open("tools", "Tool result", "");
                // The header shows the label.
                let (id, result) = (self.unit.entry.id.clone(), Arc::clone(result));
                let outcome = Outcome { id, label: None, result };
                tool::card(self.out, None, Some(&outcome), self.unit.form, self.highlighter);
                self.close();
                Row::new("tools", &outcome.result.tool_name)
            }
        })
    }

    /// Appends a message of a role that only coding sessions have.
    fn role(&mut self, message: &AgentMessage) -> Option<Row> {
        Some(match message.role() {
            BashExecution::ROLE => match message.as_custom() {
                Some(execution) => self.bash(&execution),
                None => self.unknown(message.role()),
            },
            ExtensionMessage::ROLE => match message.as_custom::<ExtensionMessage>() {
                Some(message) if !message.display => return None,
                Some(message) => self.custom(&message.custom_type, &message.content),
                None => self.unknown(message.role()),
            },
            BranchSummaryMessage::ROLE => match message.as_custom::<BranchSummaryMessage>() {
                Some(message) => self.branch_summary(&message.summary),
                None => self.unknown(message.role()),
            },
            CompactionSummaryMessage::ROLE => {
                match message.as_custom::<CompactionSummaryMessage>() {
                    Some(message) => self.compaction(&message.summary, message.tokens_before),
                    None => self.unknown(message.role()),
                }
            }
            role => self.unknown(role),
        })
    }

    fn assistant(&mut self, message: &AssistantMessage) -> Row {
        let text = message.text();
        let silent = text.trim().is_empty() && !message.stop_reason.is_failure();
        let kind = if silent { "tools" } else { "assistant" };
        self.open(kind, "Assistant", &message.model);
        let mut results: Vec<Option<&Outcome>> = self.unit.results.iter().map(Some).collect();
        for block in &message.content {
            match block {
                AssistantBlock::Text(text) if text.text.trim().is_empty() => {}
                AssistantBlock::Text(text) => self.prose(&text.text, Breaks::Soft),
                AssistantBlock::Thinking(thinking) if thinking.redacted => {
                    self.out.push_str("<p class=\"missing\">Thinking redacted by the provider</p>");
                }
                AssistantBlock::Thinking(thinking) if thinking.thinking.trim().is_empty() => {}
                AssistantBlock::Thinking(thinking) => {
                    self.details("thinking", "Thinking");
                    self.prose(&thinking.thinking, Breaks::Soft);
                    self.out.push_str("</details>\n");
                }
                AssistantBlock::ToolCall(call) => {
                    let answers = |slot: &&mut Option<&Outcome>| {
                        slot.is_some_and(|outcome| outcome.result.tool_call_id == call.id)
                    };
                    let outcome = results.iter_mut().find(answers).and_then(Option::take);
                    let described = DescribedCall::new(call, self.unit.effects);
                    tool::card(
                        self.out,
                        Some(&described),
                        outcome,
                        self.unit.form,
                        self.highlighter,
                    );
                }
                AssistantBlock::Unknown(fields) => tool::raw(self.out, fields),
            }
        }
        // Results without a call.
        for outcome in results.into_iter().flatten() {
            tool::card(self.out, None, Some(outcome), self.unit.form, self.highlighter);
        }
        self.stop(message);
        self.close();
        let mut calls = message.tool_calls();
        match (silent, calls.next()) {
            (true, Some(first)) => {
                let described = DescribedCall::new(first, self.unit.effects);
                Row::new(kind, &format!("{} {}", first.name, described.summary))
            }
            (true, None) => Row::new(kind, "(no text)"),
            (false, _) if text.trim().is_empty() => Row::new(kind, "(failed)"),
            (false, _) => Row::new(kind, &text),
        }
    }

    /// Appends the reason why an answer is incomplete.
    fn stop(&mut self, message: &AssistantMessage) {
        let reason = match &message.stop_reason {
            StopReason::Error => "The request failed",
            StopReason::Aborted => "Aborted",
            StopReason::Length => "Cut off at the output limit",
            _ => return,
        };
        self.out.push_str("<p class=\"failure\">");
        self.out.push_str(reason);
        if let Some(error) = &message.error_message {
            self.out.push_str(": ");
            escape::text(self.out, error);
        }
        self.out.push_str("</p>");
    }

    fn system(&mut self, system: &SystemMessage) -> Row {
        self.open("system", "System", "");
        let text = match &system.content {
            MessageContent::Text(text) => text.clone(),
            MessageContent::Blocks(blocks) => {
                blocks.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n\n")
            }
        };
        self.details("prompt", "System prompt");
        if !text.is_empty() {
            self.prose(&text, Breaks::Hard);
        }
        for (name, section) in system.sections.iter().flatten() {
            self.out.push_str("<h3>");
            escape::text(self.out, name);
            self.out.push_str("</h3>\n");
            match section.as_str() {
                Some(text) => self.prose(text, Breaks::Hard),
                None => self.out.push_str("<p class=\"missing\">removed</p>"),
            }
        }
        self.out.push_str("</details>\n");
        if !system.tools_added.is_empty() || !system.tools_removed.is_empty() {
            self.details("prompt", "Tools");
            self.out.push_str("<dl class=\"tools-list\">");
            for added in &system.tools_added {
                self.out.push_str("<dt>");
                escape::text(self.out, &added.name);
                self.out.push_str("</dt>\n<dd>");
                escape::text(self.out, &added.description);
                self.out.push_str("</dd>\n");
            }
            for removed in &system.tools_removed {
                self.out.push_str("<dt><del>");
                escape::text(self.out, &removed.name);
                self.out.push_str("</del></dt><dd>removed</dd>");
            }
            self.out.push_str("</dl></details>\n");
        }
        self.close();
        Row::new("system", "System prompt")
    }

    fn bash(&mut self, execution: &BashExecution) -> Row {
        self.open("bash", "User command", "");
        self.out.push_str("<pre class=\"output\" tabindex=\"0\"><span class=\"command\">$ ");
        escape::text(self.out, &execution.command);
        self.out.push_str("</span>\n");
        ansi::write(self.out, execution.output.trim_end());
        self.out.push_str("</pre>");
        let state = match execution.exit_code {
            _ if execution.cancelled => Some("Cancelled".to_owned()),
            Some(0) => None,
            Some(code) => Some(format!("Exit code {code}")),
            None => Some("Killed".to_owned()),
        };
        let hidden = execution.exclude_from_context == Some(true);
        let hidden = hidden.then(|| "Hidden from the model".to_owned());
        let cut = execution.truncated.then(|| "Output truncated".to_owned());
        let remarks: Vec<String> = state.into_iter().chain(cut).chain(hidden).collect();
        if !remarks.is_empty() {
            self.out.push_str("<p class=\"missing\">");
            escape::text(self.out, &remarks.join(" · "));
            self.out.push_str("</p>");
        }
        self.close();
        Row::new("bash", &format!("$ {}", execution.command))
    }

    fn custom(&mut self, custom_type: &str, content: &UserContent) -> Row {
        self.open("custom", custom_type, "");
        self.content(content, Breaks::Hard);
        self.close();
        Row::new("custom", &format!("{custom_type}: {}", text_of(content)))
    }

    fn compaction(&mut self, summary: &str, tokens_before: f64) -> Row {
        let before = overview::count(tokens_before.max(0.0) as u64);
        self.open("summary", "Compaction", &format!("{before} tokens before"));
        self.details("fold", "Summary of the conversation so far");
        self.prose(summary, Breaks::Soft);
        self.out.push_str("</details>\n");
        self.close();
        Row::new("summary", "Compaction")
    }

    fn branch_summary(&mut self, summary: &str) -> Row {
        self.open("summary", "Branch summary", "");
        self.details("fold", "Summary of the abandoned branch");
        self.prose(summary, Breaks::Soft);
        self.out.push_str("</details>\n");
        self.close();
        Row::new(
            "summary",
            &format!(
                "Branch summary: {}",
                escape::first_line(summary, ROW).trim_start_matches(['#', ' '])
            ),
        )
    }

    fn context_edit(&mut self, edit: &ContextEdit) -> Row {
        let what = if edit.replacement.is_some() { "replaced" } else { "removed" };
        self.open("note", "", "");
        self.out.push_str(&format!("<p>In the context, {what}: <a href=\"#"));
        fragment(self.out, &edit.target_id);
        self.out.push_str("\">an earlier entry</a></p>");
        self.close();
        Row::new("note", &format!("Context: entry {what}"))
    }

    fn note(&mut self, text: &str) -> Row {
        self.open("note", "", "");
        self.out.push_str("<p>");
        escape::text(self.out, text);
        self.out.push_str("</p>");
        self.close();
        Row::new("note", text)
    }

    fn unknown(&mut self, kind: &str) -> Row {
        let title = escape::one_line(kind, 60);
        self.open("unknown", &title, "");
        self.details("fold", "Unknown entry");
        tool::raw(self.out, self.unit.entry);
        self.out.push_str("</details>\n");
        self.close();
        Row::new("unknown", &format!("Unknown entry: {title}"))
    }

    fn content(&mut self, content: &UserContent, breaks: Breaks) {
        match content {
            MessageContent::Text(text) => self.prose(text, breaks),
            MessageContent::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        UserBlock::Text(text) => self.prose(&text.text, breaks),
                        UserBlock::Image(image) => tool::image(self.out, image),
                        UserBlock::Unknown(fields) => tool::raw(self.out, fields),
                    }
                }
            }
        }
    }

    /// Writes a prompt: the words of the user as prose, attached files as they are.
    fn prompt(&mut self, content: &UserContent) {
        let blocks = match content {
            MessageContent::Text(text) => return self.words(text),
            MessageContent::Blocks(blocks) => blocks,
        };
        for block in blocks {
            match block {
                UserBlock::Text(text) => self.words(&text.text),
                UserBlock::Image(image) => tool::image(self.out, image),
                UserBlock::Unknown(fields) => tool::raw(self.out, fields),
            }
        }
    }

    fn words(&mut self, text: &str) {
        let (files, own) = split_files(text);
        if !files.is_empty() {
            self.out.push_str("<pre>");
            escape::text(self.out, files);
            self.out.push_str("</pre>\n");
        }
        if files.is_empty() || !own.is_empty() {
            self.prose(own, Breaks::Hard);
        }
    }

    fn prose(&mut self, text: &str, breaks: Breaks) {
        self.out.push_str("<div class=\"prose\" dir=\"auto\">");
        prose::write(self.out, text, breaks, self.highlighter);
        self.out.push_str("</div>\n");
    }

    fn details(&mut self, class: &str, summary: &str) {
        self.out.push_str(&format!("<details class=\"{class}\"><summary>{summary}</summary>\n"));
    }

    fn open(&mut self, class: &str, title: &str, meta: &str) {
        let entry = self.unit.entry;
        self.out.push_str("<article class=\"");
        self.out.push_str(class);
        self.out.push_str(match self.unit.form {
            Form::Page => "\" id=\"",
            Form::Fragment => "\" data-entry=\"",
        });
        escape::text(self.out, &entry.id);
        self.out.push_str(if self.unit.on_branch { "\">" } else { "\" hidden>" });
        self.out.push_str("<header>");
        if !title.is_empty() {
            self.out.push_str("<h2>");
            escape::text(self.out, title);
            self.out.push_str("</h2>");
        }
        if let Some(label) = self.unit.label {
            self.out.push_str("<span class=\"label\">");
            escape::text(self.out, label);
            self.out.push_str("</span>");
        }
        if !meta.is_empty() {
            self.out.push_str("<span class=\"meta\">");
            escape::text(self.out, meta);
            self.out.push_str("</span>");
        }
        if entry.timestamp.is_ascii()
            && let Some(time) = entry.timestamp.get(11..16)
        {
            self.out.push_str("<time title=\"");
            escape::text(self.out, &entry.timestamp);
            self.out.push_str("\">");
            escape::text(self.out, time);
            self.out.push_str("</time>");
        }
        if self.unit.form == Form::Page {
            self.out.push_str("<a class=\"anchor\" href=\"#");
            fragment(self.out, &entry.id);
            self.out
                .push_str("\" title=\"Copy link\" aria-label=\"Copy link to this entry\">#</a>");
        }
        self.out.push_str("</header>");
    }

    fn close(&mut self) {
        self.out.push_str("</article>\n");
    }
}

/// Appends an id as the fragment of a link.
fn fragment(out: &mut String, id: &str) {
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}
