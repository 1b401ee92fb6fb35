//! The built-in extension that brings servers into a session.
//!
//! It registers the tools of servers as their lists become known, waits for them where the model
//! needs them, judges calls by the approvals of `mcp.json` and by pins, and adds the section of the
//! system prompt.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pi_guard::policy::Scope as ApprovedScope;

use super::config::{self, Approval};
use super::register::{self, Items};
use super::section::{self, Listed};
use super::server::Server;
use super::servers::{FIRST_PROMPT, McpServers};
use super::state::{ConfiguredServer, ServerState};
use super::tool::McpTool;
use crate::extension::{
    Answer, Ask, BeforeAgentStart, Exposure, Extension, ExtensionApi, ExtensionContext,
    ExtensionError, LoadReason, Question, Registry, Reply, RunMode, RunStart, ToolCall,
    ToolDecision, ToolWait,
};
use crate::resources::Section;
use crate::session::{AgentSession, SessionEvent};

/// The name of the extension.
pub(crate) const PATH: &str = "builtin:mcp";

/// Reads the configured servers anew.
pub(crate) type LoadServers = Arc<dyn Fn() -> Vec<ConfiguredServer> + Send + Sync>;

/// The built-in extension for servers.
pub(crate) struct McpExtension {
    servers: McpServers,
    /// Scripts are activated for servers with that exposure.
    enables_codemode: bool,
    load: LoadServers,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    registry: Mutex<Option<Registry>>,
    tools: Mutex<BTreeMap<String, Arc<McpTool>>>,
    /// Tools of this program that were activated because servers need them.
    activated: Mutex<Vec<&'static str>>,
    /// Reported problems, so that each is reported once.
    reported: Mutex<Vec<String>>,
}

impl McpExtension {
    pub(crate) fn new(servers: McpServers, enables_codemode: bool, load: LoadServers) -> Self {
        Self { servers, enables_codemode, load, state: Arc::default() }
    }

    /// Waits until the tools that requests declare are known, but not for long.
    async fn wait_for_declared(&self) {
        let declares = |server: &Server| server.config.may_expose(Exposure::Direct);
        let waiting = self.servers.wait_for(declares);
        let _ = tokio::time::timeout(FIRST_PROMPT, waiting).await;
    }

    async fn before_run(&self, question: &BeforeAgentStart, session: &AgentSession) -> RunStart {
        self.wait_for_declared().await;
        session.refresh_registry();
        self.activate(session);
        let mut options = (*question.options).clone();
        options.sections.retain(|section| section.name() != section::NAME);
        let active = session.active_tools();
        let has = |name: &str| active.iter().any(|tool| tool.declaration().name == name);
        let text = section::text(self.listed(has("codemode"), has("tool_search")));
        if let Some(section) = text.and_then(|text| Section::new(section::NAME, &text).ok()) {
            options.sections.push(section);
        }
        RunStart { options: Some(Arc::new(options)), ..RunStart::default() }
    }

    /// Returns the servers with tools that the model reaches without a declaration.
    fn listed(&self, scripts: bool, search: bool) -> Vec<Listed> {
        let servers = self.servers.all();
        let listed = servers.iter().filter(|server| server.config.enabled).map(|server| Listed {
            namespace: config::namespace(&server.name),
            codemode: scripts && server.config.may_expose(Exposure::Codemode),
            deferred: search && server.config.may_expose(Exposure::Deferred),
            description: server.description(),
        });
        listed.collect()
    }

    /// Gives the model the tools through which it reaches those of servers, once: the user may take
    /// them away again.
    fn activate(&self, session: &AgentSession) {
        let mut wanted = Vec::new();
        for server in self.servers.all().iter().filter(|server| server.config.enabled) {
            if self.enables_codemode && server.config.may_expose(Exposure::Codemode) {
                wanted.push("codemode");
            }
            if server.config.may_expose(Exposure::Deferred) {
                wanted.push("tool_search");
            }
        }
        let mut activated = self.state.activated.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.retain(|name| !activated.contains(name));
        if wanted.is_empty() {
            return;
        }
        let active = session.active_tools();
        let mut names: Vec<String> =
            active.iter().map(|tool| tool.declaration().name.clone()).collect();
        for name in wanted {
            if !activated.contains(&name) {
                activated.push(name);
                names.push(name.to_owned());
            }
        }
        session.set_active_tools(&names);
    }

    /// Decides about a call by the approvals of the configuration, and by what the tool was when it
    /// was first used.
    fn judge(&self, call: &ToolCall, session: &AgentSession) -> ToolDecision {
        let tool = {
            let tools = self.state.tools.lock().unwrap_or_else(PoisonError::into_inner);
            tools.get(&call.tool_name).cloned()
        };
        let Some(tool) = tool else { return ToolDecision::allow() };
        let server = &tool.server;
        let approval = server.config.approvals.get(&tool.remote);
        if approval == Some(Approval::Deny) {
            let (server, remote) = (&server.name, &tool.remote);
            return ToolDecision::block(format!(
                "This is not allowed and was not run: mcp.json denies {remote} of the server \
                 {server}. Continue without it, or tell the user."
            ));
        }
        let Some(guard) = session.guard() else { return ToolDecision::allow() };
        let pins = &self.servers.0.pins;
        if pins.is_changed(&server.fingerprint, &tool.remote, &tool.hash) {
            let reason = format!(
                "the MCP server {} changed the description of {} since it was approved",
                server.name, tool.remote
            );
            guard.require_approval(&call.tool_call_id, reason);
        } else if approval == Some(Approval::Ask) {
            let reason = format!("mcp.json asks for calls of the server {}", server.name);
            guard.require_approval(&call.tool_call_id, reason);
        }
        if approval == Some(Approval::Allow) {
            guard.approvals().add(&[ApprovedScope::Tool { name: call.tool_name.clone() }]);
        }
        ToolDecision::allow()
    }

    /// Connects servers when a session starts: all of them where a user waits for nothing, else
    /// those whose tools requests declare. A server whose lists are fresh is connected by its first
    /// call.
    fn start(&self, mode: RunMode) {
        let cache = &self.servers.0.cache;
        let is_interactive = matches!(mode, RunMode::Tui | RunMode::Rpc);
        self.servers.connect_in_background(|server| {
            let is_wanted = is_interactive || server.config.may_expose(Exposure::Direct);
            server.config.enabled
                && is_wanted
                && !server.lists(cache).is_some_and(|lists| lists.is_fresh())
        });
        if self.servers.all().iter().any(|server| server.known_lists().is_some()) {
            self.servers.0.lists_changed();
        }
    }

    async fn shut_down(&self) {
        self.servers.shutdown().await;
    }
}

impl State {
    /// Registers what is known of all servers.
    fn register(&self, servers: &McpServers) {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(registry) = registry else { return };
        let Items { tools, commands, by_name, mut problems } = register::items(servers);
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = by_name;
        let conflicts = registry.replace_items(PATH, tools, commands);
        problems.extend(conflicts.iter().map(ToString::to_string));
        for server in servers.all() {
            if let ServerState::Failed(reason) = &*server.state.borrow() {
                problems.push(format!("MCP server {}: {reason}", server.name));
            }
        }
        self.report(problems, servers);
    }

    /// Shows problems to the user, each once.
    fn report(&self, problems: Vec<String>, servers: &McpServers) {
        let Some(context) = servers.0.context() else { return };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        for problem in problems {
            if reported.len() < 100 && !reported.contains(&problem) {
                context.ui().notify(&problem, crate::extension::NotifyKind::Warning);
                reported.push(problem);
            }
        }
    }
}

impl Extension for McpExtension {
    fn path(&self) -> &str {
        PATH
    }

    fn load<'a>(&'a self, api: &'a ExtensionApi, reason: LoadReason) -> Reply<'a, ()> {
        if reason == LoadReason::Reload {
            self.servers.reopen();
            self.servers.set_servers((self.load)());
        }
        api.answer(BeforeAgentStart::KIND);
        api.answer(ToolCall::KIND);
        // The wait for servers is bounded here.
        api.lift_time_limit();
        let servers = self.servers.clone();
        let wait = move |wait: ToolWait| -> pi_agent::BoxFuture<'static, ()> {
            let servers = servers.clone();
            Box::pin(async move { servers.wait(&wait).await })
        };
        api.registry().register_tool_wait(PATH, Arc::new(wait));
        Box::pin(std::future::ready(Ok(())))
    }

    fn bind(&self, context: &ExtensionContext) {
        let registry = context.api().registry().clone();
        *self.state.registry.lock().unwrap_or_else(PoisonError::into_inner) = Some(registry);
        let (state, servers) = (Arc::downgrade(&self.state), Arc::downgrade(&self.servers.0));
        let on_lists = move || {
            if let (Some(state), Some(shared)) = (state.upgrade(), servers.upgrade()) {
                state.register(&McpServers(shared));
            }
        };
        self.servers.bind(context, Arc::new(on_lists));
    }

    fn unload(&self) {
        self.servers.abandon();
    }

    fn on_event<'a>(
        &'a self,
        event: &'a SessionEvent,
        _handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, ()> {
        Box::pin(async move {
            match event {
                SessionEvent::SessionStart { .. } => self.start(context.mode()),
                SessionEvent::SessionShutdown { .. } => self.shut_down().await,
                _ => {}
            }
            Ok(())
        })
    }

    fn ask<'a>(
        &'a self,
        question: Question,
        _handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, Answer> {
        Box::pin(async move {
            let gone = || ExtensionError::new("the session has ended");
            let session = context.session().ok_or_else(gone)?;
            match question {
                Question::BeforeAgentStart(question) => {
                    Ok(BeforeAgentStart::into_answer(self.before_run(&question, &session).await))
                }
                Question::ToolCall(call) => Ok(ToolCall::into_answer(self.judge(&call, &session))),
                _ => Ok(Answer::NoOpinion),
            }
        })
    }
}
