//! `pi mcp`: configures, checks, signs in to and calls MCP servers without a session.

mod call;
mod check;
mod edit;
mod list;
mod servers;
mod sign_in;

use pi_base::text;
use pi_coding_agent::Project;
use pi_config::mcp::{Configuration, Scope, ServerConfig, ServerEntry, Transport};

use super::{CommandResult, Failure, plain, project, success};
use crate::flags::parse::CommandArgs;
use crate::flags::suggest;

pub(super) use call::call;
pub(super) use check::check;
pub(super) use edit::{add, remove};
pub(super) use list::list;
pub(super) use sign_in::{login, logout};

/// The configured servers.
struct Loaded {
    project: Project,
    configuration: Configuration,
}

impl Loaded {
    fn read(args: &CommandArgs) -> Result<Self, Failure> {
        let project = project::open(args)?;
        let configuration = pi_config::mcp::load(project.environment(), project.is_trusted());
        Ok(Self { project, configuration })
    }

    /// Returns a remark about servers of a project that is not trusted.
    fn untrusted(&self) -> Option<String> {
        let path = self.project.environment().project_directory().join("mcp.json");
        let is_ignored = !self.project.is_trusted() && path.exists();
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
