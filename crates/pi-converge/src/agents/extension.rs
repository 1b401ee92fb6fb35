//! The part of a spec in a session: its prompt, its tools, and the specs that take over.

use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use pi_coding_agent::extension::{
    Answer, Ask as _, Boundary, Exposure, Extension, ExtensionApi, ExtensionContext,
    ExtensionEvent, LoadReason, Question, QuestionKind, RegistryError, Reply, ToolRegistration,
    TurnEnd,
};
use pi_coding_agent::session::{
    AgentSession, Persistence, PromptChange, SessionEvent, WeakAgentSession,
};
use pi_coding_agent::{AgentOptions, Project, WeakAgentRuntime};
use tokio::sync::Semaphore;

use super::apply::offered;
use super::delegate::TaskTool;
use super::handoff::{self, HandoffTool, PendingHandoff, Takeover};
use super::prompt::{Surroundings, listing};
use super::spec::{AgentSet, AgentSpec, HANDOFF_TOOL, TASK_TOOL};

/// Sets the prompt of a session from a spec, and registers the tools `task` and `handoff`.
pub(super) struct AgentExtension(Arc<State>);

/// The state that the extension shares with its tools.
pub(super) struct State {
    /// Options for sub-agents: those of the program, with the restrictions of this spec.
    pub(super) base: AgentOptions,
    pub(super) set: AgentSet,
    /// Levels of sub-agents that are left.
    pub(super) depth: u32,
    /// Sub-agents that may run at the same time.
    pub(super) slots: Semaphore,
    bound: Mutex<Bound>,
}

/// The state in one session.
#[derive(Default)]
struct Bound {
    // Weak, since the registry of the session holds the tools, and they hold this state.
    session: WeakAgentSession,
    runtime: WeakAgentRuntime,
    /// The spec that works in the session.
    active: Option<Arc<AgentSpec>>,
    /// Active tools of the session before a spec restricted them.
    default_tools: Vec<String>,
    pending: Option<PendingHandoff>,
    handoffs: u32,
}

impl AgentExtension {
    pub(super) fn new(base: AgentOptions, set: AgentSet, depth: u32) -> Self {
        let parallel = set.root().map_or(1, |spec| spec.max_parallel) as usize;
        let slots = Semaphore::new(parallel.clamp(1, 64));
        Self(Arc::new(State { base, set, depth, slots, bound: Mutex::default() }))
    }
}

impl State {
    fn bound(&self) -> MutexGuard<'_, Bound> {
        lock(&self.bound)
    }

    /// Returns the session that the tools work for.
    pub(super) fn session(&self) -> Option<AgentSession> {
        self.bound().session.upgrade()
    }

    /// Returns the project of the session.
    pub(super) fn project(&self) -> Option<Project> {
        let runtime = self.bound().runtime.clone();
        Some(runtime.upgrade()?.project())
    }

    /// Returns the spec that works in the session.
    pub(super) fn active(&self) -> Option<Arc<AgentSpec>> {
        self.bound().active.clone().or_else(|| self.set.root().cloned())
    }

    /// Reserves the handoff of this turn. The error is the reason why there is none.
    pub(super) fn request_handoff(&self, handoff: PendingHandoff) -> Result<(), String> {
        let most = self.set.root().map_or(0, |spec| spec.max_handoffs);
        let mut bound = self.bound();
        if bound.pending.is_some() {
            return Err("another handoff was requested in this turn".to_owned());
        }
        if bound.handoffs >= most {
            return Err(format!("the session has reached its limit of {most} handoffs"));
        }
        bound.pending = Some(handoff);
        Ok(())
    }

    /// Registers the tools that a spec needs.
    fn register(
        self: &Arc<Self>,
        api: &ExtensionApi,
        spec: &AgentSpec,
    ) -> Result<(), RegistryError> {
        if spec.can_delegate() && self.depth > 0 {
            let tool = TaskTool::new(Arc::clone(self), spec);
            api.register_tool(ToolRegistration::new(Arc::new(tool)).internal())?;
        }
        if spec.can_hand_off() {
            let tool = HandoffTool::new(Arc::clone(self), spec);
            // A handoff ends the turn, which a call of a script cannot.
            let registration = ToolRegistration::new(Arc::new(tool)).internal();
            api.register_tool(registration.exposure(Exposure::ModelOnly))?;
        }
        Ok(())
    }

    /// Makes a spec the one that works in the session: prompt and tools.
    fn activate(
        self: &Arc<Self>,
        spec: &Arc<AgentSpec>,
        session: &AgentSession,
        api: &ExtensionApi,
    ) {
        // A conflict of names was reported when the extension was loaded.
        let _ = self.register(api, spec);
        session.refresh_registry();
        let has_several = self.set.reachable_by_handoff().len() > 1;
        if has_several {
            let names = offered(spec).unwrap_or_else(|| self.default_tools(spec));
            session.set_active_tools(&names);
        }
        let change = spec.prompt.clone().map(|template| {
            let surroundings = surroundings(session);
            let change: PromptChange =
                Arc::new(move |options| template.apply(&surroundings, options));
            change
        });
        session.set_prompt_change(change);
        self.bound().active = Some(Arc::clone(spec));
    }

    /// Returns the tools of a spec that names none.
    fn default_tools(&self, spec: &AgentSpec) -> Vec<String> {
        let mut names = self.bound().default_tools.clone();
        names.retain(|name| {
            name != TASK_TOOL && name != HANDOFF_TOOL && !spec.exclude_tools.contains(name)
        });
        if spec.can_delegate() {
            names.push(TASK_TOOL.to_owned());
        }
        if spec.can_hand_off() {
            names.push(HANDOFF_TOOL.to_owned());
        }
        names
    }

    /// Activates the spec that the log of the session names, or the root spec.
    fn restore(self: &Arc<Self>, session: &AgentSession, api: &ExtensionApi) {
        let recorded = session.with_log(|log| handoff::last_takeover(log));
        let (takeover, handoffs) = match recorded {
            Some(takeover) => (takeover.spec(&self.set), takeover.number),
            None => (None, 0),
        };
        self.bound().handoffs = handoffs;
        if let Some(spec) = takeover.or_else(|| self.set.root().cloned()) {
            self.activate(&spec, session, api);
        }
    }

    /// Lets the requested agent take over at the end of a turn.
    async fn take_over(self: &Arc<Self>, turn: TurnEnd, context: &ExtensionContext) -> Boundary {
        let state = turn.0;
        let Some(pending) = self.bound().pending.take() else { return Boundary::default() };
        let (Some(session), Some(spec)) =
            (context.session(), self.set.spec(&pending.handoff.file).cloned())
        else {
            return Boundary::default();
        };
        let number = self.bound().handoffs + 1;
        if let Some(model) = pending.model.clone()
            && let Err(error) = session.set_model(model, Persistence::Session).await
        {
            let path = context.api().path();
            context.report_failure(path, "handoff", &error.to_string()).await;
        }
        if let Some(level) = spec.thinking
            && let Err(error) = session.set_thinking_level(level, Persistence::Session).await
        {
            let path = context.api().path();
            context.report_failure(path, "handoff", &error.to_string()).await;
        }
        self.bound().handoffs = number;
        self.activate(&spec, &session, context.api());
        let takeover = Takeover::new(&pending, &spec, number);
        let mut entries = state.entries.clone();
        entries.extend(handoff::entries(&session, &state, &pending, &takeover));
        Boundary { entries: Some(entries), continues: None }
    }
}

/// Returns the values of variables that stay the same in a session.
fn surroundings(session: &AgentSession) -> Surroundings {
    let workspace = session.workspace();
    let directory = workspace.executor().host_path(workspace.cwd());
    Surroundings {
        started: session.with_log(|log| log.header().timestamp.clone()),
        listing: directory.map(|directory| listing(&directory)).unwrap_or_default(),
        shell: "bash".to_owned(),
    }
}

impl Extension for AgentExtension {
    fn path(&self) -> &str {
        "builtin:agents"
    }

    fn load<'a>(&'a self, api: &'a ExtensionApi, _reason: LoadReason) -> Reply<'a, ()> {
        Box::pin(async move {
            for spec in self.0.set.reachable_by_handoff() {
                self.0.register(api, spec)?;
            }
            // The last one counts.
            if let Some(spec) = self.0.set.root() {
                self.0.register(api, spec)?;
            }
            if self.0.set.reachable_by_handoff().len() > 1 {
                api.answer(QuestionKind::TurnEnd);
            }
            Ok(())
        })
    }

    fn bind(&self, context: &ExtensionContext) {
        let Some(session) = context.session() else { return };
        let default_tools = session.active_tools();
        let names = default_tools.iter().map(|tool| tool.declaration().name.clone());
        *self.0.bound() = Bound {
            session: session.downgrade(),
            runtime: context.runtime().map(|runtime| runtime.downgrade()).unwrap_or_default(),
            default_tools: names.collect(),
            ..Bound::default()
        };
        self.0.restore(&session, context.api());
    }

    fn on_event<'a>(
        &'a self,
        event: &'a ExtensionEvent<'a>,
        _handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, ()> {
        // Another branch may belong to another spec.
        if matches!(**event, SessionEvent::SessionTree { .. })
            && let Some(session) = context.session()
        {
            self.0.restore(&session, context.api());
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn ask<'a>(
        &'a self,
        question: Question,
        _handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, Answer> {
        Box::pin(async move {
            match TurnEnd::from_question(question) {
                Some(turn) => Ok(TurnEnd::into_answer(self.0.take_over(turn, context).await)),
                None => Ok(Answer::NoOpinion),
            }
        })
    }
}
