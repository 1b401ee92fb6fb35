//! `pi mcp`: configures, checks, signs in to and calls MCP servers without a session.

mod call;
mod check;
mod edit;
mod list;
mod servers;
mod sign_in;

use pi_base::text;
use pi_coding_agent::{AgentOptions, Environment, load_settings};
use pi_config::mcp::{Configuration, Scope, ServerConfig, ServerEntry, Transport};

use super::{CommandResult, Failure, plain, success};
use crate::environment;
use crate::flags::parse::CommandArgs;
use crate::flags::suggest;

pub(super) use call::call;
pub(super) use check::check;
pub(super) use edit::{add, remove};
pub(super) use list::list;
pub(super) use sign_in::{login, logout};

/// The configured servers.
struct Loaded {
    environment: Environment,
    configuration: Configuration,
    is_trusted: bool,
}

impl Loaded {
    fn read() -> Result<Self, Failure> {
        let environment = environment::read().map_err(Failure::failed)?;
        let is_trusted = is_trusted(&environment);
        let configuration = pi_config::mcp::load(&environment, is_trusted);
        Ok(Self { environment, configuration, is_trusted })
    }

    /// Returns a remark about servers of a project that is not trusted.
    fn untrusted(&self) -> Option<String> {
        let path = self.environment.project_directory().join("mcp.json");
        let is_ignored = !self.is_trusted && path.exists();
        is_ignored
            .then(|| format!("{} is not used, because the project is not trusted", path.display()))
    }

    /// Returns the server that the first word names. With `--local`, it must be of the project.
    fn server(&self, args: &CommandArgs) -> Result<&ServerEntry, Failure> {
        let entry = self.named(args.word(0).unwrap_or_default())?;
        if args.has("local") && entry.scope != Scope::Project {
            let message = format!("{} is defined in {}", entry.name, entry.source.display());
            return Err(Failure::failed(message).hint("leave out --local"));
        }
        Ok(entry)
    }

    /// Returns the server of a name.
    fn named(&self, name: &str) -> Result<&ServerEntry, Failure> {
        let Some(entry) = self.configuration.find(name) else {
            let names = || self.configuration.servers.iter().map(|entry| entry.name.as_str());
            let failure = Failure::failed(format!("there is no MCP server \"{name}\""));
            let hint = match (suggest::nearest(name, names()), self.untrusted()) {
                (Some(near), _) => format!("did you mean \"{near}\"?"),
                (None, Some(untrusted)) => format!("{untrusted}; see `pi trust`"),
                (None, None) => "list the servers with `pi mcp list`".to_owned(),
            };
            return Err(failure.hint(hint));
        };
        Ok(entry)
    }
}

fn is_trusted(environment: &Environment) -> bool {
    let options = AgentOptions::new(environment.clone());
    load_settings(&options, None, &mut Vec::new()).0.is_trusted()
}

/// Describes the connection to a server in one line.
fn transport(config: &ServerConfig) -> String {
    let text = match &config.transport {
        Transport::Http(http) => http.url.to_string(),
        Transport::Stdio(stdio) => {
            let words = std::iter::once(&stdio.command).chain(&stdio.args);
            words.map(String::as_str).collect::<Vec<_>>().join(" ")
        }
    };
    text::one_line(&text)
}
