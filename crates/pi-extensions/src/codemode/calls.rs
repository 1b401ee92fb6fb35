//! The calls of a script: made as nested calls of the session, a few at a time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pi_agent::{BoxFuture, Budget, FinishedCall, ToolOutput, Updates};
use pi_coding_agent::AgentSession;
use pi_coding_agent::guard::{self, is_untrusted};
use pi_coding_agent::session::NestedCall;
use pi_protocol::{CancelToken, Usage, UserBlock};
use serde_json::{Value, json};

use super::catalog::Catalog;
use super::script::Request;

/// Calls that the details show; characters of their arguments and errors.
const MAX_SHOWN: usize = 256;
const MAX_ARGUMENTS: usize = 2_000;
const MAX_ERROR: usize = 500;

/// Calls whose every change is reported; of later ones only some are.
const REPORTED: usize = 32;
const REPORTED_OF_LATER: usize = 16;

/// Bytes of a result as JSON that a script can receive.
const MAX_RESULT: usize = 64 * 1024 * 1024;

/// Time for calls to end after the script has ended, and after the run was aborted. The loop gives up
/// an aborted tool after 40 ms, and what the script has done would be lost.
const GRACE: Duration = Duration::from_secs(5);
const ABORT_GRACE: Duration = Duration::from_millis(12);

/// Notes of the guard that the result shows.
const MAX_NOTES: usize = 20;

/// Bounds on the calls of one script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fanout {
    /// All calls.
    pub(super) calls: u32,
    /// Calls at the same time; others wait.
    pub(super) parallel: usize,
}

/// The calls of a script.
pub(super) struct Calls {
    pub(super) session: AgentSession,
    /// Id of the call of `codemode`.
    pub(super) parent_id: String,
    pub(super) budget: Budget,
    pub(super) updates: Updates,
    pub(super) catalog: Arc<Catalog>,
    /// Cancels all calls.
    pub(super) cancel: CancelToken,
    pub(super) fanout: Fanout,
    records: Vec<Record>,
    usage: Option<Usage>,
    /// A call returned untrusted output.
    pub(super) is_untrusted: bool,
    /// Notes of the guard that the script did not get, with their calls.
    notes: Vec<String>,
    waiting: VecDeque<Request>,
    running: FuturesUnordered<BoxFuture<'static, (u32, Option<FinishedCall>)>>,
    changes: usize,
    has_ended: bool,
}

/// A call as the details show it.
#[derive(Debug)]
struct Record {
    number: u32,
    name: String,
    arguments: String,
    started: Instant,
    /// Duration, error and cost; `None` while the call runs.
    result: Option<(Duration, Option<String>, f64)>,
}

impl Calls {
    pub(super) fn new(
        session: AgentSession,
        parent_id: String,
        budget: Budget,
        updates: Updates,
        catalog: Arc<Catalog>,
        cancel: CancelToken,
        fanout: Fanout,
    ) -> Self {
        Self {
            session,
            parent_id,
            budget,
            updates,
            catalog,
            cancel,
            fanout,
            records: Vec::new(),
            usage: None,
            is_untrusted: false,
            notes: Vec::new(),
            waiting: VecDeque::new(),
            running: FuturesUnordered::new(),
            changes: 0,
            has_ended: false,
        }
    }

    /// Makes a call, as soon as there is room for it.
    pub(super) fn request(&mut self, request: Request) {
        self.waiting.push_back(request);
        self.start_waiting();
    }

    fn start_waiting(&mut self) {
        while self.running.len() < self.fanout.parallel
            && let Some(request) = self.waiting.pop_front()
        {
            self.start(request);
        }
    }

    /// Notes a call: one that begins, or one that is not made because its script has ended.
    pub(super) fn record(&mut self, request: &Request) {
        // Maps of JSON values can always be written.
        let shown = serde_json::to_string(&request.arguments).unwrap_or_default();
        self.records.push(Record {
            number: request.number,
            name: request.tool.clone(),
            arguments: shown.chars().take(MAX_ARGUMENTS).collect(),
            started: Instant::now(),
            result: None,
        });
    }

    fn start(&mut self, request: Request) {
        self.record(&request);
        let Request { number, tool, arguments } = request;
        let nested = NestedCall {
            id: format!("{}/{number}", self.parent_id),
            parent_id: self.parent_id.clone(),
            name: tool,
            arguments,
            budget: Some(self.budget.clone()),
        };
        let (session, cancel) = (self.session.clone(), self.cancel.clone());
        let budget = self.budget.clone();
        let updates = Updates::new(move |_| budget.activity());
        // A call that outlives the script ends by itself, with its event.
        let call =
            tokio::spawn(async move { session.execute_nested(nested, cancel, updates).await });
        self.running.push(Box::pin(async move { (number, call.await.ok()) }));
        self.report();
    }

    /// Waits for the end of a call. Returns its number, and its value as JSON text or its error.
    /// Never returns while no call runs.
    pub(super) async fn next(&mut self) -> (u32, Result<String, String>) {
        let Some((number, finished)) = self.running.next().await else {
            return std::future::pending().await;
        };
        let Some(finished) = finished else {
            // The task panicked, which no tool causes.
            self.start_waiting();
            return (number, Err("The program failed to make the call.".to_owned()));
        };
        self.finish(number, &finished);
        self.start_waiting();
        let record = self.records.iter().find(|record| record.number == number);
        let tool = record.and_then(|record| self.catalog.find(&record.name));
        let has_schema = tool.is_some_and(|tool| tool.output_schema.is_some());
        (number, value_of(&finished, has_schema))
    }

    fn finish(&mut self, number: u32, finished: &FinishedCall) {
        self.is_untrusted |= is_untrusted(&finished.result);
        let usage = finished.result.usage.as_ref();
        if let Some(usage) = usage {
            *self.usage.get_or_insert_default() += usage;
        }
        // A call that fails after the end of its script was cancelled, and has no result.
        if self.has_ended && finished.is_error {
            return;
        }
        let Some(record) = self.records.iter_mut().find(|record| record.number == number) else {
            return;
        };
        let error = finished.is_error.then(|| text_of(&finished.result));
        let error = error.map(|text| text.chars().take(MAX_ERROR).collect());
        if finished.result.structured_content.is_some() {
            for note in guard::notes(&finished.result) {
                let note = format!("{}: {note}", record.name);
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
        }
        let cost = usage.map_or(0.0, |usage| usage.cost.total);
        record.result = Some((record.started.elapsed(), error, cost));
        self.report();
    }

    /// Cancels the calls that still run, and waits a moment for their ends. Those that do not end in
    /// time count as cancelled.
    pub(super) async fn end(&mut self, is_aborted: bool) {
        self.has_ended = true;
        self.cancel.cancel();
        for request in std::mem::take(&mut self.waiting) {
            self.record(&request);
        }
        let ending = async {
            while let Some((number, finished)) = self.running.next().await {
                if let Some(finished) = finished {
                    self.finish(number, &finished);
                }
            }
        };
        let grace = if is_aborted { ABORT_GRACE } else { GRACE };
        let _ = tokio::time::timeout(grace, ending).await;
    }

    /// Reports the calls so far. With many calls, only some changes are reported. The result has
    /// those of the end: after an abort, a report would take its place.
    pub(super) fn report(&mut self) {
        if self.has_ended || self.cancel.is_cancelled() {
            return;
        }
        self.changes += 1;
        if self.records.len() <= REPORTED || self.changes.is_multiple_of(REPORTED_OF_LATER) {
            let output = ToolOutput::blocks(Vec::new()).with_details(self.details());
            self.updates.send(output);
        }
    }

    /// Returns the calls for the user interface.
    pub(super) fn details(&self) -> Value {
        let shown = self.records.iter().take(MAX_SHOWN);
        let calls: Vec<Value> = shown.map(|record| self.shown(record)).collect();
        match self.records.len().saturating_sub(MAX_SHOWN) {
            0 => json!({ "calls": calls }),
            omitted => json!({ "calls": calls, "omittedCalls": omitted }),
        }
    }

    fn shown(&self, record: &Record) -> Value {
        let mut call = json!({
            "id": format!("{}/{}", self.parent_id, record.number),
            "name": record.name,
            "args": record.arguments,
            "status": if self.has_ended { "cancelled" } else { "running" },
        });
        if let Some((duration, error, cost)) = &record.result {
            call["status"] = if error.is_some() { "error" } else { "ok" }.into();
            call["durationMs"] = (duration.as_secs_f64() * 1000.0).into();
            if let Some(error) = error {
                call["error"] = error.as_str().into();
            }
            if *cost > 0.0 {
                call["cost"] = (*cost).into();
            }
        }
        call
    }

    /// Returns the tokens that the calls spent.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage.clone()
    }

    /// Returns the notes of the guard that the script did not get.
    pub(super) fn notes(&self) -> String {
        let shown = self.notes.iter().take(MAX_NOTES);
        let mut text: String = shown.map(|note| format!("\n{note}")).collect();
        if let Some(more) = self.notes.len().checked_sub(MAX_NOTES).filter(|more| *more > 0) {
            text.push_str(&format!("\nand {more} more notes"));
        }
        text
    }

    /// Says which calls a script made before it failed.
    pub(super) fn summary(&self) -> String {
        const NAMED: usize = 20;
        if self.records.is_empty() {
            return "No tool calls were made.".to_owned();
        }
        let calls = self.records.iter().take(NAMED).map(|record| {
            let status = match &record.result {
                Some((_, None, _)) => "ok",
                Some((_, Some(_), _)) => "error",
                None => "cancelled",
            };
            format!("{} ({status})", record.name)
        });
        let mut calls: Vec<String> = calls.collect();
        if let Some(more) = self.records.len().checked_sub(NAMED).filter(|more| *more > 0) {
            calls.push(format!("and {more} more"));
        }
        let calls = calls.join(", ");
        format!("Tool calls made before the failure (they are not undone): {calls}")
    }
}

/// Returns the value of a call for a script as JSON text, or its error.
fn value_of(finished: &FinishedCall, has_schema: bool) -> Result<String, String> {
    let structured = finished.result.structured_content.as_ref().filter(|_| has_schema);
    let value = match structured {
        // Also of a call that failed, such as a command with another exit code than zero.
        Some(value) => value.to_string(),
        None if finished.is_error => return Err(text_of(&finished.result)),
        None => Value::from(text_of(&finished.result)).to_string(),
    };
    if value.len() > MAX_RESULT {
        return Err(format!(
            "The result has {} bytes, which is too much for a script.",
            value.len()
        ));
    }
    Ok(value)
}

fn text_of(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(|block| match block {
        UserBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
