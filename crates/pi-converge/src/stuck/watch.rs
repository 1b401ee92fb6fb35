//! Watches a session: steers the agent when it repeats itself, and ends its work when it is stuck.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pi_agent::{AssistantMessage, BoxFuture, ToolResultMessage, UserBlock};
use pi_base::lock;
use pi_coding_agent::extension::InputSource;
use pi_coding_agent::session::{AgentSession, SessionEvent, SessionListener, Subscription};
use serde::Deserialize as _;
use serde_json::Value;

use super::files::{Files, Written};
use super::{CallRecord, Detector, FileChange, Judgment, StuckEvidence, note};
use crate::contract::StuckLimits;
use crate::report::CheckReport;
use crate::tape::Tape;

/// Name of the recorded fact.
const FILE_CHANGES: &str = "file-changes";

/// Watches one attempt. Clones are the same watch.
#[derive(Clone)]
pub(crate) struct Watch(Arc<Inner>);

struct Inner {
    detector: Mutex<Detector>,
    files: Mutex<Option<Files>>,
    tape: Tape,
    stuck: Mutex<Option<StuckEvidence>>,
}

struct Listener {
    watch: Watch,
    session: AgentSession,
}

impl Watch {
    /// Creates a watch with an empty memory.
    pub(crate) fn new(limits: StuckLimits, tape: Tape) -> Self {
        Self(Arc::new(Inner {
            detector: Mutex::new(Detector::new(limits)),
            files: Mutex::new(None),
            tape,
            stuck: Mutex::new(None),
        }))
    }

    /// Returns the memory, for the state of the run.
    pub(crate) fn memory(&self) -> Value {
        serde_json::to_value(&*lock(&self.0.detector)).unwrap_or_default()
    }

    /// Continues with the memory of an earlier process, if there is one.
    pub(crate) fn remember(&self, memory: &Value) {
        if let Ok(detector) = Detector::deserialize(memory) {
            *lock(&self.0.detector) = detector;
        }
    }

    /// Watches a session until the subscription is dropped.
    pub(crate) async fn subscribe(&self, session: &AgentSession) -> Subscription {
        let root = session.workspace().cwd().to_owned();
        let files = tokio::task::spawn_blocking(move || Files::read(&root)).await;
        // Without files, results alone are judged.
        *lock(&self.0.files) = files.ok();
        session.add_listener(Arc::new(Listener { watch: self.clone(), session: session.clone() }))
    }

    /// Returns the files that have changed since the last turn. A replay changes none.
    fn changes(&self, written: &[Written]) -> Vec<FileChange> {
        if let Some(recorded) = self.0.tape.replayed(FILE_CHANGES) {
            return recorded;
        }
        let changes = match &mut *lock(&self.0.files) {
            Some(files) => files.changes(written),
            None => Vec::new(),
        };
        self.0.tape.record(FILE_CHANGES, &changes);
        changes
    }

    /// Judges a round of verification. Returns a note for the agent, or the evidence that it is
    /// stuck.
    pub(crate) fn round(&self, checks: &[CheckReport]) -> Result<Option<String>, StuckEvidence> {
        match lock(&self.0.detector).round(checks) {
            Judgment::Progress => Ok(None),
            Judgment::Note(note) => Ok(Some(note)),
            Judgment::Stuck(evidence) => {
                *lock(&self.0.stuck) = Some(evidence.clone());
                Err(evidence)
            }
        }
    }

    /// Returns the evidence because of which the work was ended.
    pub(crate) fn evidence(&self) -> Option<StuckEvidence> {
        lock(&self.0.stuck).clone()
    }
}

impl Listener {
    async fn turn_ended(&self, message: &AssistantMessage, results: &[Arc<ToolResultMessage>]) {
        let effects = self.session.effects_resolver();
        let mut written = Vec::new();
        let mut calls = Vec::new();
        for call in message.tool_calls() {
            let Some(result) = results.iter().find(|one| one.tool_call_id == call.id) else {
                continue;
            };
            let declared = effects.resolve(&call.name, &call.arguments);
            if !result.is_error {
                let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
                let files = declared.writes.iter();
                written.extend(files.map(|file| Written {
                    path: PathBuf::from(&file.path),
                    arguments: arguments.clone(),
                }));
            }
            let text = result.content.iter().filter_map(UserBlock::as_text);
            calls.push(CallRecord {
                tool: call.name.clone(),
                arguments: call.arguments.clone(),
                scripts: declared.runs,
                result: text.collect::<Vec<_>>().join("\n"),
                is_error: result.is_error,
            });
        }
        let watch = self.watch.clone();
        let judging = tokio::task::spawn_blocking(move || {
            let changes = watch.changes(&written);
            lock(&watch.0.detector).turn(&calls, &changes)
        });
        match judging.await {
            Ok(Judgment::Note(text)) => {
                // A note that cannot be delivered changes nothing: the run ends a little later.
                let _ = self.session.steer(&text, Vec::new(), InputSource::Extension).await;
            }
            Ok(Judgment::Stuck(evidence)) => {
                *lock(&self.watch.0.stuck) = Some(evidence);
                self.session.request_abort();
            }
            Ok(Judgment::Progress) | Err(_) => {}
        }
    }
}

impl SessionListener for Listener {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        match event {
            SessionEvent::TurnEnd { message, tool_results, .. } if !tool_results.is_empty() => {
                Box::pin(self.turn_ended(message, tool_results))
            }
            _ => Box::pin(std::future::ready(())),
        }
    }

    fn wants_progress(&self) -> bool {
        false
    }
}

impl StuckEvidence {
    /// Returns the repetition as a sentence, and the option that turns the limit off.
    pub(crate) fn sentence(&self) -> String {
        let setting = self.signal.setting();
        format!("{} --set stuck.{setting}=0 turns this limit off.", note::sentence(self))
    }
}
