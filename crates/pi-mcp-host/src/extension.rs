//! The built-in extension that brings servers into a session.
//!
//! It registers the tools of servers as their lists become known, waits for them where the model
//! needs them, judges calls by the approvals of `mcp.json` and by pins, and adds the section of the
//! system prompt.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_coding_agent::extension::{
    Answer, Ask, BeforeAgentStart, Exposure, Extension, ExtensionApi, ExtensionContext,
    ExtensionError, ExtensionEvent, LoadReason, McpRegistration, Question, Registry, Reply,
    RunMode, RunStart, ToolCall, ToolDecision, ToolWait,
};
use pi_coding_agent::session::{AgentSession, SessionEvent};
use pi_config::mcp::{self, ConfiguredServer, Origin, RESOURCE_TOOLS, ServerConfig};
use pi_config::resources::Section;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::command;
use crate::judge;
use crate::register::{self, Items};
use crate::section::{self, Listed, Way};
use crate::server::Server;
use crate::servers::{FIRST_PROMPT, McpServers};
use crate::state::ServerState;
use crate::tool::McpTool;

/// The name of the extension.
pub(crate) const PATH: &str = "builtin:mcp";

/// Reads the configured servers anew.
pub(crate) type LoadServers = Arc<dyn Fn() -> Vec<ConfiguredServer> + Send + Sync>;

/// The built-in extension for servers.
pub struct McpExtension {
    servers: McpServers,
    load: LoadServers,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Scripts are activated for servers with that exposure.
    enables_codemode: bool,
    tools: Mutex<BTreeMap<String, Arc<McpTool>>>,
    /// Tools of this program that were activated because servers need them.
    activated: Mutex<Vec<&'static str>>,
    /// Reported problems, so that each is reported once.
    reported: Mutex<Vec<String>>,
}

impl McpExtension {
    /// Returns the servers of the session.
    pub fn servers(&self) -> &McpServers {
        &self.servers
    }

    pub(crate) fn new(servers: McpServers, enables_codemode: bool, load: LoadServers) -> Self {
        let state = Arc::new(State { enables_codemode, ..State::default() });
        Self { servers, load, state }
    }

    /// Waits until the tools that requests declare are known, but not for long. A resumed session
    /// has those that it loaded.
    async fn wait_for_declared(&self, session: &AgentSession) {
        let missing = session.missing_tools();
        let declares = |server: &Server| {
            let prefix = format!("{}__", mcp::namespace(&server.name));
            let is_of = |tool: &String| {
                tool.starts_with(&prefix) || RESOURCE_TOOLS.contains(&tool.as_str())
            };
            server.config.may_expose(Exposure::Direct) || missing.iter().any(is_of)
        };
        let waiting = self.servers.wait_for(declares);
        let _ = tokio::time::timeout(FIRST_PROMPT, waiting).await;
    }

    async fn before_run(&self, question: &BeforeAgentStart, session: &AgentSession) -> RunStart {
        self.activate(session);
        self.wait_for_declared(session).await;
        session.refresh_registry();
        let mut options = (*question.options).clone();
        options.sections.retain(|section| section.name() != section::NAME);
        let text = section::text(self.listed());
        if let Some(section) = text.and_then(|text| Section::new(section::NAME, &text).ok()) {
            options.sections.push(section);
        }
        RunStart { options: Some(Arc::new(options)), ..RunStart::default() }
    }

    /// Returns the servers with tools that the model reaches without a declaration.
    fn listed(&self) -> Vec<Listed> {
        let servers = self.servers.all();
        let enabled = servers.iter().filter(|server| server.config.enabled);
        let listed = enabled.filter_map(|server| {
            let namespace = mcp::namespace(&server.name);
            Some(Listed { namespace, way: way(server)?, description: server.description() })
        });
        listed.collect()
    }

    /// Gives the model the tools through which it reaches those of servers, once: the user may take
    /// them away again.
    fn activate(&self, session: &AgentSession) {
        let mut wanted = Vec::new();
        for server in self.servers.all().iter().filter(|server| server.config.enabled) {
            if self.state.enables_codemode && server.config.may_expose(Exposure::Codemode) {
                wanted.push("codemode");
            }
            if server.config.may_expose(Exposure::Deferred) {
                wanted.push("tool_search");
            }
        }
        let mut activated = lock(&self.state.activated);
        wanted.retain(|name| !activated.contains(name));
        for name in wanted {
            activated.push(name);
            session.activate_tools(&[name.to_owned()]);
        }
    }

    /// Decides about a call before the guard does.
    fn judge(&self, call: &ToolCall, session: &AgentSession) -> ToolDecision {
        let tool = {
            let tools = lock(&self.state.tools);
            tools.get(&call.tool_name).cloned()
        };
        match tool {
            Some(tool) => {
                let guard = session.guard().map(|guard| &**guard);
                judge::tool_call(call, &tool, &self.servers.0.pins, guard)
            }
            None if RESOURCE_TOOLS.contains(&call.tool_name.as_str()) => {
                judge::resource_call(call, &self.servers)
            }
            None => ToolDecision::allow(),
        }
    }

    /// Adds the servers that extensions registered, now and later.
    fn observe_registrations(&self, context: &ExtensionContext) {
        let registry = context.api().registry();
        if !registry.mcp_servers().is_empty() {
            self.servers.set_servers(with_registered((self.load)(), registry));
        }
        // Extensions register on threads of their own.
        let Ok(runtime) = Handle::try_current() else { return };
        let (load, servers) = (Arc::clone(&self.load), Arc::downgrade(&self.servers.0));
        registry.observe_mcp_servers(Arc::new(move || {
            let (load, servers) = (Arc::clone(&load), servers.clone());
            runtime.spawn(async move {
                let Some(servers) = servers.upgrade().map(McpServers) else { return };
                let Some(context) = servers.0.context() else { return };
                let registry = context.api().registry();
                servers.set_servers(with_registered(load(), registry));
                start(&servers, context.mode());
                if let Some(session) = context.session() {
                    session.mcp_servers_changed(registered(registry)).await;
                }
            });
        }));
    }
}

/// Returns the way in which the model reaches tools of a server that are not declared. The exposure
/// of the server decides as long as its tools are not known.
fn way(server: &Server) -> Option<Way> {
    let config = &server.config;
    let lists = server.known_lists();
    let tools = lists.iter().flat_map(|lists| &lists.tools);
    let exposures: Vec<Exposure> = std::iter::once(config.exposure)
        .chain(tools.map(|tool| config.exposure_of(&tool.name)))
        .collect();
    if exposures.contains(&Exposure::Codemode) {
        Some(Way::Codemode)
    } else {
        exposures.contains(&Exposure::Deferred).then_some(Way::Search)
    }
}

pi_protocol::debug_fields!(McpExtension);

/// Returns the configured servers and those that extensions registered. A server of a file takes
/// precedence.
fn with_registered(
    mut configured: Vec<ConfiguredServer>,
    registry: &Registry,
) -> Vec<ConfiguredServer> {
    for (owner, McpRegistration { name, config, .. }) in registry.mcp_servers() {
        let namespace = mcp::namespace(&name);
        let is_taken = configured.iter().any(|other| mcp::namespace(&other.name) == namespace);
        if let Ok(config) = ServerConfig::parse(&name, &config)
            && !is_taken
        {
            configured.push(ConfiguredServer { name, origin: Origin::Extension(owner), config });
        }
    }
    configured
}

/// Returns the registered servers as extensions see them.
fn registered(registry: &Registry) -> Vec<Value> {
    let servers = registry.mcp_servers().into_iter();
    let shown = servers.map(|(owner, server)| {
        json!({ "name": server.name, "config": server.config, "extensionPath": owner })
    });
    shown.collect()
}

/// Connects servers when a session starts: all of them where a user waits for nothing, else those
/// whose tools requests declare. A server whose lists are fresh is connected by its first call.
fn start(servers: &McpServers, mode: RunMode) {
    let cache = &servers.0.cache;
    let is_interactive = matches!(mode, RunMode::Tui | RunMode::Rpc);
    servers.connect_in_background(|server| {
        let is_wanted = is_interactive || server.config.may_expose(Exposure::Direct);
        server.config.enabled
            && is_wanted
            && !server.lists(cache).is_some_and(|lists| lists.is_fresh())
    });
    if servers.all().iter().any(|server| server.known_lists().is_some()) {
        servers.0.lists_changed();
    }
}

impl State {
    /// Registers what is known of all servers.
    fn register(&self, servers: &McpServers) {
        let Some(context) = servers.0.context() else { return };
        let Items { tools, commands, by_name, mut problems } =
            register::items(servers, self.enables_codemode);
        *lock(&self.tools) = by_name;
        let conflicts = context.api().registry().replace_items(PATH, tools, commands);
        problems.extend(conflicts.iter().map(ToString::to_string));
        for server in servers.all() {
            if let ServerState::Failed(reason) = &*server.state.borrow() {
                problems.push(format!("MCP server {}: {reason}", server.name));
            }
        }
        self.report(problems, &context);
    }

    /// Shows problems to the user, each once.
    fn report(&self, problems: Vec<String>, context: &ExtensionContext) {
        let mut reported = lock(&self.reported);
        for problem in problems {
            if reported.len() < 100 && !reported.contains(&problem) {
                context.ui().notify(&problem, pi_coding_agent::extension::NotifyKind::Warning);
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
        if let Some(command) = command::command(&self.servers)
            && let Err(error) = api.register_command(command)
        {
            let error = ExtensionError::new(error.to_string());
            return Box::pin(std::future::ready(Err(error)));
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn bind(&self, context: &ExtensionContext) {
        let (state, servers) = (Arc::downgrade(&self.state), Arc::downgrade(&self.servers.0));
        let on_lists = move || {
            if let (Some(state), Some(shared)) = (state.upgrade(), servers.upgrade()) {
                state.register(&McpServers(shared));
            }
        };
        self.servers.bind(context, Arc::new(on_lists));
        self.observe_registrations(context);
    }

    fn unload(&self) {
        self.servers.abandon();
    }

    fn on_event<'a>(
        &'a self,
        event: &'a ExtensionEvent<'a>,
        _handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, ()> {
        Box::pin(async move {
            match &**event {
                SessionEvent::SessionStart { .. } => {
                    if let Some(session) = context.session() {
                        self.activate(&session);
                    }
                    let (servers, mode) = (self.servers.clone(), context.mode());
                    // Reading many lists takes longer than a start may.
                    if matches!(mode, RunMode::Tui | RunMode::Rpc) {
                        tokio::task::spawn_blocking(move || start(&servers, mode));
                    } else {
                        start(&servers, mode);
                    }
                }
                SessionEvent::SessionShutdown { .. } => self.servers.shutdown().await,
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
