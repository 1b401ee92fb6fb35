//! Plays a recording: gives its answers and results to a run, and finds the first difference.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pi_agent::{BoxFuture, ToolError, ToolOutput};
use pi_base::lock;
use pi_coding_agent::guard::ToolDecision;
use pi_coding_agent::hooks::{CommandFailure, FinishedCommand};
use pi_coding_agent::{Tap, TappedCall};
use pi_protocol::{AssistantEvent, AssistantMessage, Provider, Request};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::compare::compare;
use super::divergence::{Cause, Divergence};
use super::provider::ReplayProvider;
use super::recording::{RecordedRequest, Recording};
use super::settings::{changed_default, changes};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::record::{CanonicalRequest, call_key, hash, hook_key};

/// Time after which a call without a recorded result is a difference: the run should have
/// cancelled it by then, as the recorded one did.
const PATIENCE: Duration = Duration::from_secs(5);

/// Plays a recording. Clones play the same one.
#[derive(Clone)]
pub struct Player(Arc<Inner>);

struct Inner {
    recording: Recording,
    /// Version of the program that replays.
    version: String,
    /// The first request that a real model answers.
    live_from: Option<u32>,
    interrupt: Interrupt,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Requests that were answered, by index.
    answered: Vec<bool>,
    /// Number of parts of each kind that were given to the run.
    decisions: HashMap<String, usize>,
    results: HashMap<String, usize>,
    observations: HashMap<String, usize>,
    hooks: HashMap<String, usize>,
    step: u32,
    /// The run reached the place where a clock or a signal ended the recorded one.
    is_cut: bool,
    divergence: Option<Divergence>,
    notes: Vec<String>,
    /// The settings chose the model.
    model_is_default: bool,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReplayReport {
    /// The recording.
    pub recording: PathBuf,
    /// Number of requests that were compared.
    pub steps: u32,
    /// True if a clock or a signal ended the recorded run, so that its end was not compared.
    pub is_cut: bool,
    /// The recorded outcome.
    pub outcome: String,
    /// The first difference.
    pub divergence: Option<Divergence>,
}

/// The answer to a request.
pub(super) enum Answered {
    Recorded { events: Vec<AssistantEvent>, message: Option<Box<AssistantMessage>> },
    Live,
    Diverged,
}

impl Player {
    /// Creates a player. `live_from` is the first request that a real model answers; tools are
    /// executed then, from the first one on.
    pub(crate) fn new(
        recording: Recording,
        version: &str,
        live_from: Option<u32>,
        interrupt: Interrupt,
    ) -> Self {
        let answered = vec![false; recording.requests.len()];
        let notes = match recording.header.program == version {
            true => Vec::new(),
            false => {
                let recorded = &recording.header.program;
                vec![format!("recorded with version {recorded}, replayed with {version}")]
            }
        };
        let state = Mutex::new(State { answered, notes, ..State::default() });
        let version = version.to_owned();
        Self(Arc::new(Inner { recording, version, live_from, interrupt, state }))
    }

    /// Returns true if real models answer from some request on.
    pub(crate) fn is_live(&self) -> bool {
        self.0.live_from.is_some()
    }

    /// Tells that the settings choose the model, so that another default is a difference.
    pub(crate) fn set_default_model(&self, is_default: bool) {
        self.state().model_is_default = is_default;
    }

    /// Compares the settings with the recorded ones. A change alone is no difference, but it
    /// explains one.
    pub(crate) fn compare_settings(&self, now: &Map<String, Value>) {
        let recorded = self.0.recording.observations.get("settings").and_then(|all| all.first());
        let Some(recorded) = recorded.and_then(Value::as_object) else { return };
        let changes = changes(recorded, now);
        let default = changed_default(recorded, now);
        let model_is_default = self.state().model_is_default;
        self.state().notes.extend(changes.iter().map(|change| format!("setting {change}")));
        if let Some((one, other)) = default
            && model_is_default
        {
            let subject = "the default model";
            self.diverged(Divergence::new(1, Cause::Settings, subject, &one, &other));
        }
    }

    /// Returns a recorded fact; `None` if the recording does not have it.
    pub(crate) fn observed<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let value = {
            let mut state = self.state();
            let position = state.observations.entry(name.to_owned()).or_default();
            *position += 1;
            self.0.recording.observations.get(name).and_then(|all| all.get(*position - 1))
        };
        let found = value.cloned().and_then(|value| serde_json::from_value(value).ok());
        if found.is_none() {
            let step = self.state().step;
            let text = if value.is_some() { "in another format" } else { "" };
            self.diverged(Divergence::new(step, Cause::Observation, name, text, "needed"));
        }
        found
    }

    /// Returns true if the recording has another fact of this name.
    pub(crate) fn has_observed(&self, name: &str) -> bool {
        let position = self.state().observations.get(name).copied().unwrap_or_default();
        let recorded = self.0.recording.observations.get(name);
        recorded.is_some_and(|all| all.len() > position)
    }

    /// Returns true if a difference was found.
    pub(crate) fn has_diverged(&self) -> bool {
        self.state().divergence.is_some()
    }

    /// Ends the replay with the outcome of the run.
    pub(crate) fn finish(&self, outcome: &str) -> ReplayReport {
        let recording = &self.0.recording;
        let (left, step) = {
            let state = self.state();
            let left = state.answered.iter().position(|answered| !answered);
            (left.and_then(|at| recording.requests.get(at)), state.step)
        };
        let compares_end = !self.is_live() && !recording.timed && !self.state().is_cut;
        if compares_end && let Some(left) = left {
            let recorded = format!("request {} follows", left.number);
            let now = format!("the run ends: {outcome}");
            let subject = "the end of the run";
            self.diverged(Divergence::new(step, Cause::End, subject, &recorded, &now));
        } else if compares_end && outcome != recording.outcome {
            let subject = "the outcome";
            self.diverged(Divergence::new(step, Cause::End, subject, &recording.outcome, outcome));
        }
        let state = self.state();
        ReplayReport {
            recording: recording.path.clone(),
            steps: state.step,
            is_cut: recording.timed || state.is_cut,
            outcome: recording.outcome.clone(),
            divergence: state.divergence.clone(),
        }
    }

    /// Returns the answer to a request.
    pub(super) fn answer(&self, request: &Request) -> Answered {
        if self.has_diverged() {
            return Answered::Diverged;
        }
        let recording = &self.0.recording;
        let now = CanonicalRequest::new(request);
        let hashes: Vec<String> = now.messages.iter().map(hash).collect();
        let mut state = self.state();
        let open = |at: &usize| state.answered.get(*at) == Some(&false);
        let indexes = 0..recording.requests.len();
        let matching = match self.0.live_from {
            // The results of real tools differ, so requests are answered in their order.
            Some(first) => match indexes.clone().find(open) {
                Some(at) if recording.requests[at].number < first => Some(at),
                _ => return Answered::Live,
            },
            None => indexes.clone().filter(open).find(|at| {
                let one = &recording.requests[*at];
                one.shape == now.shape && is_same(one, &hashes)
            }),
        };
        if let Some(at) = matching {
            state.answered[at] = true;
            let recorded = &recording.requests[at];
            state.step = state.step.max(recorded.number);
            let (events, message) = (recorded.events.clone(), recorded.message.clone());
            return Answered::Recorded { events, message };
        }
        // Requests of several sessions interleave: the nearest one is that of the same session.
        let nearest = indexes
            .filter(open)
            .max_by_key(|at| (common(&recording.requests[*at], &hashes), std::cmp::Reverse(*at)));
        let step = state.step;
        drop(state);
        let divergence = match nearest.and_then(|at| recording.requests.get(at)) {
            Some(recorded) => compare(recorded, &now, &hashes),
            None => {
                let last = now.messages.last().map(Value::to_string).unwrap_or_default();
                let subject = "a request more than recorded";
                Some(Divergence::new(step + 1, Cause::End, subject, "the run ends", &last))
            }
        };
        if let Some(divergence) = divergence {
            self.diverged(divergence);
        }
        Answered::Diverged
    }

    /// Remembers the first difference and ends the run.
    fn diverged(&self, mut divergence: Divergence) {
        let mut state = self.state();
        if state.divergence.is_some() {
            return;
        }
        divergence.notes.clone_from(&state.notes);
        let explained = matches!(
            divergence.cause,
            Cause::Message | Cause::Model | Cause::Options | Cause::Call | Cause::End
        );
        if explained && state.notes.iter().any(|note| note.starts_with("setting ")) {
            divergence.cause = Cause::Settings;
        }
        state.divergence = Some(divergence);
        drop(state);
        self.0.interrupt.interrupt(Outcome::Failed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    /// Returns the recorded result of a call.
    fn result(&self, call: &TappedCall<'_>) -> Option<Result<ToolOutput, ToolError>> {
        let key = call_key(call.id, call.tool, call.arguments);
        let mut state = self.state();
        let position = state.results.entry(key.clone()).or_default();
        let found = self.0.recording.results.get(&key)?.get(*position)?;
        *position += 1;
        Some(found.value.clone().map_err(ToolError::new))
    }
}

fn is_same(recorded: &RecordedRequest, hashes: &[String]) -> bool {
    recorded.messages.len() == hashes.len() && common(recorded, hashes) == hashes.len()
}

/// Returns the number of messages at the beginning that are the same.
fn common(recorded: &RecordedRequest, hashes: &[String]) -> usize {
    recorded.messages.iter().zip(hashes).take_while(|(one, hash)| one.hash == **hash).count()
}

impl Tap for Player {
    fn provider(&self, live: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(ReplayProvider { player: self.clone(), live })
    }

    fn executes_tools(&self) -> bool {
        self.is_live()
    }

    fn decided(&self, call: &TappedCall<'_>, decision: &ToolDecision) {
        if self.is_live() {
            return;
        }
        let key = call_key(call.id, call.tool, call.arguments);
        let (recorded, step) = {
            let mut state = self.state();
            let position = state.decisions.entry(key.clone()).or_default();
            *position += 1;
            let recorded = self.0.recording.decisions.get(&key);
            (recorded.and_then(|all| all.get(*position - 1)), state.step)
        };
        let describe = |decision: &ToolDecision| {
            let reasons = decision.reasons.iter().map(|reason| format!("\n{reason}"));
            decision.decision.name().to_owned() + &reasons.collect::<String>()
        };
        let subject = format!("{} {}", call.tool, decision.what);
        match recorded {
            Some(recorded) if recorded.value.decision == decision.decision => {}
            Some(recorded) => {
                let (one, other) = (describe(&recorded.value), describe(decision));
                let step = recorded.step;
                self.diverged(Divergence::new(step, Cause::Policy, subject, &one, &other));
            }
            None => {
                let now = describe(decision);
                self.diverged(Divergence::new(step, Cause::Call, subject, "", &now));
            }
        }
    }

    fn execute<'a>(
        &'a self,
        call: TappedCall<'a>,
        execute: BoxFuture<'a, Result<ToolOutput, ToolError>>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        if call.is_internal || self.is_live() {
            return execute;
        }
        Box::pin(async move {
            if self.has_diverged() {
                return Err(ToolError::new("the replay differs from the recording"));
            }
            if let Some(result) = self.result(&call) {
                return result;
            }
            if self.0.recording.timed {
                self.state().is_cut = true;
                self.0.interrupt.interrupt(Outcome::Interrupted);
            }
            tokio::time::sleep(PATIENCE).await;
            let subject = format!("the result of {}", call.tool);
            let step = self.state().step;
            self.diverged(Divergence::new(step, Cause::Call, subject, "", "needed"));
            Err(ToolError::new("the replay differs from the recording"))
        })
    }

    fn run_hook<'a>(
        &'a self,
        command: &'a str,
        input: &'a str,
        run: BoxFuture<'a, Result<FinishedCommand, CommandFailure>>,
    ) -> BoxFuture<'a, Result<FinishedCommand, CommandFailure>> {
        if self.is_live() {
            return run;
        }
        let key = hook_key(command, input);
        let (found, step) = {
            let mut state = self.state();
            let position = state.hooks.entry(key.clone()).or_default();
            *position += 1;
            let all = self.0.recording.hooks.get(&key);
            (all.and_then(|all| all.get(*position - 1)).cloned(), state.step)
        };
        if found.is_none() {
            self.diverged(Divergence::new(step, Cause::Settings, "a hook", "", command));
        }
        let missing = || Err(CommandFailure::Start("it is not in the recording".to_owned()));
        Box::pin(std::future::ready(found.unwrap_or_else(missing)))
    }
}

impl std::fmt::Debug for Player {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (recording, version) = (&self.0.recording.path, &self.0.version);
        f.debug_struct("Player")
            .field("recording", recording)
            .field("version", version)
            .finish_non_exhaustive()
    }
}
