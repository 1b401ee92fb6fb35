//! One run: a session, a prompt, and what came out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use pi_base::text;
use pi_coding_agent::extension::InputSource;
use pi_coding_agent::session::{
    EndedTurn, OutputContract, PromptOptions, ResultCollector, SessionEvent, Subscription,
};
use pi_coding_agent::{AgentOptions, AgentRuntime, AgentSession};
use pi_config::resources::Resources;
use pi_host::ceiling::Wishes;
use pi_host::{Host, OpenPlan, RunPlace};
use pi_mcp::server::Context;
use serde_json::{Map, Value, json};

use super::super::print::failure_of;
use super::approver::CallerApprover;
use super::changed_files::Before;
use super::plan::Plan;
use crate::exit::{Exit, Failure};
use crate::secrets::redacted;

/// The width of a line of progress, in characters.
const WIDTH: usize = 200;

/// The largest schema of a caller, in bytes.
const SCHEMA: usize = 256 << 10;

/// A run that a caller asks for.
pub(super) struct Work {
    pub(super) options: AgentOptions,
    pub(super) prompt: String,
    /// The schema of the result.
    pub(super) schema: Option<Map<String, Value>>,
    pub(super) wishes: Wishes,
    /// The most that the run can cost, in US dollars.
    pub(super) cost: Option<f64>,
}

/// A run to perform.
pub(super) struct Prepared {
    options: AgentOptions,
    prompt: String,
    contract: Option<OutputContract>,
    wishes: Wishes,
}

impl Work {
    /// Compiles the schema and expands the prompt, on a thread of its own: both can take long. The
    /// error is a message for the caller.
    pub(super) async fn prepare(self) -> Result<Prepared, String> {
        let preparing = tokio::task::spawn_blocking(move || {
            let Self { options, prompt, schema, wishes, .. } = self;
            let contract =
                schema.map(|schema| OutputContract::compile_within(&Value::Object(schema), SCHEMA));
            let contract =
                contract.transpose().map_err(|error| format!("output_schema: {error}"))?;
            let prompt = expanded(&options, prompt)?;
            Ok(Prepared { options, prompt, contract, wishes })
        });
        preparing.await.unwrap_or_else(|_| Err("the run could not be prepared".to_owned()))
    }
}

/// Expands a template or skill. Commands of extensions are for the user of this machine, so they
/// stay what they are: a text.
fn expanded(options: &AgentOptions, prompt: String) -> Result<String, String> {
    if !prompt.starts_with('/') {
        return Ok(prompt);
    }
    let resources = Resources::of(&options.project, &options.resources);
    match resources.expand(&prompt) {
        Ok(expanded) => Ok(expanded.map_or(prompt, |expanded| expanded.text)),
        Err(error) => Err(error.to_string()),
    }
}

impl Prepared {
    /// Performs the run. Returns the result of the tool; the report stays with the run.
    pub(super) async fn perform(
        mut self,
        plan: &Plan,
        host: &Host,
        place: RunPlace,
        context: &Context,
    ) -> Value {
        let started = Instant::now();
        let approver = CallerApprover::new(context);
        self.options.guard.approver = approver.map(|approver| Arc::new(approver) as Arc<_>);
        let collector = self.contract.take().map(|contract| ResultCollector::new(contract, None));
        self.options.extensions.own.extend(collector.as_ref().map(ResultCollector::extension));
        let agent_directory = self.options.environment().agent_directory.clone();
        let selector = self.options.session.selector.clone();
        let mut open = OpenPlan::new(&self.options.environment().cwd);
        open.options = Some(Arc::new(self.options));
        let opened = host.open(selector, open, None).await.and_then(|opened| {
            let hosted = opened.session;
            Ok((hosted.runtime()?, hosted))
        });
        let (runtime, hosted) = match opened {
            Ok(opened) => opened,
            Err(error) => return not_started(&place, &error.to_string(), error.outcome()),
        };
        let session = runtime.session();
        let cwd = session.with_log(|log| log.cwd().to_owned());
        // A part of the path may have become a link since it was checked.
        if let Err(problem) = plan.directories.resolve(&cwd) {
            host.close(hosted.id()).await;
            return not_started(&place, &problem.to_string(), Exit::Failed);
        }
        place.begin(&session, self.wishes);
        let before = Before::of(&agent_directory, &session.id(), &cwd);
        let progress = show_progress(&runtime, &place, context);
        let options = PromptOptions::default().literal().source(InputSource::Rpc);
        let turn = session.turn(self.prompt, options).cancel(place.cancel());
        let end = turn.collect(collector.as_ref()).run().await;
        let mut report = describe(&session, &place, &end, started, &cwd);
        drop((progress, runtime));
        host.close(hosted.id()).await;
        report["files"] = json!(before.changes());
        redact(&mut report);
        place.report(report.clone());
        result(report)
    }
}

/// Reports each tool call as one line.
fn show_progress(runtime: &AgentRuntime, place: &RunPlace, context: &Context) -> Subscription {
    let (note, context) = (place.notes(), context.clone());
    let session = runtime.session().downgrade();
    let count = AtomicU64::new(0);
    runtime.subscribe(move |event| {
        let SessionEvent::ToolExecutionStart { tool_name, args, .. } = event else { return };
        let Some(session) = session.upgrade() else { return };
        let summary = session.effects_of(tool_name, args).summary;
        let summary = summary.map(|summary| summary.text).unwrap_or_default();
        // Redacted first: a part of a secret is not recognized.
        let line = text::line(&redacted(&format!("{tool_name} {summary}")), WIDTH);
        note(&line);
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        context.progress(number as f64, None, Some(&line));
    })
}

/// Describes the usage of a run.
fn usage(end: &EndedTurn, started: Instant) -> Value {
    let usage = end.usage();
    let counts: BTreeMap<&str, u64> = [
        ("input", usage.tokens.input),
        ("output", usage.tokens.output),
        ("cacheRead", usage.tokens.cache_read),
        ("cacheWrite", usage.tokens.cache_write),
        ("totalTokens", usage.tokens.total_tokens),
        ("turns", usage.turns),
        ("toolCalls", usage.tool_calls),
    ]
    .into();
    let mut described = json!(counts);
    described["costUsd"] = json!(usage.tokens.cost.total);
    let duration = started.elapsed().as_millis();
    described["durationMs"] = json!(u64::try_from(duration).unwrap_or(u64::MAX));
    described
}

fn describe(
    session: &AgentSession,
    place: &RunPlace,
    end: &EndedTurn,
    started: Instant,
    cwd: &Path,
) -> Value {
    let failure = failure_of(end);
    let outcome = failure.as_ref().map_or(Exit::Completed, |failure| failure.exit);
    let mut report = json!({
        "runId": place.id(),
        "sessionId": session.id(),
        "outcome": outcome.name(),
        "cwd": cwd.to_string_lossy(),
        "usage": usage(end, started),
        "files": [],
    });
    if let Some(model) = session.model() {
        report["model"] = json!(format!("{}/{}", model.provider, model.id));
    }
    // Without an answer of this run, the last one belongs to an earlier run.
    if report["usage"]["turns"] != 0
        && let Some(text) = session.last_assistant_text()
    {
        report["text"] = json!(text);
    }
    if let Some(Ok(value)) = &end.result {
        report["result"] = (**value).clone();
    }
    if let Some(Failure { message, hint, .. }) = &failure {
        let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        report["error"] = json!(redacted(&format!("{message}{hint}")));
    }
    report
}

/// Redacts the secrets in all texts of a report.
fn redact(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(changed) = redacted(text) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(fields) => fields.values_mut().for_each(redact),
        _ => {}
    }
}

/// Returns the result of a run that could not start.
fn not_started(place: &RunPlace, problem: &str, outcome: Exit) -> Value {
    // An invalid command line is that of the server, not that of the caller.
    let outcome = if outcome == Exit::Usage { Exit::Failed } else { outcome };
    let report = json!({
        "runId": place.id(),
        "sessionId": "",
        "outcome": outcome.name(),
        "error": redacted(problem),
        "usage": {},
        "files": [],
    });
    place.report(report.clone());
    result(report)
}

/// Returns a report as the result of a tool. Everything but a complete answer is an error.
fn result(report: Value) -> Value {
    let is_complete = report["outcome"] == "completed";
    let text = match (&report["result"], &report["error"]) {
        (_, Value::String(error)) => match report["text"].as_str() {
            Some(text) => format!("{error}\n\nThe last answer:\n{text}"),
            None => error.clone(),
        },
        (Value::Null, _) => report["text"].as_str().unwrap_or_default().to_owned(),
        (value, _) => value.to_string(),
    };
    let mut result = json!({
        "content": [{ "type": "text", "text": text }],
        "isError": !is_complete,
    });
    result["structuredContent"] = report;
    result
}
