//! Replays a recorded run with the present prompts, tools, settings and policy.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver};
use pi_coding_agent::{AgentOptions, SessionSelector};
use serde_json::{Map, Value, json};

use crate::contract::{Contract, OnFailure, ReportPlan, Time, WorkspacePlan};
use crate::directory::DirectoryError;
use crate::playback::{Player, Recording, RecordingError, ReplayReport};
use crate::run::{RunOptions, run};
use crate::tape::Tape;

/// Reasons why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The temporary directory of the replay cannot be created.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The session cannot be created as it was.
    #[error("the recorded session cannot be created: {0}")]
    NotCreated(String),
}

/// Changes to a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayPlan {
    /// The first request that a real model answers. The tools are executed from the beginning, so
    /// that the workspace is as it was.
    pub live_from: Option<u32>,
    /// Additional rule files.
    pub rules: Vec<PathBuf>,
}

/// Replays a recorded run. Without `live_from`, no network is used, no tool is executed and no file
/// of the user is written; `directory` receives what the replay itself writes.
pub async fn replay(
    recording: &Recording,
    mut options: RunOptions,
    directory: &Path,
    plan: &ReplayPlan,
) -> Result<ReplayReport, ReplayError> {
    let live_from = plan.live_from;
    let mut contract = (*recording.header.contract).clone();
    if live_from.is_none()
        && let Some(directory) = &contract.workspace.directory
    {
        let directory = options.agent.environment().cwd.join(directory);
        options.agent.project = options.agent.project.in_directory(&directory);
    }
    let recording = recording.moved_to(options.agent.environment())?;
    contract.record = false;
    contract.policy.rules.extend(plan.rules.iter().cloned());
    let interrupt = options.interrupt.clone();
    let player = Player::new(recording.clone(), &options.version, live_from, interrupt);
    if live_from.is_none() {
        make_harmless(&mut contract);
        prepare_agent(&mut options.agent, &recording);
        player.set_default_model(contract.model.is_none());
        contract.model = recording.model().or(contract.model);
        options.runs = Some(directory.to_owned());
    }
    options.agent.resources = recording.header.resources.clone();
    options.tape = Tape::Replay(player.clone());
    let report = Box::pin(run(contract, options)).await?;
    if report.limits.spent.turns == 0 && recording.request_count() > 0 && !player.has_diverged() {
        return Err(ReplayError::NotCreated(report.reason));
    }
    Ok(player.finish(report.outcome.name()))
}

/// Removes from a contract what touches the workspace, writes files or depends on the clock.
fn make_harmless(contract: &mut Contract) {
    contract.workspace = WorkspacePlan::default();
    contract.on_failure = OnFailure::Keep;
    contract.reports = ReportPlan::default();
    contract.limits.wall = Some(Time(Duration::ZERO));
    contract.limits.idle = Some(Time(Duration::ZERO));
    if let Some(output) = &mut contract.output {
        output.file = None;
    }
}

/// Changes the options of an agent so that it selects the recorded model, waits for nothing and
/// leaves nothing behind.
fn prepare_agent(options: &mut AgentOptions, recording: &Recording) {
    options.session.selector = SessionSelector::InMemory;
    options.model.requested = recording.model();
    options.model.provider = None;
    options.guard.approver = Some(Arc::new(RecordedApprover(recording.clone())));
    let no_waiting = json!({ "retry": { "baseDelayMs": 0, "maxDelayMs": 0 } });
    options.project.change_overrides(|settings| merge(settings, &no_waiting));
}

fn merge(settings: &mut Map<String, Value>, changes: &Value) {
    let Value::Object(changes) = changes else { return };
    for (key, change) in changes {
        match (settings.get_mut(key), change) {
            (Some(Value::Object(inner)), Value::Object(_)) => merge(inner, change),
            _ => drop(settings.insert(key.clone(), change.clone())),
        }
    }
}

/// Approves the calls that were approved in the recorded run.
struct RecordedApprover(Recording);

impl Approver for RecordedApprover {
    fn decide<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> pi_agent::BoxFuture<'a, ApprovalDecision> {
        let decision = match self.0.was_approved(&request.tool_call_id) {
            true => ApprovalDecision::Once,
            false => ApprovalDecision::Deny { reason: None },
        };
        Box::pin(std::future::ready(decision))
    }
}
