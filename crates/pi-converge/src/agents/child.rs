//! A sub-agent at work: a session of its own within the budget, approvals and policy of its parent.

use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_agent::{Invocation, Outcome, ToolOutput, Updates, unanswered_calls};
use pi_base::lock;
use pi_base::text::hex;
use pi_coding_agent::session::{
    AgentSession, Intervention, InterventionAction, PromptError, PromptOptions, SessionEvent,
};
use pi_coding_agent::{AgentOptions, AgentRuntime, SessionSelector, create_agent_session};
use pi_protocol::CancelToken;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::answer::{Judged, ResultJudge};
use super::apply::{Role, limits_of, tighten};
use super::extension::{AgentExtension, State};
use super::failure::{ChildFailure, FailureKind};
use super::spec::AgentSpec;
use crate::outcome::Outcome as RunOutcome;

/// Number of actions that a report of progress shows.
const SHOWN_ACTIONS: usize = 5;

/// The task of a sub-agent.
pub(super) struct ChildTask {
    pub(super) agent: String,
    pub(super) prompt: String,
    pub(super) spec: Arc<AgentSpec>,
    /// The session that started the sub-agent.
    pub(super) parent: AgentSession,
}

/// The end of a sub-agent.
enum End {
    /// A valid result.
    Result(String),
    /// An action waits for approval, so the call of the parent waits, too.
    Suspended,
}

/// Runs a sub-agent and returns the output of the call.
pub(super) async fn run(state: &Arc<State>, task: ChildTask, invocation: Invocation) -> ToolOutput {
    let slot = tokio::select! {
        slot = state.slots.acquire() => slot,
        () = invocation.cancel.cancelled() => {
            return ChildFailure::new(FailureKind::Aborted, "The run was aborted.")
                .output(&task.agent);
        }
    };
    let judge = match ResultJudge::new(&task.spec) {
        Ok(judge) => judge,
        Err(failure) => return failure.output(&task.agent),
    };
    let options = options(state, &task, &judge, &invocation);
    let runtime = match Box::pin(create_agent_session(options)).await {
        Ok(created) => created.runtime,
        Err(refused) => {
            let message = format!("The sub-agent cannot be started: {refused}");
            return ChildFailure::new(FailureKind::Configuration, message).output(&task.agent);
        }
    };
    let session = runtime.session();
    let progress = Progress::follow(&task.agent, &session, invocation.updates.clone());
    // A sub-agent that is aborted records what it has done so far.
    let ended = Box::pin(work(&session, &task, &judge, &invocation.cancel)).await;
    if let Some(stop) = progress.stop() {
        // A guardrail that stops a sub-agent stops the run that it works for.
        task.parent.intervene(stop).await;
    }
    let output = finished(&runtime, &task, &progress, ended);
    Box::pin(runtime.shut_down()).await;
    drop(slot);
    output
}

/// Prompts the sub-agent until its result is valid or no repair is left.
async fn work(
    session: &AgentSession,
    task: &ChildTask,
    judge: &ResultJudge,
    cancel: &CancelToken,
) -> Result<End, ChildFailure> {
    let prompt = |text: String| session.turn(text, PromptOptions::default().literal());
    // A call that waited for approval is made again and finds its session.
    let mut turn = match unanswered_calls(&session.messages()) {
        Some(_) => session.resumed_turn(),
        None => prompt(task.prompt.clone()),
    };
    loop {
        let end = turn.cancel(cancel).collect(judge.collector()).run().await;
        match &end.run {
            Err(error) => return Err(not_started(error)),
            Ok(Outcome::Completed) => {}
            Ok(Outcome::Suspended) => return Ok(End::Suspended),
            Ok(Outcome::Limit { limit }) => return Err(ChildFailure::at_limit(*limit)),
            Ok(Outcome::Repetition { repetition }) => {
                let message = format!("The sub-agent repeated itself: {repetition}.");
                return Err(ChildFailure::new(FailureKind::Stuck, message));
            }
            Ok(Outcome::Failed { error }) => {
                let kind = match RunOutcome::of_provider_failure(error) {
                    RunOutcome::Refused => FailureKind::Refused,
                    _ => FailureKind::Provider,
                };
                return Err(ChildFailure::new(kind, error.clone()));
            }
            Ok(Outcome::Stopped { by, reason }) => {
                let message = format!("The sub-agent was stopped by {by}: {reason}");
                return Err(ChildFailure::new(FailureKind::Guardrail, message));
            }
            Ok(_) => return Err(aborted()),
        }
        match judge.judge(&end)? {
            Judged::Valid(text) => return Ok(End::Result(text)),
            Judged::Repair(next) => turn = prompt(next),
        }
    }
}

fn aborted() -> ChildFailure {
    ChildFailure::new(FailureKind::Aborted, "The sub-agent was aborted.")
}

fn not_started(error: &PromptError) -> ChildFailure {
    match error {
        PromptError::Cancelled => aborted(),
        PromptError::Blocked { .. } => ChildFailure::new(FailureKind::Guardrail, error.to_string()),
        _ => ChildFailure::new(FailureKind::Configuration, error.to_string()),
    }
}

/// Returns the options of the sub-agent.
fn options(
    state: &Arc<State>,
    task: &ChildTask,
    judge: &ResultJudge,
    invocation: &Invocation,
) -> AgentOptions {
    let ChildTask { spec, parent, .. } = task;
    let mut options = state.base.clone();
    if let Some(project) = state.project() {
        // The settings may have changed since the parent was started.
        let overrides = options.project.overrides().clone();
        options.project = project.in_directory(&options.environment().cwd);
        options.project.set_approval(Some(project.is_trusted()));
        options.project.set_overrides(overrides);
    }
    let set = state.set.with_root(&spec.file);
    // The session of the parent may have another model than the options.
    options.model.provider = None;
    options.model.requested = spec.model.clone().or_else(|| {
        let model = parent.model()?;
        Some(format!("{}/{}", model.provider, model.id))
    });
    options.model.thinking_level = Some(spec.thinking.unwrap_or_else(|| parent.thinking_level()));
    options.tools.selection = set.tools(&options.tools.selection, Role::Child);
    tighten(&mut options, &spec.policy);
    let mut for_children = state.base.clone();
    for_children.project = options.project.clone();
    let depth = state.depth.saturating_sub(1).min(spec.max_depth);
    options.extensions.own.push(Arc::new(AgentExtension::new(for_children, set, depth)));
    options.extensions.own.extend(judge.extension());
    options.session.name = Some(format!("{}: {}", task.agent, first_line(&task.prompt)));
    // The call of the parent is announced, and a sub-agent that was interrupted starts again.
    options.guard.announce_calls = None;
    options.subagent = Some(task.agent.clone());
    if let Some(guard) = parent.guard() {
        options.guard.approvals = guard.approvals().clone();
        options.guard.parent = Some(Arc::clone(guard));
    }
    let limits = spec.limits.as_ref().map(limits_of).unwrap_or_default();
    options.budget = Some(invocation.budget.child(limits));
    (options.session.selector, options.session.directory) = place(task, invocation);
    options
}

/// Returns the session of a sub-agent: a file in a directory beside that of the parent, where it is
/// not taken for a session of the user. A call that is made again after it was suspended finds the
/// same file.
fn place(task: &ChildTask, invocation: &Invocation) -> (SessionSelector, Option<String>) {
    let Some(parent) = task.parent.file() else { return (SessionSelector::InMemory, None) };
    let directory = parent.with_extension("");
    let mut hash = Sha256::new();
    for part in [&task.parent.id(), &invocation.id, &task.agent, &task.prompt] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let mut id = format!("task-{}", hex(&hash.finalize()[..12]));
    // A model may repeat an id: a session that does not wait for approval is complete.
    if is_complete(&directory, &id) {
        id = format!("task-{}", uuid::Uuid::now_v7());
    }
    let session = SessionSelector::Child { parent, id };
    (session, Some(directory.to_string_lossy().into_owned()))
}

/// Returns true if there is a session with this id that has no call to continue with.
fn is_complete(directory: &std::path::Path, id: &str) -> bool {
    let Ok(Some(file)) = pi_session::find_by_id(directory, id) else { return false };
    let opened = pi_session::Session::open(&file, &pi_session::OpenOptions::read());
    let context = opened.and_then(|mut session| session.context());
    !context.is_ok_and(|context| unanswered_calls(&context.messages).is_some())
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(60).collect()
}

/// Returns the output of the call, with the usage of the sub-agent.
fn finished(
    runtime: &AgentRuntime,
    task: &ChildTask,
    progress: &Progress,
    ended: Result<End, ChildFailure>,
) -> ToolOutput {
    let session = runtime.session();
    let file = session
        .with_log(|log| if log.is_saved() { log.path().map(ToOwned::to_owned) } else { None });
    let mut output = match ended {
        Ok(End::Result(text)) => ToolOutput::text(text),
        Ok(End::Suspended) => return ToolOutput::suspended("A sub-agent waits for approval."),
        Err(mut failure) => {
            failure.session.clone_from(&file);
            failure.text = failure.text.or_else(|| session.last_assistant_text());
            failure.output(&task.agent)
        }
    };
    output.usage = Some(session.usage_since(0).tokens);
    output.details = Some(progress.details(file.as_deref()));
    output
}

/// The progress of a sub-agent, reported to the screen of the parent.
struct Progress {
    agent: String,
    seen: Arc<Mutex<Seen>>,
    _subscription: pi_coding_agent::session::Subscription,
}

#[derive(Default)]
struct Seen {
    turns: u32,
    calls: u32,
    /// The last actions, one line each.
    actions: Vec<String>,
    /// The decision of a guardrail or hook that stopped the sub-agent.
    stop: Option<Intervention>,
}

impl Progress {
    fn follow(agent: &str, session: &AgentSession, updates: Updates) -> Self {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let weak = session.downgrade();
        let (following, name) = (Arc::clone(&seen), agent.to_owned());
        let subscription = session.subscribe(move |event| {
            let mut seen = lock(&following);
            match event {
                SessionEvent::TurnStart { .. } => seen.turns += 1,
                SessionEvent::ToolExecutionStart { tool_name, args, .. } => {
                    seen.calls += 1;
                    let effects = weak.upgrade().map(|session| session.effects_of(tool_name, args));
                    let summary = effects.and_then(|effects| effects.summary);
                    let summary = summary.map(|summary| first_line(&summary.text));
                    let line = format!("{tool_name} {}", summary.unwrap_or_default());
                    seen.actions.push(line.trim_end().to_owned());
                    if seen.actions.len() > SHOWN_ACTIONS {
                        seen.actions.remove(0);
                    }
                }
                SessionEvent::Guardrail { intervention }
                    if intervention.action == InterventionAction::Stop =>
                {
                    seen.stop = Some((**intervention).clone());
                }
                _ => return,
            }
            updates.send(seen.report(&name));
        });
        Self { agent: agent.to_owned(), seen, _subscription: subscription }
    }

    /// Returns the decision that stopped the sub-agent.
    fn stop(&self) -> Option<Intervention> {
        lock(&self.seen).stop.take()
    }

    /// Returns data about the finished sub-agent, for screens and reports.
    fn details(&self, session: Option<&Path>) -> serde_json::Value {
        let seen = lock(&self.seen);
        json!({
            "agent": self.agent, "session": session, "turns": seen.turns, "toolCalls": seen.calls,
        })
    }
}

impl Seen {
    fn report(&self, agent: &str) -> ToolOutput {
        let mut text = format!("{agent}: {} turns, {} tool calls", self.turns, self.calls);
        for action in &self.actions {
            text.push('\n');
            text.push_str(action);
        }
        ToolOutput::text(text)
    }
}
