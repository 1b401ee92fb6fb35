//! One run: a session, a prompt, and what came out.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use pi_agent::Outcome;
use pi_coding_agent::extension::{NoUi, RunMode};
use pi_coding_agent::session::{SessionEvent, Subscription};
use pi_coding_agent::{AgentOptions, AgentRuntime, AgentSession};
use pi_converge::{Collected, OutputContract, ResultCollector};
use pi_mcp::server::Context;
use pi_session::SessionStats;
use serde_json::{Map, Value, json};

use super::super::input::Prompt;
use super::super::print::{failure_of, submit};
use super::super::setup::{self, Agent};
use super::approver::CallerApprover;
use super::changed_files::Before;
use super::runs::Place;
use crate::arguments::Arguments;
use crate::commands::plain;
use crate::exit::{Exit, Failure};
use crate::secrets::redacted;

/// The width of a line of progress, in characters.
const WIDTH: usize = 200;

/// A run to perform.
pub(super) struct Work {
    pub(super) options: AgentOptions,
    pub(super) prompt: String,
    pub(super) schema: Option<OutputContract>,
}

/// Compiles the schema of a caller.
pub(super) fn schema(
    schema: Option<&Map<String, Value>>,
) -> Result<Option<OutputContract>, String> {
    let Some(schema) = schema else { return Ok(None) };
    let compiled = OutputContract::compile(&Value::Object(schema.clone()));
    compiled.map(Some).map_err(|error| format!("output_schema: {error}"))
}

impl Work {
    /// Performs the run. Returns the result of the tool; the report stays with the run.
    pub(super) async fn perform(
        mut self,
        arguments: &Arguments,
        place: Place,
        context: &Context,
    ) -> Value {
        let started = Instant::now();
        let approver = CallerApprover::new(context);
        self.options.approver = approver.map(|approver| Arc::new(approver) as Arc<_>);
        let collector = self.schema.take().map(|contract| ResultCollector::new(contract, None));
        self.options.extensions.extend(collector.as_ref().map(ResultCollector::extension));
        let agent_directory = self.options.environment.agent_directory.clone();
        let created =
            setup::create_silently(arguments, self.options, Arc::new(NoUi), RunMode::Print).await;
        let Agent { runtime, notices } = match created {
            Ok(agent) => agent,
            Err(refused) => return not_started(&place, &refused.into_failure()),
        };
        notices.iter().for_each(setup::report);
        let session = runtime.session();
        place.begin(&session);
        let cwd = session.with_log(|log| log.cwd().to_owned());
        let before = Before::of(&agent_directory, &session.id(), &cwd);
        let earlier = stats(&session);
        let progress = show_progress(&runtime, &place, context);
        let working = answer(&session, self.prompt, collector.as_ref());
        let done = until_cancelled(&session, context, Box::pin(working)).await;
        let spent = Spent { earlier, now: stats(&session), started };
        let mut report = describe(&session, &place, &done, &spent, &cwd);
        drop(progress);
        runtime.shut_down().await;
        report["files"] = json!(before.changes());
        place.report(report.clone());
        result(report)
    }
}

/// What came out of a prompt: a result if there is a schema, or the failure.
type Done = Result<Option<Arc<Value>>, Failure>;

/// Waits for the answer. A caller that gives up aborts the run, which then ends by itself.
async fn until_cancelled(
    session: &AgentSession,
    context: &Context,
    mut working: std::pin::Pin<Box<impl Future<Output = Done>>>,
) -> Done {
    tokio::select! {
        done = &mut working => done,
        () = context.cancel().cancelled() => {
            session.request_abort();
            working.await
        }
    }
}

async fn answer(
    session: &AgentSession,
    prompt: String,
    collector: Option<&ResultCollector>,
) -> Done {
    if let Some(collector) = collector {
        collector.begin(session);
    }
    let mut text = prompt;
    loop {
        let outcome = submit(session, Prompt { text, images: Vec::new() }).await?;
        let outcome = match outcome {
            Some(outcome) => outcome,
            // A command of an extension may have asked the model.
            None => {
                session.wait_for_idle().await;
                Outcome::Completed
            }
        };
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
        let line = plain::line(&format!("{tool_name} {summary}"), WIDTH);
        let line = redacted(&line);
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
        "cwd": cwd,
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
        Exit::Interrupted => "aborted",
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
