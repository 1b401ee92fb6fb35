//! An attempt to connect a server, and the lists that a connection begins with.

use std::sync::Arc;
use std::time::Duration;

use pi_config::mcp::{HttpServer, StdioServer, Transport};
use pi_config::settings::Profile;
use pi_guard::Decision;
use pi_mcp::client::{Client, ClientError, ClientOptions, ConnectError, List};
use pi_mcp::protocol::{
    ClientCapabilities, Elicitation, Era, Implementation, ListChanged, LoggingLevel, Sampling,
};
use pi_mcp::transport::{Http, Transport as Way};
use pi_models::server_secrets;
use pi_protocol::now_ms;
use serde_json::json;
use tokio::time::timeout;

use super::handler::ServerHandler;
use super::{Shared, Urgency};
use crate::cache::Lists;
use crate::log::ServerLog;
use crate::process::{self, ServerProcess};
use crate::server::{Link, Server};
use crate::state::ServerState;
use crate::text::{ERROR, clean_line, clean_schema};

/// The limits of the time of an attempt, which is else the time limit of a request.
const LIMITS: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(120));

/// Reasons why an attempt failed.
enum Failure {
    SignIn(String),
    Other(String),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unauthorized(reason) => Self::SignIn(clean_line(&reason, ERROR)),
            error => Self::Other(clean_line(&error.to_string(), ERROR)),
        }
    }
}

/// Connects a server and lists what it has. Returns its new state.
pub(crate) async fn connect(
    shared: &Arc<Shared>,
    server: &Arc<Server>,
    urgency: Urgency,
) -> ServerState {
    let log = Arc::new(ServerLog::new(Arc::clone(&shared.log), &server.name, &shared.secrets));
    // Others wait for this attempt, and a server has many ways to draw it out.
    let limit = server.config.timeout.clamp(LIMITS.0, LIMITS.1);
    let connected = async {
        let link = attempt(shared, server, urgency, &log).await?;
        match list(server, &link.client, shared, &log).await {
            Ok(()) => Ok(link),
            Err(error) => {
                end(link).await;
                Err(Failure::from(error))
            }
        }
    };
    let failure = match timeout(limit, connected).await {
        Ok(Ok(link)) => {
            server.set_link(link);
            // The end of a connection that is not stored yet is not noticed otherwise.
            if let Some(client) = server.client() {
                catch_up(server, &client, shared, &log).await;
                return ServerState::Connected;
            }
            drop(server.take_link());
            Failure::Other("the connection ended at once".to_owned())
        }
        Ok(Err(failure)) => failure,
        Err(_) => Failure::Other(format!("it was not connected within {} s", limit.as_secs())),
    };
    let state = match failure {
        Failure::SignIn(reason) => ServerState::NeedsSignIn(reason),
        Failure::Other(reason) => ServerState::Failed(match log.last_errors() {
            Some(errors) => format!("{reason}; its last messages: {errors}"),
            None => reason,
        }),
    };
    log.write("error", Some("pi"), state.reason().unwrap_or_default());
    state
}

/// Lists again what the server announced to have changed while it was being connected.
async fn catch_up(server: &Server, client: &Client, shared: &Shared, log: &ServerLog) {
    if server.take_change()
        && let Ok(Err(error)) = timeout(LIMITS.0, refresh(server, client, shared, log)).await
    {
        log.write("error", Some("pi"), &error.to_string());
    }
}

/// Ends a connection and its process.
pub(crate) async fn end(link: Link) {
    let Link { client, process, .. } = link;
    client.close().await;
    drop(client);
    if let Some(process) = process {
        process.end().await;
    }
}

async fn attempt(
    shared: &Arc<Shared>,
    server: &Arc<Server>,
    urgency: Urgency,
    log: &Arc<ServerLog>,
) -> Result<Link, Failure> {
    match &server.config.transport {
        Transport::Stdio(stdio) => start(shared, server, stdio, log).await,
        Transport::Http(http) => {
            check_host(shared, http, urgency).map_err(Failure::Other)?;
            let headers = http.headers.resolve(&shared.resolver).await;
            let mut way = Http::new(http.url.clone(), shared.web());
            way.headers = headers.map_err(|error| Failure::Other(error.to_string()))?;
            shared.secrets.add(server_secrets(&way.headers));
            way.authorization = shared.auth().authorization(&server.name, http);
            match Client::connect(Way::Http(way), options(shared, server, log)).await {
                Ok(client) => Ok(Link { client, process: None, log: Arc::clone(log) }),
                Err(error) => Err(failure(error)),
            }
        }
    }
}

/// Starts the program of a server, and once more if it ended at a question of the modern era.
async fn start(
    shared: &Arc<Shared>,
    server: &Arc<Server>,
    stdio: &StdioServer,
    log: &Arc<ServerLog>,
) -> Result<Link, Failure> {
    let environment = &shared.options.environment;
    let launch = stdio.launch(environment, &shared.resolver).await;
    let launch = launch.map_err(|error| Failure::Other(error.to_string()))?;
    shared.secrets.add(server_secrets(&launch.env));
    let host = shared.host().map_err(Failure::Other)?;
    let mut options = options(shared, server, log);
    loop {
        let started = process::start(&launch, &host, environment, log).await;
        let (pipes, process): (_, ServerProcess) = started.map_err(Failure::Other)?;
        match Client::connect(Way::Stdio(pipes), options.clone()).await {
            Ok(client) => {
                return Ok(Link { client, process: Some(process), log: Arc::clone(log) });
            }
            Err(ConnectError::EndedAtProbe(_)) if options.known_era != Some(Era::Legacy) => {
                process.end().await;
                options.known_era = Some(Era::Legacy);
            }
            Err(error) => {
                // Its last messages explain the failure.
                process.end().await;
                return Err(failure(error));
            }
        }
    }
}

fn failure(error: ConnectError) -> Failure {
    match error {
        ConnectError::Failed(error) => Failure::from(error),
        error => Failure::Other(clean_line(&error.to_string(), ERROR)),
    }
}

/// Returns what this program offers to servers. Questions to the user and to models are offered
/// only if a user is present who can answer or approve them.
fn options(shared: &Arc<Shared>, server: &Arc<Server>, log: &Arc<ServerLog>) -> ClientOptions {
    let info = Implementation::new("pi", env!("CARGO_PKG_VERSION"));
    let handler = ServerHandler::new(shared, server, log);
    let mut options = ClientOptions::new(info, Arc::new(handler));
    let is_present = shared.context().is_some_and(|context| context.ui().is_present());
    options.capabilities = ClientCapabilities {
        roots: Some(ListChanged::default()),
        sampling: is_present.then(Sampling::default),
        elicitation: is_present
            .then(|| Elicitation { form: Some(json!({})), url: Some(json!({})) }),
        ..ClientCapabilities::default()
    };
    options.timeout = server.config.timeout;
    options.log_level = Some(LoggingLevel::Info);
    let is_legacy = server.known_lists().is_some_and(|lists| !lists.is_modern);
    options.known_era = is_legacy.then_some(Era::Legacy);
    options
}

/// Applies the rules for hosts. A call that was approved may connect where the policy would ask,
/// but nothing connects by itself there.
fn check_host(shared: &Shared, http: &HttpServer, urgency: Urgency) -> Result<(), String> {
    let Some(guard) = &shared.options.guard else { return Ok(()) };
    let host = http.url.host_str().unwrap_or_default();
    let judgment = guard.judge_host(host);
    let part = judgment.verdict.decisive();
    let is_ruled = part.is_some_and(|part| part.rule.is_some());
    let is_allowed = match judgment.verdict.decision {
        Decision::Allow => true,
        Decision::Forbid => false,
        Decision::Ask if is_ruled || guard.plan().profile == Profile::Unattended => false,
        Decision::Ask => urgency == Urgency::Needed,
    };
    if is_allowed {
        return Ok(());
    }
    let reason = part.map(|part| part.reason.clone()).unwrap_or_default();
    Err(format!("the policy does not allow a connection to {host}: {reason}"))
}

/// Lists what a server has, unless its lists are fresh.
async fn list(
    server: &Server,
    client: &Client,
    shared: &Shared,
    log: &ServerLog,
) -> Result<(), ClientError> {
    if server.lists(&shared.cache).is_some_and(|lists| lists.is_fresh()) {
        return Ok(());
    }
    refresh(server, client, shared, log).await
}

/// Lists what a server has, for this session and for later ones.
pub(crate) async fn refresh(
    server: &Server,
    client: &Client,
    shared: &Shared,
    log: &ServerLog,
) -> Result<(), ClientError> {
    let facts = client.facts();
    let mut tools = List::default();
    if facts.capabilities.tools.is_some() {
        tools = client.list_tools().await?;
    }
    let mut prompts = List::default();
    if facts.capabilities.prompts.is_some() {
        // A server without prompts is worth more than none.
        match client.list_prompts().await {
            Ok(listed) => prompts = listed,
            Err(error) => log.write("error", Some("pi"), &error.to_string()),
        }
    }
    for problem in tools.problems.iter().chain(&prompts.problems) {
        log.write("warning", Some("pi"), problem);
    }
    // Models and people read the schemas of results as well.
    let schemas = tools.items.iter_mut().filter_map(|tool| tool.output_schema.as_mut());
    schemas.for_each(clean_schema);
    let ttl = match (tools.ttl_ms, prompts.ttl_ms) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, None) if facts.capabilities.prompts.is_none() => a,
        _ => None,
    };
    let lists = Lists {
        is_modern: facts.era == Era::Modern,
        server: facts.server,
        capabilities: facts.capabilities,
        instructions: facts.instructions,
        tools: tools.items,
        prompts: prompts.items,
        listed_at: now_ms(),
        ttl_ms: ttl.map(|ttl| ttl as f64),
    };
    shared.cache.write(server.fingerprint(), &lists);
    server.set_lists(lists);
    Ok(())
}
