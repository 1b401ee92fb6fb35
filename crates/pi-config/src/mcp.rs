//! `mcp.json`: the servers that the user and a trusted project configure.
//!
//! A bad entry costs only itself: it is reported with the file and the place, and the others load.
//! Values that refer to variables or commands are kept as they are written; they are resolved when
//! a server starts.

mod approval;
mod configured;
mod edit;
mod oauth;
mod parse;
mod server;
mod table;

use std::path::{Path, PathBuf};

use crate::ConfigError;
use serde_json::{Map, Value};

use crate::{Diagnostic, Environment};

pub use approval::{Approval, Approvals};
pub use configured::{ConfiguredServer, Origin, RESOURCE_TOOLS, is_mcp_tool};
pub use edit::{McpFile, ServerChange};
pub use oauth::{ClientRegistration, OauthConfig};
pub use server::resolve_value;
pub use server::{
    ConfiguredValues, HttpServer, Launch, ServerConfig, StdioServer, Transport, UnresolvedValue,
};
pub use table::ToolTable;

/// The owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user: the servers are available in all projects.
    User,
    /// A single project.
    Project,
}

impl Scope {
    /// Returns the name of the scope: `global` or `project`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "global",
            Self::Project => "project",
        }
    }
}

/// A configured server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerEntry {
    /// Name of the server.
    pub name: String,
    /// Owner of the file that defines the server.
    pub scope: Scope,
    /// File that defines the server.
    pub source: PathBuf,
    /// File of the project that overrides parts of the user's entry.
    pub overridden_by: Option<PathBuf>,
    /// The configuration, with overrides applied.
    pub config: ServerConfig,
}

/// The servers of a session and the problems of their files.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Configuration {
    /// The servers in the order of the files, disabled ones included.
    pub servers: Vec<ServerEntry>,
    /// The value of `autoEnableCodemode`; `None` if no file has one.
    pub auto_enable_codemode: Option<bool>,
    /// Problems of the files and of entries that were left out.
    pub errors: Vec<Diagnostic>,
}

impl Configuration {
    /// Returns the server of this name.
    pub fn find(&self, name: &str) -> Option<&ServerEntry> {
        self.servers.iter().find(|entry| entry.name == name)
    }

    /// Returns true if the codemode tool is to be activated for servers with that exposure.
    pub fn enables_codemode(&self) -> bool {
        self.auto_enable_codemode.unwrap_or(true)
    }
}

/// Reads the user's servers and, if the project is trusted, those of the project.
pub fn load(environment: &Environment, project_is_trusted: bool) -> Configuration {
    let mut configuration = Configuration::default();
    let user = environment.agent_directory.join("mcp.json");
    read(&user, Scope::User, &mut configuration);
    if project_is_trusted {
        let project = environment.project_directory().join("mcp.json");
        read(&project, Scope::Project, &mut configuration);
    }
    configuration
}

/// Returns the namespace of a server's tools: `mcp__NAME` with `_` for `-`.
pub fn namespace(server: &str) -> String {
    format!("mcp__{}", server.replace('-', "_"))
}

/// Returns true if two servers would have the same namespace.
fn is_same_namespace(a: &str, b: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte };
    a.len() == b.len() && a.bytes().map(plain).eq(b.bytes().map(plain))
}

fn name_is_taken(other: &str) -> String {
    format!(": the name is taken by \"{other}\", since - and _ are equal")
}

fn read(path: &Path, scope: Scope, into: &mut Configuration) {
    let content = match edit::file(path).read() {
        Ok(Some(content)) => content,
        Ok(None) => return,
        Err(error) => return into.errors.push(error.diagnostic()),
    };
    let mut report = |problem: String| {
        let problem = format!("{problem}; correct it, it is ignored until then");
        into.errors.push(Diagnostic::error(path.to_owned(), problem));
    };
    match content.get("autoEnableCodemode") {
        None => {}
        Some(Value::Bool(value)) => into.auto_enable_codemode = Some(*value),
        Some(_) => report("autoEnableCodemode: expected true or false".to_owned()),
    }
    let no_servers = Map::new();
    let servers = match content.get("mcpServers") {
        None => &no_servers,
        Some(Value::Object(servers)) => servers,
        Some(_) => return report("mcpServers: expected an object of servers by name".to_owned()),
    };
    for (name, value) in servers {
        if let Err(problem) = add(path, scope, (name, value), &mut into.servers) {
            report(format!("mcpServers.{name}{problem}"));
        }
    }
}

/// Adds an entry to the servers. The error begins with the field, or with a colon.
fn add(
    path: &Path,
    scope: Scope,
    (name, value): (&str, &Value),
    servers: &mut Vec<ServerEntry>,
) -> Result<(), String> {
    let known = servers.iter().position(|other| other.name == name);
    if let (Scope::Project, Value::Object(fields)) = (scope, value)
        && parse::is_override(fields)
    {
        let server = known.and_then(|at| servers.get_mut(at)).ok_or_else(|| {
            ": needs `command` or `url`, or a server of the user of this name to override"
                .to_owned()
        })?;
        parse::override_server(&mut server.config, fields)?;
        server.overridden_by = Some(path.to_owned());
        return Ok(());
    }
    let config = ServerConfig::parse(name, value)?;
    let clash = |other: &&ServerEntry| other.name != name && is_same_namespace(&other.name, name);
    if let Some(other) = servers.iter().find(clash) {
        return Err(name_is_taken(&other.name));
    }
    if scope == Scope::Project {
        config.check_foreign()?;
    }
    let source = path.to_owned();
    let entry = ServerEntry { name: name.to_owned(), scope, source, overridden_by: None, config };
    match known.and_then(|at| servers.get_mut(at)) {
        Some(replaced) => {
            let mut entry = entry;
            if (replaced.scope, scope) == (Scope::User, Scope::Project) {
                entry.config.approvals.restrict_by(&replaced.config.approvals);
            }
            *replaced = entry;
        }
        None => servers.push(entry),
    }
    Ok(())
}

/// The reasons why `mcp.json` was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ConfigError,
    },
    /// The file has no server of this name.
    #[error("{} has no server \"{name}\"", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Name of the server.
        name: String,
    },
    /// The new entry is not valid.
    #[error("{0}")]
    Invalid(String),
}
