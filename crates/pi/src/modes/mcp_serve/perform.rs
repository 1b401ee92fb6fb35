//! One run: a session, a prompt, and what came out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pi_agent::Outcome;
use pi_coding_agent::extension::{InputSource, NoUi, RunMode};
use pi_coding_agent::session::{Disposition, PromptOptions, SessionEvent, Subscription};
use pi_coding_agent::{AgentOptions, AgentRuntime, AgentSession, load_resources, load_settings};
use pi_converge::{Collected, OutputContract, ResultCollector};
use pi_mcp::server::Context;
use pi_protocol::CancelToken;
use pi_session::SessionStats;
use serde_json::{Map, Value, json};

use super::super::print::{failure_of, finish, refused};
use super::super::setup::{self, Agent};
use super::approver::CallerApprover;
use super::ceiling::Wishes;
use super::changed_files::Before;
use super::plan::Plan;
use super::runs::Place;
use crate::exit::{Exit, Failure};
use crate::plain;
use crate::secrets::redacted;

/// The width of a line of progress, in characters.
const WIDTH: usize = 200;

/// The largest schema of a caller, in bytes, and the longest time to compile it.
const SCHEMA: usize = 256 << 10;
const SCHEMA_TIME: Duration = Duration::from_secs(5);

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
            let contract = schema.map(|schema| {
                OutputContract::compile_within(&Value::Object(schema), SCHEMA, SCHEMA_TIME)
            });
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
    let (settings, _) = load_settings(options, None, &mut Vec::new());
    let resources = load_resources(&options.environment, &settings, &options.resources);
    match resources.expand(&prompt) {
        Ok(expanded) => Ok(expanded.map_or(prompt, |expanded| expanded.text)),
        Err(error) => Err(error.to_string()),
    }
}

impl Prepared {
    /// Performs the run. Returns the result of the tool; the report stays with the run.
    pub(super) async fn perform(mut self, plan: &Plan, place: Place, context: &Context) -> Value {
        let started = Instant::now();
        let approver = CallerApprover::new(context);
        self.options.approver = approver.map(|approver| Arc::new(approver) as Arc<_>);
        let collector = self.contract.take().map(|contract| ResultCollector::new(contract, None));
        self.options.extensions.extend(collector.as_ref().map(ResultCollector::extension));
        let agent_directory = self.options.environment.agent_directory.clone();
        let (arguments, ui) = (&plan.arguments, Arc::new(NoUi));
        let created = setup::create_silently(arguments, self.options, ui, RunMode::Print).await;
        let Agent { runtime, notices } = match created {
            Ok(agent) => agent,
            Err(refused) => return not_started(&place, &refused.into_failure()),
        };
        notices.iter().for_each(setup::report);
        let session = runtime.session();
        let cwd = session.with_log(|log| log.cwd().to_owned());
        // A part of the path may have become a link since it was checked.
        if let Err(problem) = plan.resolve(&cwd) {
            runtime.shut_down().await;
            return not_started(&place, &Failure::new(problem, Exit::Failed));
        }
        place.begin(&session, self.wishes);
        let before = Before::of(&agent_directory, &session.id(), &cwd);
        let earlier = stats(&session);
        let progress = show_progress(&runtime, &place, context);
        let working = answer(&session, self.prompt, collector.as_ref(), place.cancel());
        let done = until_cancelled(&session, place.cancel(), Box::pin(working)).await;
        let spent = Spent { earlier, now: stats(&session), started };
        let mut report = describe(&session, &place, &done, &spent, &cwd);
        drop(progress);
        runtime.shut_down().await;
        report["files"] = json!(before.changes());
        redact(&mut report);
        place.report(report.clone());
        result(report)
    }
}

/// Result of a prompt: a value if there is a schema, or the failure.
type Done = Result<Option<Arc<Value>>, Failure>;

/// Waits for the answer. A caller that gives up aborts the run, which then ends by itself.
async fn until_cancelled(
    session: &AgentSession,
    cancel: &CancelToken,
    mut working: std::pin::Pin<Box<impl Future<Output = Done>>>,
) -> Done {
    tokio::select! {
        done = &mut working => done,
        () = cancel.cancelled() => {
            session.request_abort();
            working.await
        }
    }
}

async fn answer(
    session: &AgentSession,
    prompt: String,
    collector: Option<&ResultCollector>,
    cancel: &CancelToken,
) -> Done {
    if let Some(collector) = collector {
        collector.begin(session);
    }
    let mut text = prompt;
    loop {
        let outcome = submit(session, &text, cancel).await?;
        let Some(collector) = collector.filter(|_| outcome == Outcome::Completed) else {
            return failure_of(session, &outcome).map_or(Ok(None), Err);
        };
        match collector.collect(session).await {
            Collected::Valid(value) => return Ok(Some(value)),
            Collected::Repair(feedback) => {
                session.continue_budget();
                text = feedback;
            }
            Collected::Invalid(invalid) => {
                let problems = invalid.problems().join("; ");
                let message = format!("the result does not match the schema: {problems}");
                return Err(Failure::new(message, Exit::InvalidOutput));
            }
            _ => return Err(Failure::new("the result cannot be read", Exit::Failed)),
        }
    }
}

/// Submits one prompt as it is, and waits until the session has settled.
async fn submit(
    session: &AgentSession,
    text: &str,
    cancel: &CancelToken,
) -> Result<Outcome, Failure> {
    // An idle session cannot be aborted, so the token counts before and after the run begins.
    if cancel.is_cancelled() {
        return Err(Failure::new("Request was aborted", Exit::Aborted));
    }
    let options = PromptOptions::default().literal().source(InputSource::Rpc);
    let submitted = session.submit(text, options).await.map_err(|error| refused(&error))?;
    if cancel.is_cancelled() {
        session.request_abort();
    }
    match submitted {
        Disposition::Started(run) => finish(run).await,
        // An extension that dealt with the prompt may have asked the model.
        _ => {
            session.wait_for_idle().await;
            Ok(Outcome::Completed)
        }
    }
}

/// Reports each tool call as one line.
fn show_progress(runtime: &AgentRuntime, place: &Place, context: &Context) -> Subscription {
    let (note, context) = (place.notes(), context.clone());
    let session = runtime.session().downgrade();
    let count = AtomicU64::new(0);
    runtime.subscribe(move |event| {
        let SessionEvent::ToolExecutionStart { tool_name, args, .. } = event else { return };
        let Some(session) = session.upgrade() else { return };
        let summary = session.effects_of(tool_name, args).summary;
        let summary = summary.map(|summary| summary.text).unwrap_or_default();
        // Redacted first: a part of a secret is not recognized.
        let line = plain::line(&redacted(&format!("{tool_name} {summary}")), WIDTH);
        note(&line);
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        context.progress(number as f64, None, Some(&line));
    })
}

fn stats(session: &AgentSession) -> SessionStats {
    session.totals().map(|totals| totals.stats).unwrap_or_default()
}

/// The consumption of a run.
struct Spent {
    earlier: SessionStats,
    now: SessionStats,
    started: Instant,
}

impl Spent {
    fn describe(&self) -> Value {
        let spent =
            |count: fn(&SessionStats) -> u64| count(&self.now).saturating_sub(count(&self.earlier));
        let counts: BTreeMap<&str, u64> = [
            ("input", spent(|stats| stats.tokens.input)),
            ("output", spent(|stats| stats.tokens.output)),
            ("cacheRead", spent(|stats| stats.tokens.cache_read)),
            ("cacheWrite", spent(|stats| stats.tokens.cache_write)),
            ("totalTokens", spent(|stats| stats.tokens.total)),
            ("turns", spent(|stats| stats.assistant_messages)),
            ("toolCalls", spent(|stats| stats.tool_calls)),
        ]
        .into();
        let mut usage = json!(counts);
        usage["costUsd"] = json!((self.now.cost - self.earlier.cost).max(0.0));
        let duration = self.started.elapsed().as_millis();
        usage["durationMs"] = json!(u64::try_from(duration).unwrap_or(u64::MAX));
        usage
    }
}

fn describe(
    session: &AgentSession,
    place: &Place,
    done: &Done,
    spent: &Spent,
    cwd: &Path,
) -> Value {
    let mut report = json!({
        "runId": place.id(),
        "sessionId": session.id(),
        "outcome": outcome(done),
        "cwd": cwd.to_string_lossy(),
        "usage": spent.describe(),
        "files": [],
    });
    if let Some(model) = session.model() {
        report["model"] = json!(format!("{}/{}", model.provider, model.id));
    }
    // Without an answer of this run, the last one belongs to an earlier run.
    if spent.now.assistant_messages > spent.earlier.assistant_messages
        && let Some(text) = session.last_assistant_text()
    {
        report["text"] = json!(text);
    }
    match done {
        Ok(Some(value)) => report["result"] = (**value).clone(),
        Ok(None) => {}
        Err(failure) => report["error"] = json!(message(failure)),
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

fn message(failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    redacted(&format!("{}{hint}", failure.message)).into_owned()
}

/// Returns the name of what came out.
fn outcome(done: &Done) -> &'static str {
    let Err(failure) = done else { return "completed" };
    match failure.exit {
        Exit::Truncated => "truncated",
        Exit::Limit => "limit",
        Exit::NoModel => "no-model",
        Exit::SandboxUnavailable => "sandbox-unavailable",
        Exit::Configuration => "configuration",
        Exit::InvalidOutput => "invalid-output",
        Exit::Guardrail => "guardrail",
        Exit::Aborted => "aborted",
        _ => "failed",
    }
}

/// Returns the result of a run that could not start.
fn not_started(place: &Place, failure: &Failure) -> Value {
    let report = json!({
        "runId": place.id(),
        "sessionId": "",
        "outcome": outcome(&Err(failure.clone())),
        "error": message(failure),
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
