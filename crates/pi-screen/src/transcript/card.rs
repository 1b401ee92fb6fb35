//! A tool call while it happens: arguments that arrive, output that grows, the result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_agent::ToolOutput;
use pi_protocol::{PartialJson, ToolResultMessage};
use pi_tui::Line;
use serde_json::{Map, Value};

use super::options::{Look, Shared};
use super::slot::Draw;
use super::tool::{self, Call, Output, Progress, Time};

/// A tool call.
#[derive(Debug)]
pub(super) struct Card {
    id: String,
    name: String,
    arguments: Arguments,
    result: Outcome,
    progress: Progress,
    /// The call began, and is measured.
    started: Option<Instant>,
    /// Whole seconds since the beginning that are shown.
    elapsed: Duration,
    /// The begin of a question to the user, and the time that earlier ones took: it is not that of the
    /// call.
    asked: Option<Instant>,
    waited: Duration,
    took: Option<f64>,
    preview: Option<String>,
    has_begun: bool,
    is_known: bool,
}

#[derive(Debug)]
enum Arguments {
    /// Arguments that stream: the part that arrived, and the parser of the rest.
    Partial(Map<String, Value>, PartialJson),
    Complete(Arc<Map<String, Value>>),
}

#[derive(Debug)]
enum Outcome {
    None,
    Output(Arc<ToolOutput>),
    Message(Arc<ToolResultMessage>),
}

impl Card {
    /// Creates a call whose arguments have not arrived.
    pub(super) fn new(id: &str, name: &str, is_known: bool) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: Arguments::Partial(Map::new(), PartialJson::new()),
            result: Outcome::None,
            progress: Progress::Pending,
            started: None,
            elapsed: Duration::ZERO,
            asked: None,
            waited: Duration::ZERO,
            took: None,
            preview: None,
            has_begun: false,
            is_known,
        }
    }

    /// Adds a piece of the arguments.
    pub(super) fn push(&mut self, delta: &str) {
        if let Arguments::Partial(arguments, parser) = &mut self.arguments {
            parser.push(delta, arguments);
        }
    }

    /// Sets the name and the complete arguments.
    pub(super) fn complete(
        &mut self,
        name: &str,
        is_known: bool,
        arguments: Arc<Map<String, Value>>,
    ) {
        if self.name != name {
            name.clone_into(&mut self.name);
        }
        self.is_known = is_known;
        self.arguments = Arguments::Complete(arguments);
    }

    /// Sets the real id of the call.
    pub(super) fn set_id(&mut self, id: &str) {
        id.clone_into(&mut self.id);
    }

    pub(super) fn is_complete(&self) -> bool {
        matches!(self.arguments, Arguments::Complete(_))
    }

    pub(super) fn is_pending(&self) -> bool {
        self.progress == Progress::Pending
    }

    pub(super) fn arguments(&self) -> &Map<String, Value> {
        match &self.arguments {
            Arguments::Partial(arguments, _) => arguments,
            Arguments::Complete(arguments) => arguments,
        }
    }

    /// Sets the diff that the call would make.
    pub(super) fn set_preview(&mut self, preview: Option<String>) {
        self.preview = preview;
    }

    /// Begins the call; its time is measured if the box shows it.
    pub(super) fn begin(&mut self, now: Instant) {
        self.has_begun = true;
        if self.is_pending() && tool::shows_time(&self.name) {
            self.started = Some(now);
        }
    }

    /// Stops the time of the call while the user is asked about it.
    pub(super) fn ask(&mut self, now: Instant) {
        self.asked.get_or_insert(now);
    }

    /// Lets the time of the call go on.
    pub(super) fn answered(&mut self, now: Instant) {
        if let Some(asked) = self.asked.take() {
            self.waited += now.saturating_duration_since(asked);
        }
    }

    /// Sets the output so far. Updates that come after the result are late.
    pub(super) fn update(&mut self, output: &Arc<ToolOutput>) {
        if self.is_pending() {
            self.result = Outcome::Output(Arc::clone(output));
        }
    }

    /// Ends the call with its output.
    pub(super) fn end(&mut self, output: &Arc<ToolOutput>, is_error: bool, ms: Option<u64>) {
        self.result = Outcome::Output(Arc::clone(output));
        self.finish(is_error, ms.map(|ms| ms as f64));
    }

    /// Ends the call with the message that is stored.
    pub(super) fn set_result(&mut self, message: &Arc<ToolResultMessage>) {
        self.result = Outcome::Message(Arc::clone(message));
        self.finish(message.is_error, message.duration_ms);
    }

    /// Ends a call that will not run.
    pub(super) fn abandon(&mut self) {
        if self.is_pending() {
            self.finish(true, None);
        }
    }

    fn finish(&mut self, is_error: bool, ms: Option<f64>) {
        self.progress = if is_error { Progress::Error } else { Progress::Success };
        let waited = self.waited.as_secs_f64();
        self.took = ms.map(|ms| (ms / 1000.0 - waited).max(0.0)).or(self.took);
        self.started = None;
    }

    /// Returns the time at which the shown time changes next, if one is shown.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        let started = self.started.filter(|_| self.asked.is_none())?;
        Some(started + self.waited + self.elapsed + Duration::from_secs(1))
    }

    /// Moves the shown time; returns true if it changed.
    pub(super) fn tick(&mut self, now: Instant) -> bool {
        let Some(started) = self.started else { return false };
        let elapsed = now.saturating_duration_since(started).saturating_sub(self.waited);
        let elapsed = Duration::from_secs(elapsed.as_secs());
        std::mem::replace(&mut self.elapsed, elapsed) != elapsed
    }
}

impl Draw for Card {
    fn draw(&self, look: Look<'_>, _shared: &Shared) -> Vec<Line> {
        let output = match &self.result {
            Outcome::None => None,
            Outcome::Output(output) => {
                Some(Output { content: &output.content, details: output.details.as_ref() })
            }
            Outcome::Message(message) => {
                Some(Output { content: &message.content, details: message.details.as_ref() })
            }
        };
        let time = match (self.took, self.started) {
            (Some(seconds), _) => Some(Time::Took(seconds)),
            (None, Some(_)) => Some(Time::Elapsed(self.elapsed.as_secs_f64())),
            (None, None) => None,
        };
        let call = Call {
            id: &self.id,
            has_begun: self.has_begun || !self.is_pending(),
            name: &self.name,
            arguments: self.arguments(),
            is_streaming: !self.is_complete() && self.is_pending(),
            output,
            progress: self.progress,
            time,
            preview: self.preview.as_deref(),
            is_interrupted: false,
            is_known: self.is_known,
        };
        lines(&call, look)
    }
}

/// Returns the lines of a call below an empty one.
pub(super) fn lines(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let mut lines = vec![Line::new()];
    lines.extend(tool::render(call, look));
    lines
}
