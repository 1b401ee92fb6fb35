//! `/mcp`: the servers of a session, in every mode.
//!
//! On the screen it is a [`manager`] made of dialogs. Elsewhere it reports states as text. The
//! verbs `login`, `logout` and `reconnect` act on one server in all modes.

mod interaction;
mod manager;
mod report;

use pi_coding_agent::extension::{
    Command, Completion, ExtensionContext, ExtensionError, NotifyKind, RunMode,
};
use pi_config::mcp::Transport;
use pi_protocol::CancelToken;

use crate::auth::SignInOptions;
use crate::servers::{McpServers, WeakServers};
use crate::state::ServerStatus;
use interaction::UiInteraction;

const NAME: &str = "mcp";
const VERBS: [&str; 3] = ["login", "logout", "reconnect"];

/// Returns the command, if there are servers.
pub(crate) fn command(servers: &McpServers) -> Option<Command> {
    if servers.all().is_empty() {
        return None;
    }
    let servers = WeakServers::new(&servers.0);
    let completed = servers.clone();
    let description = "Shows MCP servers, signs in and out, connects again";
    let command = Command::new(NAME, description, move |arguments, context| {
        let servers = servers.upgrade();
        async move {
            if let Some(servers) = servers {
                Session { servers, context }.run(&arguments).await;
            }
            Ok::<(), ExtensionError>(())
        }
    });
    Some(command.completer(std::sync::Arc::new(move |typed| {
        let found = completed.upgrade().map(|servers| complete(&servers, &typed));
        Box::pin(std::future::ready(found.unwrap_or_default()))
    })))
}

/// Completes a verb, or the name of a server after one.
fn complete(servers: &McpServers, typed: &str) -> Vec<Completion> {
    let matching = |all: Vec<String>| -> Vec<Completion> {
        let fits = all.into_iter().filter(|one| one.starts_with(typed));
        let completion =
            |one: String| Completion { value: one.clone(), label: one, description: None };
        fits.map(completion).collect()
    };
    let Some((verb, _)) = typed.split_once(' ') else {
        return matching(VERBS.map(str::to_owned).to_vec());
    };
    let names = servers.states().into_iter().map(|one| format!("{verb} {}", one.name));
    matching(names.collect())
}

/// The command during one session.
struct Session {
    servers: McpServers,
    context: ExtensionContext,
}

impl Session {
    async fn run(&self, arguments: &str) {
        let (verb, name) = arguments.trim().split_once(' ').unwrap_or((arguments.trim(), ""));
        let name = name.trim();
        match verb {
            "" if self.context.mode() == RunMode::Tui && !self.servers.states().is_empty() => {
                self.manage().await;
            }
            "" => self.say(report::all(&self.servers.states())),
            verb if VERBS.contains(&verb) => match self.find(name) {
                Ok(status) => self.act(verb, &status).await,
                Err(problem) => self.warn(problem),
            },
            _ => self.warn(format!(
                "unknown argument \"{verb}\": expected {}, each with a server",
                VERBS.join(", ")
            )),
        }
    }

    fn find(&self, name: &str) -> Result<ServerStatus, String> {
        let states = self.servers.states();
        let names: Vec<String> = states.iter().map(|one| one.name.clone()).collect();
        let found = states.into_iter().find(|status| status.name == name);
        found.ok_or_else(|| match names.is_empty() {
            true => "no MCP servers are configured".to_owned(),
            false => format!("name one of the MCP servers: {}", names.join(", ")),
        })
    }

    async fn act(&self, verb: &str, status: &ServerStatus) {
        match verb {
            "login" => self.sign_in(status).await,
            "logout" => self.sign_out(status).await,
            _ => self.reconnect(&status.name).await,
        }
    }

    async fn reconnect(&self, name: &str) {
        match self.servers.reconnect(name).await {
            Ok(()) => {
                let states = self.servers.states();
                let status = states.iter().find(|status| status.name == name);
                self.say(status.map(report::row).unwrap_or_default());
            }
            Err(error) => self.warn(error.to_string()),
        }
    }

    async fn sign_in(&self, status: &ServerStatus) {
        let Transport::Http(http) = &status.config.transport else {
            return self.warn(format!("{} is a program: there is no sign-in", status.name));
        };
        if !self.context.ui().is_present() {
            return self.warn("a sign-in needs a user, and none is present".to_owned());
        }
        let auth = self.servers.auth();
        let interaction =
            UiInteraction { context: self.context.clone(), open: self.servers.page_opener() };
        let options = SignInOptions::default();
        let cancel = CancelToken::new();
        match auth.sign_in(&status.name, http, &interaction, &options, cancel).await {
            Ok(()) => {
                self.say(format!("Signed in to the MCP server {}", status.name));
                self.reconnect(&status.name).await;
            }
            Err(error) if error.is_cancelled() => self.say("The sign-in was cancelled".to_owned()),
            Err(error) => self.warn(format!("{}: {error}", status.name)),
        }
    }

    async fn sign_out(&self, status: &ServerStatus) {
        let Transport::Http(http) = &status.config.transport else {
            return self.warn(format!("{} is a program: there is no sign-in", status.name));
        };
        match self.servers.auth().sign_out(&status.name, http).await {
            Ok(done) if !done.was_stored => {
                self.say(format!("No sign-in to the MCP server {} is stored", status.name));
            }
            Ok(done) => {
                if let Some(Err(problem)) = done.revoked {
                    self.warn(format!("the tokens may still be valid: {problem}"));
                }
                self.say(format!("Signed out of the MCP server {}", status.name));
                // The connection has the old token until it ends.
                self.servers.end_connection(&status.name).await;
            }
            Err(error) => self.warn(format!("{}: {error}", status.name)),
        }
    }

    fn say(&self, text: String) {
        self.context.ui().notify(text, NotifyKind::Info);
    }

    fn warn(&self, text: String) {
        self.context.ui().notify(text, NotifyKind::Warning);
    }
}
