//! The current branch as a trajectory in the Agent Trajectory Interchange Format (ATIF).
//!
//! A trajectory is a JSON object with one step per message. The result of a tool call belongs to
//! the step that made the call, so a step is written when the next answer begins. Readers of ATIF
//! reject unknown keys; other data goes into the `extra` objects of the format.

mod parts;

use std::io::Write;

use pi_protocol::{
    AgentMessage, AssistantMessage, Declarations, Entry, EntryBody, Message, SystemMessage,
    ToolResultMessage, Usage, render_system_update,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use self::parts::{Metrics, Observed, Source, Step, ToolCall, extra, model_name, text_of};
use crate::roles::{BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage, to_llm};
use crate::{Session, SessionError, SessionStats, time};

const VERSION: &str = "ATIF-v1.8";

/// Writes the current branch.
pub(super) fn write(
    session: &Session,
    version: &str,
    out: &mut impl Write,
) -> Result<(), SessionError> {
    let summary = Summary::read(session)?;
    let mut writer = Writer { out, steps: Vec::new(), count: 0 };
    writer.head(session, version, &summary)?;
    let mut has_prompt = false;
    for entry in session.branch_entries(None)? {
        match entry {
            Ok(entry) => writer.entry(&entry, &mut has_prompt)?,
            Err(SessionError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    writer.flush()?;
    if writer.count == 0 {
        return Err(SessionError::NoMessages);
    }
    writer.tail(session, &summary)
}

/// The facts of a branch that the trajectory states outside its steps.
#[derive(Default)]
struct Summary {
    model: Option<String>,
    /// Every tool that was available, in its last form.
    tools: Declarations,
    stats: SessionStats,
    /// Requests were made for tools and summaries, whose tokens no step can state as its metrics.
    has_other_requests: bool,
}

impl Summary {
    fn read(session: &Session) -> Result<Self, SessionError> {
        let mut summary = Self::default();
        for entry in session.branch_entries(None)? {
            match entry {
                Ok(entry) => summary.add(&entry),
                Err(SessionError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(summary)
    }

    fn add(&mut self, entry: &Entry) {
        self.stats.add(entry);
        let other = match &entry.body {
            EntryBody::ModelChange { provider, model_id } => {
                self.model = Some(model_name(provider, model_id));
                None
            }
            EntryBody::Usage(record) => Some(&record.usage),
            EntryBody::Compaction(body) => body.usage.as_ref(),
            EntryBody::BranchSummary(body) => body.usage.as_ref(),
            EntryBody::Message(AgentMessage::Llm(message)) => match message {
                Message::Assistant(answer) => {
                    self.model = Some(model_name(&answer.provider, &answer.model));
                    None
                }
                Message::ToolResult(result) => result.usage.as_ref(),
                Message::System(system) => {
                    let mut system = SystemMessage::clone(system);
                    system.tools_removed.clear();
                    self.tools.apply(&system);
                    None
                }
                Message::User(_) => None,
            },
            _ => None,
        };
        self.has_other_requests |= other.is_some_and(|usage| *usage != Usage::default());
    }

    /// Returns the declarations of the tools, in the form of the chat completions of OpenAI.
    fn tool_definitions(&self) -> Vec<Value> {
        let function = |tool: &pi_protocol::Tool| {
            let description = Some(&tool.description).filter(|text| !text.is_empty());
            let parameters = Some(&tool.parameters).filter(|schema| !schema.is_null());
            let function = extra([
                ("name", json!(tool.name)),
                ("description", json!(description)),
                ("parameters", json!(parameters)),
            ]);
            json!({ "type": "function", "function": function })
        };
        self.tools.tools.iter().map(function).collect()
    }
}

struct Writer<'a, W> {
    out: &'a mut W,
    /// The last answer and the steps after it, which wait for the results of its calls.
    steps: Vec<Step>,
    /// The number of written steps.
    count: u64,
}

impl<W: Write> Writer<'_, W> {
    fn head(
        &mut self,
        session: &Session,
        version: &str,
        summary: &Summary,
    ) -> Result<(), SessionError> {
        let mut agent = extra([
            ("name", json!("pi")),
            ("version", json!(version)),
            ("model_name", json!(summary.model)),
        ]);
        let tools = summary.tool_definitions();
        if !tools.is_empty() {
            agent.insert("tool_definitions".to_owned(), Value::Array(tools));
        }
        self.text("{")?;
        self.field("schema_version", &VERSION)?;
        self.field("session_id", &session.header().id)?;
        self.field("agent", &agent)?;
        self.text("\"steps\":[")
    }

    fn tail(&mut self, session: &Session, summary: &Summary) -> Result<(), SessionError> {
        self.text("\n],\n")?;
        if summary.has_other_requests {
            let notes = "final_metrics include the requests of tools and summaries, which are not \
                         part of the metrics of steps.";
            self.field("notes", &notes)?;
        }
        let cwd = Some(&session.header().cwd).filter(|cwd| !cwd.is_empty());
        let about = extra([("name", json!(session.name())), ("cwd", json!(cwd))]);
        if !about.is_empty() {
            self.field("extra", &about)?;
        }
        let SessionStats { tokens, cost, .. } = &summary.stats;
        let prompt = tokens.input.saturating_add(tokens.cache_read);
        let totals = extra([
            ("total_prompt_tokens", json!(prompt.saturating_add(tokens.cache_write))),
            ("total_completion_tokens", json!(tokens.output)),
            ("total_cached_tokens", json!(tokens.cache_read)),
            ("total_cost_usd", json!(Some(cost).filter(|cost| **cost > 0.0))),
            ("total_steps", json!(self.count)),
        ]);
        self.text("\"final_metrics\":")?;
        self.json(&totals)?;
        self.text("}\n")?;
        self.out.flush().map_err(SessionError::io("write", "the export"))
    }

    fn entry(&mut self, entry: &Entry, has_prompt: &mut bool) -> Result<(), SessionError> {
        let step = match &entry.body {
            EntryBody::Message(AgentMessage::Llm(message)) => match message {
                Message::User(user) => Some(Step::new(Source::User, text_of(&user.content))),
                Message::Assistant(message) => {
                    self.flush()?;
                    Some(answer(message))
                }
                Message::System(message) => Some(system(message, has_prompt)),
                Message::ToolResult(result) => self.result(result),
            },
            EntryBody::Message(message) => role(message),
            EntryBody::CustomMessage(body) => {
                Some(extension(&body.custom_type, text_of(&body.content)))
            }
            EntryBody::Compaction(body) => {
                let mut step = summary("compaction", &body.summary, body.usage.as_ref());
                step.extra.insert("tokens_before".to_owned(), json!(body.tokens_before));
                Some(step)
            }
            EntryBody::BranchSummary(body) if !body.summary.is_empty() => {
                Some(summary("branch_summary", &body.summary, body.usage.as_ref()))
            }
            _ => None,
        };
        if let Some(mut step) = step {
            step.timestamp = time::parse_ms(&entry.timestamp).and_then(time::format_ms);
            step.extra.insert("entry_id".to_owned(), json!(entry.id));
            self.steps.push(step);
        }
        Ok(())
    }

    /// Adds a result to the step of its call; returns a step of its own if there is none.
    fn result(&mut self, result: &ToolResultMessage) -> Option<Step> {
        let mut observed = Observed {
            source_call_id: Some(result.tool_call_id.clone()),
            content: parts::blocks(&result.content),
            extra: extra([
                ("tool_name", json!(result.tool_name)),
                ("is_error", json!(result.is_error)),
                ("duration_ms", json!(result.duration_ms)),
                ("usage", json!(result.usage.as_ref().map(Metrics::of))),
            ]),
        };
        let caller = self.steps.first_mut().filter(|step| step.calls(&result.tool_call_id));
        if let Some(step) = caller {
            step.observe(observed);
            return None;
        }
        // A reference to a call of another step is invalid.
        observed.source_call_id = None;
        observed.extra.insert("tool_call_id".to_owned(), json!(result.tool_call_id));
        let mut step = Step::new(Source::System, String::new());
        step.observe(observed);
        Some(step)
    }

    /// Writes the waiting steps.
    fn flush(&mut self) -> Result<(), SessionError> {
        for mut step in std::mem::take(&mut self.steps) {
            self.count += 1;
            step.step_id = self.count;
            self.text(if self.count == 1 { "\n" } else { ",\n" })?;
            self.json(&step)?;
        }
        Ok(())
    }

    fn field(&mut self, name: &str, value: &impl Serialize) -> Result<(), SessionError> {
        self.text(&format!("\"{name}\":"))?;
        self.json(value)?;
        self.text(",\n")
    }

    fn json(&mut self, value: &impl Serialize) -> Result<(), SessionError> {
        self.text(&serde_json::to_string(value)?)
    }

    fn text(&mut self, text: &str) -> Result<(), SessionError> {
        self.out.write_all(text.as_bytes()).map_err(SessionError::io("write", "the export"))
    }
}

fn answer(message: &AssistantMessage) -> Step {
    let mut step = Step::new(Source::Agent, message.text());
    step.model_name = Some(model_name(&message.provider, &message.model));
    step.reasoning_effort = message.thinking_level.map(pi_protocol::ThinkingLevel::as_str);
    step.reasoning_content = parts::thinking(message);
    step.tool_calls = message.tool_calls().map(ToolCall::of).collect();
    step.metrics = Some(Metrics::of(&message.usage));
    step.llm_call_count = Some(1);
    step.extra = extra([
        ("stop_reason", json!(message.stop_reason)),
        ("error_message", json!(message.error_message)),
        ("response_id", json!(message.response_id)),
        ("response_model", json!(message.response_model)),
    ]);
    step
}

/// Converts a system message: the first one is the prompt, later ones change it.
fn system(message: &SystemMessage, has_prompt: &mut bool) -> Step {
    let is_change = std::mem::replace(has_prompt, true);
    let text = if is_change { render_system_update(message) } else { message.prompt() };
    let mut step = Step::new(Source::System, text);
    let added: Vec<&str> = message.tools_added.iter().map(|tool| tool.name.as_str()).collect();
    let removed: Vec<&str> = message.tools_removed.iter().map(|tool| tool.name.as_str()).collect();
    for (key, names) in [("tools_added", added), ("tools_removed", removed)] {
        if !names.is_empty() {
            step.extra.insert(key.to_owned(), json!(names));
        }
    }
    step
}

/// Converts a message of a role that only coding sessions have, if the model sees the message.
fn role(message: &AgentMessage) -> Option<Step> {
    if let Some(message) = message.as_custom::<ExtensionMessage>() {
        return Some(extension(&message.custom_type, text_of(&message.content)));
    }
    if let Some(body) = message.as_custom::<BranchSummaryMessage>() {
        return Some(summary("branch_summary", &body.summary, None));
    }
    if let Some(body) = message.as_custom::<CompactionSummaryMessage>() {
        return Some(summary("compaction", &body.summary, None));
    }
    let Message::User(user) = to_llm(message)? else { return None };
    let mut step = Step::new(Source::User, text_of(&user.content));
    step.extra.insert("role".to_owned(), json!(message.role()));
    Some(step)
}

fn extension(custom_type: &str, text: String) -> Step {
    let mut step = Step::new(Source::System, text);
    step.extra.insert("custom_type".to_owned(), json!(custom_type));
    step
}

fn summary(kind: &str, text: &str, usage: Option<&Usage>) -> Step {
    let mut step = Step::new(Source::System, text.to_owned());
    let usage = usage.map(Metrics::of);
    step.extra = Map::from_iter([("kind".to_owned(), json!(kind))]);
    step.extra.extend(extra([("usage", json!(usage))]));
    step
}
