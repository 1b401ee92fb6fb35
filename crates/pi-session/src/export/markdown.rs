//! A branch as Markdown, to read, to paste into an issue or to pass to another model.
//!
//! A quoted text is fenced with more backticks than it contains, so it cannot end its fence.

use std::collections::HashMap;
use std::io::Write;

use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, CustomMessage, Entry, EntryBody, Message,
    MessageContent, ToolCall, ToolResultMessage, UserBlock, UserContent,
};

use super::call::DescribedCall;
use super::overview::{self, Overview};
use super::{ansi, escape, tool};
use crate::EffectsResolver;
use crate::roles::{
    BashExecution, BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage,
};
use crate::{Session, SessionError};

/// Options for the Markdown export.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MarkdownOptions {
    /// Detail of tool calls and results.
    pub tools: ToolDetail,
    /// Includes the thinking of the model.
    pub thinking: bool,
    /// Includes system prompts and tool declarations.
    pub system: bool,
    /// The effects of tool calls; without them a call is described by its arguments.
    pub effects: EffectsResolver,
}

/// The detail of tool calls and their results in an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolDetail {
    /// Calls and results are left out.
    None,
    /// Each call is one line, and results are left out.
    Line,
    /// Each call is one line, followed by this many lines of its result.
    Lines(usize),
    /// Calls and results are complete.
    Full,
}

impl Default for MarkdownOptions {
    fn default() -> Self {
        Self {
            tools: ToolDetail::Lines(20),
            thinking: false,
            system: false,
            effects: EffectsResolver::default(),
        }
    }
}

impl MarkdownOptions {
    /// Sets the detail of tool calls and results.
    #[must_use]
    pub fn tools(mut self, tools: ToolDetail) -> Self {
        self.tools = tools;
        self
    }

    /// Includes or leaves out the thinking of the model.
    #[must_use]
    pub fn thinking(mut self, thinking: bool) -> Self {
        self.thinking = thinking;
        self
    }

    /// Includes or leaves out system prompts and tool declarations.
    #[must_use]
    pub fn system(mut self, system: bool) -> Self {
        self.system = system;
        self
    }

    /// Sets the resolver of effects, by which tool calls are described.
    #[must_use]
    pub fn effects(mut self, effects: EffectsResolver) -> Self {
        self.effects = effects;
        self
    }
}

/// Writes the current branch.
pub(super) fn write(
    session: &Session,
    options: &MarkdownOptions,
    out: &mut impl Write,
) -> Result<(), SessionError> {
    let mut writer = Writer {
        options,
        text: String::new(),
        calls: HashMap::new(),
        several: false,
        in_answer: false,
    };
    writer.head(&Overview::read(session)?);
    for entry in session.branch_entries(None)? {
        match entry {
            Ok(entry) => writer.entry(&entry),
            Err(SessionError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        out.write_all(writer.text.as_bytes()).map_err(SessionError::io("write", "the export"))?;
        writer.text.clear();
    }
    out.write_all(writer.text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(SessionError::io("write", "the export"))
}

struct Writer<'a> {
    options: &'a MarkdownOptions,
    text: String,
    /// The line of each call of the last answer that has no result yet.
    calls: HashMap<String, String>,
    /// The last answer has several calls, so that each result has to name its call.
    several: bool,
    /// The current section is that of an answer.
    in_answer: bool,
}

impl Writer<'_> {
    fn head(&mut self, overview: &Overview) {
        self.text.push_str(&format!("# {}\n\n", inline(&overview.title)));
        let mut facts = vec![format!("{} UTC", overview::date(&overview.created))];
        if !overview.cwd.is_empty() {
            facts.push(code_span(&overview.cwd));
        }
        facts.extend(overview.models.iter().map(|model| inline(model)));
        facts.push(format!("{} messages", overview::messages(&overview.stats)));
        if overview.stats.tokens.total > 0 {
            facts.push(overview::cost(overview.stats.cost));
        }
        self.text.push_str(&facts.join(" · "));
        self.text.push('\n');
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message(AgentMessage::Llm(message)) => self.message(message),
            EntryBody::Message(message) => self.role(message),
            EntryBody::CustomMessage(body) if body.display => {
                self.heading(&body.custom_type);
                self.content(&body.content);
            }
            EntryBody::Compaction(body) => self.section("Compaction", &body.summary),
            EntryBody::BranchSummary(body) if !body.summary.is_empty() => {
                self.section("Branch summary", &body.summary);
            }
            EntryBody::ModelChange { provider, model_id } => {
                self.block(&format!("*Model: {}*", inline(&format!("{provider}/{model_id}"))));
            }
            EntryBody::ThinkingLevelChange { thinking_level } => {
                self.block(&format!("*Thinking: {}*", inline(thinking_level)));
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &Message) {
        match message {
            Message::User(user) => {
                self.heading("User");
                self.content(&user.content);
            }
            Message::Assistant(assistant) => self.assistant(assistant),
            Message::ToolResult(result) => self.result(result),
            Message::System(system) if self.options.system => {
                self.heading("System");
                match &system.content {
                    MessageContent::Text(text) => self.block(text),
                    MessageContent::Blocks(blocks) => {
                        blocks.iter().for_each(|block| self.block(&block.text));
                    }
                }
                for (name, section) in system.sections.iter().flatten() {
                    self.block(&format!("**{}**", inline(name)));
                    self.block(section.as_str().unwrap_or("*removed*"));
                }
                let names: Vec<String> =
                    system.tools_added.iter().map(|tool| code_span(&tool.name)).collect();
                if !names.is_empty() {
                    self.block(&format!("Tools: {}", names.join(", ")));
                }
            }
            Message::System(_) => {}
        }
    }

    fn role(&mut self, message: &AgentMessage) {
        if let Some(bash) = message.as_custom::<BashExecution>() {
            self.heading("User command");
            let output = ansi::strip(bash.output.trim_end());
            self.fence("sh", &format!("$ {}\n{output}", bash.command));
        } else if let Some(custom) = message.as_custom::<ExtensionMessage>() {
            if custom.display {
                self.heading(&custom.custom_type);
                self.content(&custom.content);
            }
        } else if let Some(summary) = message.as_custom::<BranchSummaryMessage>() {
            self.section("Branch summary", &summary.summary);
        } else if message.role() == CompactionSummaryMessage::ROLE
            && let Some(summary) = message.as_custom::<CompactionSummaryMessage>()
        {
            self.section("Compaction", &summary.summary);
        }
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        self.calls.clear();
        self.several = message.tool_calls().nth(1).is_some();
        let speaks = message.content.iter().any(|block| match block {
            AssistantBlock::Text(text) => !text.text.trim().is_empty(),
            AssistantBlock::Thinking(thinking) => {
                self.options.thinking && !thinking.thinking.trim().is_empty()
            }
            _ => false,
        });
        // Turns that only call tools continue the section of the turn before.
        let calls = message.tool_calls().next().is_some() && self.options.tools != ToolDetail::None;
        if speaks || (calls && !self.in_answer) || message.stop_reason.is_failure() {
            self.heading("Assistant");
            self.in_answer = true;
        }
        for block in &message.content {
            match block {
                AssistantBlock::Text(text) => self.block(&text.text),
                AssistantBlock::Thinking(thinking) if self.options.thinking => {
                    let quoted: Vec<String> =
                        thinking.thinking.lines().map(|line| format!("> {line}")).collect();
                    self.block(&quoted.join("\n"));
                }
                AssistantBlock::ToolCall(call) => self.call(call),
                _ => {}
            }
        }
        if message.stop_reason.is_failure() {
            let reason = message.error_message.as_deref().unwrap_or("aborted");
            self.block(&format!("*Failed: {}*", inline(reason)));
        }
    }

    fn call(&mut self, call: &ToolCall) {
        let described = DescribedCall::new(call, &self.options.effects);
        let mut line = format!("**{}**", inline(&call.name));
        if !described.summary.is_empty() {
            line.push(' ');
            line.push_str(&code_span(&described.summary));
        }
        match self.options.tools {
            ToolDetail::None => {}
            ToolDetail::Full if !described.is_summary_complete() => {
                self.calls.insert(call.id.clone(), line.clone());
                self.block(&line);
                let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
                self.fence("json", &arguments);
            }
            _ => {
                self.calls.insert(call.id.clone(), line.clone());
                self.block(&line);
            }
        }
    }

    fn result(&mut self, result: &ToolResultMessage) {
        if matches!(self.options.tools, ToolDetail::None) {
            return;
        }
        let line = self.calls.remove(&result.tool_call_id);
        if self.several
            && let Some(line) = line
        {
            self.block(&format!("{line}:"));
        }
        if result.is_error {
            self.block("*Failed:*");
        }
        if matches!(self.options.tools, ToolDetail::Line) {
            return;
        }
        if !result.is_error
            && let Some(diff) = tool::diff_of(result)
        {
            let diff = self.abbreviate(diff);
            return self.fence("diff", &diff);
        }
        for block in &result.content {
            match block {
                UserBlock::Text(text) => {
                    let text = self.abbreviate(&ansi::strip(text.text.trim_end()));
                    if !text.is_empty() {
                        self.fence("", &text);
                    }
                }
                UserBlock::Image(image) => {
                    self.block(&format!("*Image ({})*", inline(&image.mime_type)));
                }
                UserBlock::Unknown(_) => {}
            }
        }
    }

    fn abbreviate(&self, text: &str) -> String {
        let ToolDetail::Lines(limit) = self.options.tools else { return text.to_owned() };
        let count = text.lines().count();
        let mut short: Vec<String> =
            text.lines().take(limit).map(|line| escape::shorten(line, 400)).collect();
        if count > limit {
            short.push(format!("… {} more lines", count - limit));
        }
        short.join("\n")
    }

    fn content(&mut self, content: &UserContent) {
        match content {
            MessageContent::Text(text) => self.block(text),
            MessageContent::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        UserBlock::Text(text) => self.block(&text.text),
                        UserBlock::Image(image) => {
                            self.block(&format!("*Image ({})*", inline(&image.mime_type)));
                        }
                        UserBlock::Unknown(_) => {}
                    }
                }
            }
        }
    }

    fn section(&mut self, title: &str, text: &str) {
        self.heading(title);
        self.block(text);
    }

    fn heading(&mut self, title: &str) {
        self.in_answer = false;
        self.text.push_str(&format!("\n## {}\n", inline(title)));
    }

    fn block(&mut self, text: &str) {
        let text = text.trim_matches('\n').trim_end();
        if !text.is_empty() {
            self.text.push('\n');
            contain(&mut self.text, text);
        }
    }

    fn fence(&mut self, language: &str, text: &str) {
        let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
        self.text.push_str(&format!("\n{fence}{language}\n{text}\n{fence}\n"));
    }
}

/// Appends Markdown of a message, and closes or escapes fences, comments and tags that would
/// otherwise extend beyond it.
fn contain(out: &mut String, text: &str) {
    let mut open: Option<String> = None;
    for line in text.lines() {
        let begun = line.trim_start();
        let mark = begun.chars().next().filter(|c| matches!(c, '`' | '~')).unwrap_or('`');
        let run: String = begun.chars().take_while(|c| *c == mark).collect();
        match &open {
            None if run.len() >= 3 && !begun[run.len()..].contains('`') => open = Some(run),
            None if begins_html(begun) => out.push('\\'),
            Some(fence) if run.starts_with(fence.as_str()) && begun.trim_end() == run => {
                open = None;
            }
            _ => {}
        }
        out.push_str(line);
        out.push('\n');
    }
    if let Some(fence) = open {
        out.push_str(&fence);
        out.push('\n');
    }
}

/// Returns true if a line begins HTML that a blank line does not end.
fn begins_html(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('<') else { return false };
    let tag = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    rest.starts_with(['!', '?'])
        || ["pre", "script", "style", "textarea"].iter().any(|t| tag.eq_ignore_ascii_case(t))
}

fn longest_run(text: &str, mark: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == mark { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Formats a text as inline code.
fn code_span(text: &str) -> String {
    let text = escape::one_line(text, 400);
    let mark = "`".repeat(longest_run(&text, '`') + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{mark}{space}{text}{space}{mark}")
}

/// Escapes a text for use inside a line.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for character in escape::one_line(text, 400).chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}
